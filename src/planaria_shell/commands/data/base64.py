"""base64, base32, basenc: bytes as text and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import Source, reason

__all__: list[str] = []

_ALPHABET_64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ALPHABET_32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_HEX_32 = b"0123456789ABCDEFGHIJKLMNOPQRSTUV"
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
_TO_HEX_32 = bytes.maketrans(_ALPHABET_32, _HEX_32)
_FROM_HEX_32 = bytes.maketrans(_HEX_32, _ALPHABET_32)
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


@dataclass
class _Encoding:
    """An alphabet: `raw` bytes become `coded` characters at a time."""

    alphabet: bytes
    raw: int
    coded: int
    encode: Callable[[bytes], bytes]
    decode: Callable[[bytes], bytes]
    pads: bool = True


def _encode_z85(data: bytes) -> bytes:
    if len(data) % 4:
        raise CommandError("invalid input (length must be multiple of 4 characters)")
    out = bytearray()
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at : at + 4], "big")
        out += bytes(_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return bytes(out)


def _decode_z85(data: bytes) -> bytes:
    out = bytearray()
    for at in range(0, len(data), 5):
        number = 0
        for byte in data[at : at + 5]:
            number = number * 85 + _Z85.index(byte)
        if number >= 1 << 32:
            raise ValueError("too large")
        out += number.to_bytes(4, "big")
    return bytes(out)


def _to_bits(data: bytes) -> bytes:
    return b"".join([b"%08d" % int(f"{byte:b}") for byte in data])


def _from_bits(data: bytes) -> bytes:
    return bytes(int(data[at : at + 8], 2) for at in range(0, len(data), 8))


_ENCODINGS = {
    "base64": _Encoding(_ALPHABET_64, 3, 4, base64.b64encode, base64.b64decode),
    "base64url": _Encoding(
        _ALPHABET_64.translate(_TO_URL),
        3,
        4,
        lambda data: base64.b64encode(data).translate(_TO_URL),
        lambda data: base64.b64decode(data.translate(_FROM_URL)),
    ),
    "base32": _Encoding(_ALPHABET_32, 5, 8, base64.b32encode, base64.b32decode),
    "base32hex": _Encoding(
        _HEX_32,
        5,
        8,
        lambda data: base64.b32encode(data).translate(_TO_HEX_32),
        lambda data: base64.b32decode(data.translate(_FROM_HEX_32)),
    ),
    "base16": _Encoding(
        b"0123456789ABCDEFabcdef",
        1,
        2,
        lambda data: base64.b16encode(data),
        lambda data: bytes.fromhex(data.decode()),
        False,
    ),
    "base2msbf": _Encoding(b"01", 1, 8, _to_bits, _from_bits, False),
    "base2lsbf": _Encoding(
        b"01",
        1,
        8,
        lambda data: _to_bits(data.translate(_REVERSED)),
        lambda data: _from_bits(data).translate(_REVERSED),
        False,
    ),
    "z85": _Encoding(_Z85, 4, 5, _encode_z85, _decode_z85, False),
}


def _run(call: Invocation, encoding: _Encoding) -> Generator[None, None, Status]:
    arguments = call.arguments
    if len(call.operands) > 1:
        raise UsageError(f"extra operand {quote(call.operands[1])}")
    text = arguments.value("w")
    width = 76
    if text is not None:
        if not text.isdigit():
            raise UsageError(f"invalid wrap size: {quote(text)}", hint=False)
        width = int(text)
    name = call.operands[0] if call.operands else "-"
    try:
        source = call.open(name)
    except IsADirectoryError as error:
        raise CommandError(f"read error: {reason(error)}") from None
    except OSError as error:
        raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    with source:
        pieces = (
            _decoded(source, encoding, arguments.has("i"))
            if arguments.has("d")
            else _encoded(source, encoding, width)
        )
        for piece in pieces:
            call.stdout.write(piece)
            if call.stdout.full:
                yield
    return 0


def _encoded(source: Source, encoding: _Encoding, width: int) -> Iterator[bytes]:
    rest = b""
    line = b""  # what is on the last line so far
    for chunk in source.chunks():
        data = rest + chunk
        cut = len(data) - len(data) % encoding.raw
        rest = data[cut:]
        line, ready = _wrap(line + encoding.encode(data[:cut]), width)
        yield ready
    line, ready = _wrap(line + (encoding.encode(rest) if rest else b""), width)
    yield ready
    if line:
        yield line + (b"\n" if width else b"")


def _wrap(text: bytes, width: int) -> tuple[bytes, bytes]:
    """The last line that is not full, and the full ones."""
    if not width:
        return b"", text
    full = len(text) - len(text) % width
    lines = b"".join([text[at : at + width] + b"\n" for at in range(0, full, width)])
    return text[full:], lines


def _decoded(source: Source, encoding: _Encoding, ignore: bool) -> Iterator[bytes]:
    rest = b""
    allowed = encoding.alphabet + (b"=" if encoding.pads else b"")
    garbage = bytes(byte for byte in range(256) if byte not in allowed)
    for chunk in source.chunks():
        data = rest + (chunk.translate(None, garbage) if ignore else chunk.replace(b"\n", b""))
        cut = len(data) - len(data) % encoding.coded
        rest = data[cut:]
        yield from _decode_checked(data[:cut], encoding, garbage)
    if rest:
        yield from _decode_checked(rest, encoding, garbage)


def _decode_checked(data: bytes, encoding: _Encoding, garbage: bytes) -> Iterator[bytes]:
    """Decode quantum after quantum; what comes before the first bad one is still given out."""
    good = data
    clean = data.translate(None, garbage)
    if len(clean) == len(data) and not len(data) % encoding.coded and b"=" not in data[: -encoding.coded]:
        try:
            if not data.endswith(b"=" * encoding.coded):
                yield encoding.decode(data)
                return
        except ValueError:
            pass
    for at in range(0, len(good), encoding.coded):
        part = good[at : at + encoding.coded]
        try:
            if len(part) < encoding.coded or part.translate(None, garbage) != part:
                raise ValueError(part)
            if part.startswith(b"="):
                raise ValueError(part)
            piece = encoding.decode(part)
        except ValueError:
            if encoding.coded == 4:
                # Whole bytes before the bad character of a quantum have been decoded already.
                usable = part[: next((i for i, b in enumerate(part) if b in garbage + b"="), len(part))]
                if len(usable) >= 2:
                    padded = usable[:3].ljust(4, b"=") if len(usable) < 4 else usable
                    yield encoding.decode(padded)[: len(usable) * 6 // 8]
            raise CommandError("invalid input") from None
        yield piece


_LONG = "decode=d ignore-garbage=i wrap=w:"


@command("base64", short="diw:", long=_LONG, usage="[OPTION]... [FILE]")
def base64_command(call: Invocation) -> Generator[None, None, Status]:
    """Base64 encode or decode FILE, or standard input, to standard output."""
    return (yield from _run(call, _ENCODINGS["base64"]))


@command("base32", short="diw:", long=_LONG, usage="[OPTION]... [FILE]")
def base32_command(call: Invocation) -> Generator[None, None, Status]:
    """Base32 encode or decode FILE, or standard input, to standard output."""
    return (yield from _run(call, _ENCODINGS["base32"]))


@command("basenc", short="diw:", long=_LONG + " " + " ".join(_ENCODINGS), usage="[OPTION]... [FILE]")
def basenc(call: Invocation) -> Generator[None, None, Status]:
    """Encode or decode FILE, or standard input, in the encoding that an option names."""
    kind = call.arguments.last(_ENCODINGS)
    if kind is None:
        raise UsageError("missing encoding type")
    return (yield from _run(call, _ENCODINGS[kind]))
