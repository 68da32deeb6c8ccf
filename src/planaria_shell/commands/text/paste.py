"""`paste`."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.lines import batches
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import reason

#: Rows that are put together at once.
_ROWS = 512


_DELIMITER_ESCAPES = {"0": "", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def _delimiters(text: str) -> list[bytes]:
    """The delimiters of `paste -d LIST`, one byte each; `\\0` is the empty one."""
    out: list[bytes] = []
    at = 0
    while at < len(text):
        c = text[at]
        at += 1
        if c == "\\":
            if at >= len(text):
                raise UsageError(f"delimiter list ends with an unescaped backslash: {text}", hint=False)
            out.append(_DELIMITER_ESCAPES.get(text[at], text[at]).encode())
            at += 1
        else:
            out += [bytes([byte]) for byte in c.encode("utf-8", "surrogateescape")]
    return out or [b""]


@command("paste", short="d:sz", long="delimiters=d: serial=s zero-terminated=z")
def paste(call: Invocation) -> Generator[None, None, Status]:
    """Write lines consisting of the sequentially corresponding lines from each FILE, separated by TABs."""
    arguments = call.arguments
    text = arguments.value("d")
    delimiters = [b"\t"] if text is None else _delimiters(text)
    end = b"\0" if arguments.has("z") else b"\n"
    names = call.operands or ["-"]
    if arguments.has("s"):
        for source in call.inputs(names):
            pieces = itertools.cycle(delimiters)
            begun = False
            for lines in batches(source.chunks(), end):
                first = lines.pop(0)
                call.stdout.write((next(pieces) if begun else b"") + first)
                begun = True
                if len(delimiters) == 1:
                    call.stdout.write(b"".join([delimiters[0] + line for line in lines]))
                else:
                    call.stdout.write(b"".join([next(pieces) + line for line in lines]))
                if call.stdout.full:
                    yield
            call.stdout.write(end)
        return call.status
    # `-` given twice takes lines in turn from the same input.
    standard: Iterator[bytes] | None = None
    readers: list[Iterator[bytes]] = []
    unreadable: list[tuple[str, OSError]] = []
    for name in names:
        reader: Iterator[bytes] = iter(())
        try:
            reader = itertools.chain.from_iterable(batches(call.keep_open(name).chunks(), end))
        except IsADirectoryError as error:
            unreadable.append((name, error))
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
        if name == "-":
            standard = reader if standard is None else standard
            reader = standard
        readers.append(reader)
    for name, fault in unreadable:
        call.complain(shell_quote(name), fault)
    separators = [delimiters[index % len(delimiters)] for index in range(len(names) - 1)] + [end]
    template = b"%b".join([b"", *(separator.replace(b"%", b"%%") for separator in separators)])
    rows = itertools.zip_longest(*readers, fillvalue=b"")
    while some := list(itertools.islice(rows, _ROWS)):
        call.stdout.write(b"".join([template % row for row in some]))
        if call.stdout.full:
            yield
    return call.status
