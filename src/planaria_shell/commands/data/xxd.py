"""`xxd`: bytes as text, and back; and how files are read for it and the like."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import file_chunks, reason

_VISIBLE = bytes(byte if 32 <= byte < 127 else 46 for byte in range(256))


def blocks(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The bytes again, in blocks of `size`; the last may be shorter."""
    rest = b""
    for chunk in chunks:
        rest += chunk
        whole = len(rest) // size * size
        for place in range(0, whole, size):
            yield rest[place : place + size]
        rest = rest[whole:]
    if rest:
        yield rest


def window(chunks: Iterator[bytes], skip: int, length: int | None) -> Iterator[bytes]:
    """What remains of the bytes after `skip`, at most `length` of them."""
    for chunk in chunks:
        if skip >= len(chunk):
            skip -= len(chunk)
            continue
        chunk, skip = chunk[skip:], 0
        if length is not None:
            chunk = chunk[:length]
            length -= len(chunk)
        if chunk:
            yield chunk
        if length == 0:
            return


@dataclass(slots=True)
class _Xxd:
    columns: int | None = None
    group: int | None = None
    plain: bool = False
    include: bool = False
    reverse: bool = False
    bits: bool = False
    little: bool = False
    upper: bool = False
    decimal: bool = False
    autoskip: bool = False
    capitals: bool = False
    ebcdic: bool = False
    length: int | None = None
    seek: int = 0
    offset: int = 0
    name: str | None = None


class _XxdUsageError(Exception):
    pass


_XXD_USAGE = """\
Usage:
       xxd [options] [infile [outfile]]
    or
       xxd -r [-s [-]offset] [-c cols] [-ps] [infile [outfile]]
"""


