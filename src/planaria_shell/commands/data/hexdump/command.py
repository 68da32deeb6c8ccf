"""`hexdump`: bytes as text, in ready-made formats or in those of `-e`."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from planaria_shell.commands.data.hexdump.format import Dump, Format, parse_format
from planaria_shell.commands.data.xxd import blocks, integer, window
from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments, UsageError
from planaria_shell.toolkit.streams import file_chunks, read_input, reason

_VISIBLE = bytes(byte if 32 <= byte < 127 else 46 for byte in range(256))
_SHORT = '"%07.7_Ax\\n"'
#: What the options for ready-made formats stand for; "" is without any.
_FORMATS = {
    "": [_SHORT, '"%07.7_ax " 8/2 "%04x " "\\n"'],
    "b": [_SHORT, '"%07.7_ax " 16/1 "%03o " "\\n"'],
    "c": [_SHORT, '"%07.7_ax " 16/1 "%3_c " "\\n"'],
    "d": [_SHORT, '"%07.7_ax " 8/2 "  %05u " "\\n"'],
    "o": [_SHORT, '"%07.7_ax " 8/2 " %06o " "\\n"'],
    "x": [_SHORT, '"%07.7_ax " 8/2 "   %04x " "\\n"'],
    "C": [
        '"%08.8_Ax\\n"',
        '"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x " ',
        '"  |" 16/1 "%_p" "|\\n"',
    ],
}


@command(
    "hexdump",
    "hd",
    short="bcCde:f:L::n:os:vx",
    long="canonical=C one-byte-octal=b one-byte-char=c two-bytes-decimal=d two-bytes-octal=o "
    "two-bytes-hex=x no-squeezing=v length=n: skip=s: format=e: format-file=f: color=L::",
    usage="[OPTION]... [FILE]...",
    version="hexdump from util-linux 2.38.1\n",
)
def hexdump(call: Invocation) -> Generator[None, None, int]:
    """Show bytes as numbers and characters, in formats of one's own (util-linux, BSD)."""
    process, arguments = call.process, call.arguments
    skip = _suffixed(arguments.value("s") or "0", "offset")
    limit = arguments.value("n")
    length = None if limit is None else _suffixed(limit, "length")
    chosen, formats = _formats(process, arguments)
    failed = 0

    def source() -> Iterator[bytes]:
        nonlocal failed
        for name in arguments.operands or ["-"]:
            try:
                wanted = None if length is None else skip + length - content.total
                yield from file_chunks(process, name, wanted)
            except OSError as error:
                process.error(f"{name}: {reason(error)}")
                failed += 1

    content = _Counted(source())
    # One ready-made format is written by code of its own.
    style = chosen[0] if len(chosen) == 1 and not arguments.has("e", "f") else None
    dump = Dump(formats, skip)
    size = dump.size
    previous: bytes | None = None
    starred = False
    width = 8 if style == "C" else 7
    for block in blocks(window(content, skip, length), size) if size else ():
        if block == previous and len(block) == size and not arguments.has("v"):
            if not starred:
                process.stdout.write(b"*\n")
                starred = True
            dump.leave_out(len(block))
        else:
            starred = False
            previous = block
            if style is None:
                process.stdout.write(dump.block(block).encode("latin-1"))
            else:
                line = f"{dump.address:0{width}x}{_line(block, style)}\n"
                process.stdout.write(line.encode())
                dump.leave_out(len(block))
        if process.stdout.full:
            yield
    if dump.address == skip:
        # Nothing was left to write: the end is where the input ended.
        dump.address = min(skip, content.total)
    process.stdout.write(dump.end().encode("latin-1"))
    if failed and failed == len(arguments.operands):
        process.error("all input file arguments failed")
    return int(failed > 0)


class _Counted:
    """Pieces of bytes, and how many came."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks = chunks
        self.total = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = next(self.chunks)
        self.total += len(chunk)
        return chunk


def _formats(process: Process, arguments: Arguments) -> tuple[list[str], list[Format]]:
    """The ready-made formats asked for, by their letters, and all formats in order."""
    letters: list[str] = []
    formats: list[Format] = []
    if process.argv[0].rpartition("/")[2] == "hd" and not arguments.has("e", "f"):
        letters.append("C")
    for name, value in arguments.given:
        if name == "e":
            formats.append(parse_format(value))
        elif name == "f":
            formats += _format_file(process, value)
        elif name in _FORMATS:
            letters.append(name)
            formats += map(parse_format, _FORMATS[name])
    if not formats:
        letters = letters or [""]
        formats = [parse_format(text) for text in _FORMATS[letters[0]]]
    return letters or [""], formats


def _format_file(process: Process, name: str) -> list[Format]:
    try:
        data = read_input(process, name)
    except OSError as error:
        raise UsageError(f"can't read {name}: {reason(error)}", hint=False) from None
    lines = [line.strip() for line in data.decode("utf-8", "surrogateescape").splitlines()]
    return [parse_format(line) for line in lines if line and not line.startswith("#")]


def _suffixed(text: str, what: str) -> int:
    given = text
    factor = {"b": 512, "k": 1024, "K": 1024, "m": 1 << 20, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    hexadecimal = text.lower().startswith("0x")
    if factor != 1 and not (hexadecimal and text[-1] == "b"):
        text = text[:-1]
    else:
        factor = 1
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", text) is None:
        raise UsageError(f"failed to parse {what}: '{given}': Invalid argument", hint=False)
    return integer(text) * factor


_CHARACTERS = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def _line(block: bytes, style: str) -> str:
    if style == "C":
        left = " ".join(f"{byte:02x}" for byte in block[:8])
        right = " ".join(f"{byte:02x}" for byte in block[8:])
        shown = block.translate(_VISIBLE).decode("ascii")
        return f"  {left:<23}  {right:<23}  |{shown}|"
    if style == "b":
        return "".join(f" {byte:03o}" for byte in block).ljust(64)
    if style == "c":
        return "".join(
            f" {_CHARACTERS.get(byte) or (chr(byte) if 32 <= byte < 127 else f'{byte:03o}'):>3}"
            for byte in block
        ).ljust(64)
    words = [int.from_bytes(block[place : place + 2], "little") for place in range(0, len(block), 2)]
    if style == "d":
        return "".join(f"   {word:05d}" for word in words).ljust(64)
    if style == "o":
        return "".join(f"  {word:06o}" for word in words).ljust(64)
    if style == "x":
        return "".join(f"    {word:04x}" for word in words).ljust(64)
    return "".join(f" {word:04x}" for word in words).ljust(40)
