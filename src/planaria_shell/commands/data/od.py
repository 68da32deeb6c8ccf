"""`od`: files as octal and other numbers (POSIX, GNU coreutils)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from planaria_shell.commands.data.xxd import blocks, window
from planaria_shell.state.command import Process
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import file_chunks, reason

_NAMES = [
    "nul",
    "soh",
    "stx",
    "etx",
    "eot",
    "enq",
    "ack",
    "bel",
    "bs",
    "ht",
    "nl",
    "vt",
    "ff",
    "cr",
    "so",
    "si",
    "dle",
    "dc1",
    "dc2",
    "dc3",
    "dc4",
    "nak",
    "syn",
    "etb",
    "can",
    "em",
    "sub",
    "esc",
    "fs",
    "gs",
    "rs",
    "us",
    "sp",
]
_ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
_SIZES = {"C": 1, "S": 2, "I": 4, "L": 8, "F": 4, "D": 8}


@dataclass(slots=True)
class _Type:
    """One type of output: how many bytes an item is, how wide it is shown, how."""

    size: int
    width: int
    show: Callable[[bytes], str]
    text: bool = False


def _float_text(value: float, digits: tuple[int, int]) -> str:
    """The shortest decimal that is the same number again, of at most these digits."""
    if not math.isfinite(value):
        return f"{'-' if math.copysign(1, value) < 0 else ''}{'nan' if math.isnan(value) else 'inf'}"
    normal = {9: 1.17549435e-38, 17: 2.2250738585072014e-308}[digits[1]]
    for precision in range(digits[0] if abs(value) >= normal or not value else 1, digits[1] + 1):
        text = f"{value:.{precision}g}"
        again = struct.unpack("<f", struct.pack("<f", float(text)))[0] if digits[1] == 9 else float(text)
        if again == value:
            return text
    return f"{value:.{digits[1]}g}"


def _types(text: str, order: str) -> list[_Type]:
    """The types that a `-t` argument names; raises UsageError."""
    found = []
    position = 0
    byte_order = "big" if order == "big" else "little"
    while position < len(text):
        match = re.compile(r"(a|c|[doux](?:\d+|[CSIL])?|f(?:\d+|[FDLH])?)(z?)").match(text, position)
        if match is None:
            raise UsageError(f"invalid character '{text[position]}' in type string {quote(text)}")
        letter, suffix = match.group(1)[0], match.group(1)[1:]
        position = match.end()
        if letter == "a":
            made = _Type(
                1, 3, lambda item: _NAMES[item[0] & 127] if item[0] & 127 < 33 else _named(item[0] & 127)
            )
        elif letter == "c":
            made = _Type(1, 3, _character)
        elif letter == "f":
            size = _SIZES.get(suffix) or int(suffix or 8)
            if size not in (2, 4, 8):
                raise UsageError(
                    f"invalid type string '{text}';\nthis system "
                    f"doesn't provide a {size}-byte floating point type"
                )
            made = _float(size, "<" if byte_order == "little" else ">")
        else:
            size = _SIZES.get(suffix) or int(suffix or 4)
            if size not in (1, 2, 4, 8):
                raise UsageError(
                    f"invalid type string '{text}';\nthis system doesn't provide a {size}-byte integral type"
                )
            made = _integer_type(letter, size, byte_order)
        made.text = bool(match.group(2))
        found.append(made)
    return found


def _named(code: int) -> str:
    return "del" if code == 127 else chr(code)


def _character(item: bytes) -> str:
    code = item[0]
    return _ESCAPES.get(code) or (chr(code) if 32 <= code < 127 else f"{code:03o}")


def _float(size: int, order: str) -> _Type:
    digits, width, code = {2: ((6, 9), 15, "e"), 4: ((6, 9), 15, "f"), 8: ((15, 17), 24, "d")}[size]
    return _Type(size, width, lambda item: _float_text(struct.unpack(order + code, item)[0], digits))


def _integer_type(letter: str, size: int, order: str) -> _Type:
    def number(item: bytes) -> int:
        return int.from_bytes(item, "big" if order == "big" else "little", signed=letter == "d")

    if letter == "o":
        width = {1: 3, 2: 6, 4: 11, 8: 22}[size]
        return _Type(size, width, lambda item: f"{number(item):0{width}o}")
    if letter == "x":
        return _Type(size, 2 * size, lambda item: f"{number(item):0{2 * size}x}")
    width = {"d": {1: 4, 2: 6, 4: 11, 8: 20}, "u": {1: 3, 2: 5, 4: 10, 8: 20}}[letter][size]
    return _Type(size, width, lambda item: str(number(item)))


_OLD = {
    "a": "a",
    "b": "o1",
    "c": "c",
    "d": "u2",
    "f": "fF",
    "h": "x2",
    "i": "dI",
    "l": "dL",
    "o": "o2",
    "s": "d2",
    "x": "x2",
    "B": "o2",
    "D": "u4",
    "F": "fD",
    "H": "x4",
    "I": "d8",
    "L": "d8",
    "O": "o4",
    "X": "x4",
}


def _count(text: str, option: str) -> int:
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)(b|[kKmMGTPE](?:i?B)?)?", text)
    if match is None:
        raise UsageError(f"invalid {option} argument '{text}'")
    digits, suffix = match.group(1), match.group(2) or ""
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and len(digits) > 1 else 10
    factor = 512 if suffix == "b" else 1
    if suffix and suffix != "b":
        power = "KMGTPE".index(suffix[0].upper()) + 1
        factor = 1000**power if suffix.endswith("B") and "i" not in suffix else 1024**power
    return int(digits, base) * factor


@command(
    "od",
    short="A:aBbcDdeFfHhIij:LlN:OoS:st:vw::Xx",
    long="address-radix=A: skip-bytes=j: read-bytes=N: strings=S:: format=t: output-duplicates=v "
    "width=w:: endian: traditional help version",
    usage="[OPTION]... [FILE]...",
    version="od (GNU coreutils) 9.1\n",
)
def od(call: Invocation) -> Generator[None, None, int]:
    """Dump bytes in octal and other formats."""
    process, arguments = call.process, call.arguments
    try:
        types: list[_Type] = []
        order = choose(arguments.value("endian") or "little", ("little", "big"), "--endian")
        for name, value in arguments.given:
            if name == "t":
                types += _types(value, order)
            elif name in _OLD and len(name) == 1:
                types += _types(_OLD[name], order)
        radix = (arguments.value("A") or "o")[:1]
        if radix not in "doxn":
            raise UsageError(f"invalid output address radix '{radix}'; it must be one character from [doxn]")
        skip = _count(arguments.value("j") or "0", "-j")
        limit = arguments.value("N")
        length = None if limit is None else _count(limit, "-N")
        operands = arguments.operands
        if operands and len(operands) <= 2 and not arguments.has("A", "t", "j", "N", "w"):
            match = re.fullmatch(r"\+(?:0[xX])?([0-9a-fA-F]+)\.?b?", operands[-1])
            if match:  # the old form: an offset after a plus
                skip = _old_offset(operands[-1])
                operands = operands[:-1]
        minimum = arguments.value("S")
        strings = None if minimum is None else _count(minimum or "3", "-S")
        wide = arguments.value("w")
        width = None if wide is None else _count(wide or "32", "-w")
    except UsageError as error:
        error.hint = not ("type" in str(error) or "radix" in str(error) or str(error).startswith("invalid -"))
        raise
    types = types or _types("o2", order)
    failed = opened = False

    def source() -> Iterator[bytes]:
        nonlocal failed, opened
        for name in operands or ["-"]:
            try:
                yield from file_chunks(process, name, None if length is None else skip + length - seen)
                opened = True
            except OSError as error:
                opened |= isinstance(error, IsADirectoryError)
                process.error(f"{name}: {reason(error)}")
                failed = True

    seen = 0

    def counted() -> Iterator[bytes]:
        nonlocal seen
        for chunk in source():
            seen += len(chunk)
            yield chunk

    content = window(counted(), skip, length)
    if strings is not None:
        yield from _strings(process, content, strings, radix, skip)
        return int(failed)
    end = yield from _dump(process, content, types, radix, skip, width, arguments.has("v"))
    if seen >= skip and radix != "n" and (opened or seen):
        process.stdout.write(f"{_address(end, radix)}\n".encode())
    if seen < skip:
        process.error("cannot skip past end of combined input")
        return 1
    return int(failed)


def _old_offset(text: str) -> int:
    number = text[1:]
    factor = 512 if number.endswith("b") and not number.lower().startswith("0x") else 1
    number = number.removesuffix("b") if factor > 1 else number
    if number.endswith("."):
        return int(number[:-1]) * factor
    return int(number, 16 if number.lower().startswith("0x") else 8) * factor


def _address(place: int, radix: str) -> str:
    if radix == "n":
        return ""
    return {"d": f"{place:07d}", "o": f"{place:07o}", "x": f"{place:06x}"}[radix]


def _dump(
    process: Process,
    content: Iterator[bytes],
    types: list[_Type],
    radix: str,
    skip: int,
    width: int | None,
    verbose: bool,
) -> Generator[None, None, int]:
    """Write the lines; returns the address after the last byte."""
    unit = max(kind.size for kind in types)
    if width is None:
        width = max(16 // unit * unit, unit)
    elif width == 0 or width % unit:
        process.error(f"warning: invalid width {width}; using {unit} instead")
        width = unit
    # Every type takes as many columns for a line as the widest; the others are spread out.
    widest = max((kind.width + 1) * (width // kind.size) for kind in types)
    address = skip
    previous: bytes | None = None
    starred = False
    for block in blocks(content, width):
        if block == previous and len(block) == width and not verbose:
            if not starred:
                process.stdout.write(b"*\n")
                starred = True
        else:
            starred = False
            prefix = _address(address, radix)
            for number, kind in enumerate(types):
                line = (prefix if number == 0 else " " * len(prefix)) + _items(block, kind, width, widest)
                process.stdout.write(f"{line}\n".encode())
        previous = block
        address += len(block)
        if process.stdout.full:
            yield
    return address


def _items(block: bytes, kind: _Type, width: int, widest: int) -> str:
    fields = width // kind.size
    padding = widest - kind.width * fields
    pieces = []
    used = 0
    for number in range((len(block) + kind.size - 1) // kind.size):
        item = block[number * kind.size : (number + 1) * kind.size].ljust(kind.size, b"\0")
        upto = padding * (number + 1) // fields
        pieces.append(" " * (upto - used) + kind.show(item).rjust(kind.width))
        used = upto
    line = "".join(pieces)
    if kind.text:
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in block)
        line = f"{line:<{widest}}  >{shown}<"
    return line


def _strings(
    process: Process, content: Iterator[bytes], minimum: int, radix: str, skip: int
) -> Generator[None, None, None]:
    """`-S`: runs of at least so many graphic characters that end with a NUL."""
    data = b"".join(content)
    for match in re.finditer(rb"[ -~]{%d,}\0" % minimum, data):
        text = "".join(_ESCAPES.get(byte) or chr(byte) for byte in match.group()[:-1])
        address = _address(skip + match.start(), radix)
        process.stdout.write(f"{address}{' ' if address else ''}{text}\n".encode())
        if process.stdout.full:
            yield