def integer(text: str) -> int:
    """A number as strtol(3) with base 0 reads it."""
    match = re.match(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", text)
    if match is None:
        return 0
    digits = match.group(2)
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and len(digits) > 1 else 10
    return int(digits, base) * (-1 if match.group(1) == "-" else 1)


def _xxd_arguments(arguments: list[str]) -> tuple[_Xxd, list[str]]:
    options = _Xxd()
    position = 0
    flags = {
        "-p": "plain",
        "-ps": "plain",
        "-plain": "plain",
        "-postscript": "plain",
        "-i": "include",
        "-include": "include",
        "-r": "reverse",
        "-revert": "reverse",
        "-b": "bits",
        "-bits": "bits",
        "-e": "little",
        "-u": "upper",
        "-upper": "upper",
        "-d": "decimal",
        "-a": "autoskip",
        "-autoskip": "autoskip",
        "-C": "capitals",
        "-capitalize": "capitals",
        "-E": "ebcdic",
        "-EBCDIC": "ebcdic",
    }
    valued = {"c": "columns", "g": "group", "l": "length", "s": "seek", "o": "offset", "n": "name"}
    long = {
        "-cols": "c",
        "-groupsize": "g",
        "-len": "l",
        "-seek": "s",
        "-skip": "s",
        "-offset": "o",
        "-name": "n",
    }
    while position < len(arguments):
        word = arguments[position]
        if word == "--":
            position += 1
            break
        if word == "-" or not word.startswith("-"):
            break
        word = word[1:] if word.startswith("--") else word
        position += 1
        if word in flags:
            setattr(options, flags[word], True)
            continue
        letter, value = long.get(word, word[1]), ""
        if letter not in valued:
            raise _XxdUsageError
        if word not in long:
            value = word[2:]
        if not value:
            if position >= len(arguments):
                raise _XxdUsageError
            value = arguments[position]
            position += 1
        setattr(options, valued[letter], value if letter == "n" else integer(value))
    return options, arguments[position:]


@command("xxd", raw=True)
def xxd(call: Invocation) -> Generator[None, None, int]:
    """xxd [options] [infile [outfile]]: a hex dump, or the reverse (vim's xxd)."""
    process = call.process
    try:
        options, operands = _xxd_arguments(process.argv[1:])
    except _XxdUsageError:
        process.stderr.write(_XXD_USAGE.encode())
        return 1
    if len(operands) > 2:
        process.stderr.write(_XXD_USAGE.encode())
        return 1
    name = operands[0] if operands else "-"
    try:
        chunks = file_chunks(process, name)
        first = next(chunks, b"")
    except OSError as error:
        process.error(f"{name}: {reason(error)}")
        return 2

    def source() -> Iterator[bytes]:
        yield first
        yield from chunks

    if options.seek < 0 and not options.reverse:
        data = b"".join(source())
        start = max(len(data) + options.seek, 0)
        options.seek = start
        content: Iterator[bytes] = window(iter((data,)), start, options.length)
    else:
        content = window(source(), max(options.seek, 0) if not options.reverse else 0, options.length)
    if options.reverse:
        data = b"".join(content)
        pieces: Iterator[bytes] = iter(
            (_reverse_plain(data) if options.plain else _reverse(data, options.seek),)
        )
    elif options.include:
        pieces = _include(content, options, name)
    elif options.plain:
        pieces = _plain(content, options)
    else:
        pieces = _dump(content, options)
    if len(operands) > 1 and operands[1] != "-":
        with open(process.path(operands[1]), "wb") as file:
            file.writelines(pieces)
        return 0
    for piece in pieces:
        process.stdout.write(piece)
        if process.stdout.full:
            yield
    return 0


def _plain(content: Iterator[bytes], options: _Xxd) -> Iterator[bytes]:
    columns = 30 if options.columns is None else options.columns
    for block in blocks(content, columns or 1 << 16):
        text = block.hex()
        yield (text.upper() if options.upper else text).encode() + (b"\n" if columns else b"")
    if columns == 0:
        yield b"\n"


def _include(content: Iterator[bytes], options: _Xxd, name: str) -> Iterator[bytes]:
    columns = options.columns or 12
    label = ""
    if options.name is not None or name != "-":
        label = re.sub(r"[^A-Za-z0-9_]", "_", options.name or name)
        if label[:1].isdigit():
            label = "__" + label
        if options.capitals:
            label = label.upper()
        yield f"unsigned char {label}[] = {{\n".encode()
    total = 0
    prefix = "0X" if options.upper else "0x"
    for block in blocks(content, columns):
        numbers = ", ".join(
            f"{prefix}{byte:02X}" if options.upper else f"{prefix}{byte:02x}" for byte in block
        )
        yield (",\n" if total else "").encode() + f"  {numbers}".encode()
        total += len(block)
    if total:
        yield b"\n"
    if label:
        yield f"}};\nunsigned int {label}_{'LEN' if options.capitals else 'len'} = {total};\n".encode()


def _dump(content: Iterator[bytes], options: _Xxd) -> Iterator[bytes]:
    columns = options.columns or (6 if options.bits else 16)
    group = options.group
    if group is None:
        group = 1 if options.bits else 4 if options.little else 2
    group = group if 0 < group <= columns else columns
    width = 8 if options.bits else 2
    per_group = group * width
    groups = (columns + group - 1) // group
    size = columns * width + groups  # one space after each group
    if options.little:
        size = groups * (per_group + 1)
    address = options.seek + options.offset
    skipped = 0
    zero_line = b""
    for block in blocks(content, columns):
        parts = []
        for start in range(0, len(block), group):
            piece = block[start : start + group]
            if options.bits:
                text = "".join(f"{byte:08b}" for byte in piece)
            elif options.little:
                text = piece[::-1].hex().rjust(per_group)
            else:
                text = piece.hex()
            parts.append(text)
        hexadecimal = " ".join(parts)
        if options.upper:
            hexadecimal = hexadecimal.upper()
        place = f"{address:08d}" if options.decimal else f"{address:08x}"
        shown = block.translate(_VISIBLE).decode("ascii")
        line = f"{place}: {hexadecimal:<{size}} {shown}\n".encode()
        address += len(block)
        if options.autoskip:
            if not block.strip(b"\0") and len(block) == columns:
                skipped += 1
                zero_line = line
                if skipped == 1:
                    yield line
                elif skipped == 2:
                    yield b"*\n"
                continue
            skipped = 0
        yield line
    if options.autoskip and skipped > 1:
        yield zero_line


def _reverse_plain(data: bytes) -> bytes:
    digits = re.sub(rb"[^0-9A-Fa-f]", b"", data)
    return bytes.fromhex(digits[: len(digits) // 2 * 2].decode())


def _reverse(data: bytes, seek: int) -> bytes:
    result = bytearray()
    for line in data.split(b"\n"):
        match = re.match(rb"\s*([0-9A-Fa-f]+): ?", line)
        if match is None:
            continue
        place = int(match.group(1), 16) + seek
        rest = re.split(rb"  ", line[match.end() :], maxsplit=1)[0]
        digits = re.sub(rb"\s", b"", rest)
        hexadecimal = re.match(rb"(?:[0-9A-Fa-f]{2})*", digits)
        block = bytes.fromhex(hexadecimal.group().decode()) if hexadecimal else b""
        if place > len(result):
            result.extend(bytes(place - len(result)))
        result[max(place, 0) : max(place, 0) + len(block)] = block
    return bytes(result)
