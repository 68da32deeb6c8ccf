"""`strings`: the printable runs in files (GNU binutils)."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import file_chunks, reason

#: Bytes of the widest character (-e L).
_WIDEST = 4


@command(
    "strings",
    short="adfhn:ot:wT:e:U:s:vV",
    long="all=a data=d print-file-name=f bytes=n: radix=t: include-all-whitespace=w target=T: "
    "encoding=e: unicode=U: output-separator=s: help=h version=v",
    usage="[OPTION]... [FILE]...",
    version="GNU strings (GNU Binutils) 2.40\n",
    rewrite=lambda words: [re.sub(r"^-(\d+)$", r"-n\1", word) for word in words],
    hint="",
)
def strings(call: Invocation) -> Generator[None, None, int]:
    """Print the printable strings in files."""
    process, arguments = call.process, call.arguments
    text = arguments.value("n") or "4"
    minimum = int(text) if text.isdigit() else 0
    if minimum < 1:
        process.error(
            f"invalid minimum string length {text}" if text.isdigit() else f"invalid integer argument {text}"
        )
        return 1
    radix = "o" if arguments.has("o") else arguments.value("t")
    encoding = arguments.value("e") or "s"
    characters = rb"[\t -~]"
    if arguments.has("w"):
        characters = rb"[\t\n\v\f\r -~]"
    if encoding == "S":
        characters = characters[:-1] + rb"\x80-\xff]"
    one = {
        "b": rb"\x00" + characters,
        "l": characters + rb"\x00",
        "B": rb"\x00\x00\x00" + characters,
        "L": characters + rb"\x00\x00\x00",
    }.get(encoding, characters)
    pattern = re.compile(rb"(?:%s){%d,}" % (one, minimum), re.DOTALL)
    separator = (arguments.value("s") or "\n").encode("utf-8", "surrogateescape")
    status = 0
    for name in arguments.operands or ["-"]:
        label = "{standard input}" if name == "-" and not arguments.operands else name
        try:
            for offset, run in _runs(file_chunks(process, name), pattern, minimum):
                prefix = f"{label}: " if arguments.has("f") else ""
                if radix:
                    prefix += {"o": f"{offset:7o} ", "x": f"{offset:7x} ", "d": f"{offset:7d} "}.get(
                        radix, ""
                    )
                shown = run if encoding in "sS" else run.replace(b"\0", b"")
                process.stdout.write(prefix.encode("utf-8", "surrogateescape") + shown + separator)
                if process.stdout.full:
                    yield
        except FileNotFoundError:
            process.error(f"'{name}': No such file")
            status = 1
        except IsADirectoryError:
            process.stderr.write(
                f"strings: Warning: '{name}' is a directory\n".encode("utf-8", "surrogateescape")
            )
            status = 1
        except OSError as error:
            process.error(f"{name}: {reason(error)}")
            status = 1
    return status


def _runs(chunks: Iterator[bytes], pattern: re.Pattern[bytes], minimum: int) -> Iterator[tuple[int, bytes]]:
    """Where each run starts, and the run; a run may go on over chunks."""
    rest = b""
    offset = 0
    for chunk in chunks:
        data = rest + chunk
        keep = 0
        for found in pattern.finditer(data):
            if found.end() > len(data) - _WIDEST:
                keep = found.start()
                break
            yield offset + found.start(), found.group()
            keep = found.end()
        else:
            # What might be the start of a run that the next chunk completes.
            keep = max(keep, len(data) - _WIDEST * (minimum + 1))
        rest = data[keep:]
        offset += keep
    for found in pattern.finditer(rest):
        yield offset + found.start(), found.group()
