"""Blocks of zstd (RFC 8878): matches as sequences of codes, literals in a Huffman code."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from planaria_shell.commands.archives.zstandard.coding import FseCoder, HuffmanCoder, fse_description
from planaria_shell.commands.archives.zstandard.entropy import FseTable
from planaria_shell.commands.archives.zstandard.matching import Sequence

__all__ = ["LITERAL_LENGTHS", "MATCH_LENGTHS", "compressed_block"]

# For each code of a length its base and its number of further bits.
LITERAL_LENGTHS = [(code, 0) for code in range(16)] + [
    (16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6),
    *((1 << power, power) for power in range(7, 17)),
]  # fmt: skip
MATCH_LENGTHS = [(code + 3, 0) for code in range(32)] + [
    (35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5),
    *((3 + (1 << power), power) for power in range(7, 17)),
]  # fmt: skip
DEFAULT_LITERALS = FseTable.from_probabilities(
    [4, 3, *[2] * 11, 1, 1, 1, *[2] * 9, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1], 6
)
DEFAULT_MATCHES = FseTable.from_probabilities([1, 4, 3, 2, 2, 2, 2, 2, 2, *[1] * 37, *[-1] * 7], 6)
DEFAULT_OFFSETS = FseTable.from_probabilities([*[1] * 6, 2, 2, 2, *[1] * 15, *[-1] * 5], 5)

_LITERAL_BASES = [base for base, _ in LITERAL_LENGTHS]
_MATCH_BASES = [base for base, _ in MATCH_LENGTHS]
#: With fewer sequences a table of their own costs more than it saves.
_FEW = 48


def compressed_block(sequences: list[Sequence], literals: bytes, offsets: list[int]) -> bytes:
    """The contents of a compressed block; `offsets` are the latest three, which are brought up to date."""
    out = bytearray(_literals(literals))
    count = len(sequences)
    if count < 128:
        out.append(count)
    elif count < 0x7F00:
        out += bytes([128 + (count >> 8), count & 255])
    else:
        out += b"\xff" + (count - 0x7F00).to_bytes(2, "little")
    if count:
        out += _sequences(sequences, offsets)
    return bytes(out)


def _literals(data: bytes) -> bytes:
    """The section of literals, in whatever form is shortest."""
    size = len(data)
    if size and data == data[:1] * size:
        return _plain_header(1, size) + data[:1]
    plain = _plain_header(0, size) + data
    if size < 64:
        return plain
    coder = HuffmanCoder(Counter(data))
    if coder.description is None:
        return plain
    if size < 256:
        body = coder.description + coder.encode(data)
        form, digits, width = 0, 10, 3
    else:
        share = (size + 3) // 4
        streams = [coder.encode(data[at : at + share]) for at in range(0, size, share)]
        sizes = b"".join(len(stream).to_bytes(2, "little") for stream in streams[:3])
        body = b"".join([coder.description, sizes, *streams])
        largest = max(size, len(body))
        form, digits, width = (
            (1, 10, 3) if largest < 1 << 10 else (2, 14, 4) if largest < 1 << 14 else (3, 18, 5)
        )
    if len(body) + width >= len(plain):
        return plain
    return (2 | form << 2 | size << 4 | len(body) << 4 + digits).to_bytes(width, "little") + body


def _plain_header(kind: int, size: int) -> bytes:
    if size < 1 << 5:
        return bytes([kind | size << 3])
    if size < 1 << 12:
        return (kind | 1 << 2 | size << 4).to_bytes(2, "little")
    return (kind | 3 << 2 | size << 4).to_bytes(3, "little")


def _offset_value(distance: int, plain: int, offsets: list[int]) -> int:
    """The number for a distance: one of the latest three, or 3 more than it is."""
    one, two, three = offsets
    if plain:
        if distance == one:
            return 1
        if distance == two:
            offsets[:] = two, one, three
            return 2
        if distance == three:
            offsets[:] = three, one, two
            return 3
    elif distance == two:
        offsets[:] = two, one, three
        return 1
    elif distance == three:
        offsets[:] = three, one, two
        return 2
    offsets[:] = distance, one, two
    return distance + 3


def _sequences(sequences: list[Sequence], offsets: list[int]) -> bytes:
    """The tables of the codes, and the sequences, of which the last is written first."""
    values = [_offset_value(distance, plain, offsets) for plain, _, distance in sequences]
    literal_codes = [
        plain if plain < 16 else bisect_right(_LITERAL_BASES, plain) - 1 for plain, _, _ in sequences
    ]
    match_codes = [
        length - 3 if length < 35 else bisect_right(_MATCH_BASES, length) - 1 for _, length, _ in sequences
    ]
    offset_codes = [value.bit_length() - 1 for value in values]
    modes = 0
    tables = bytearray()
    coders: list[FseCoder] = []
    for codes, default, most in (
        (literal_codes, DEFAULT_LITERALS, 9),
        (offset_codes, DEFAULT_OFFSETS, 8),
        (match_codes, DEFAULT_MATCHES, 9),
    ):
        mode, description, table = _table(codes, default, most)
        modes = modes << 2 | mode
        tables += description
        coders.append(FseCoder(table))
    literal_coder, offset_coder, match_coder = coders
    stream = bytearray()
    held = width = 0
    literal_state = literal_coder.first(literal_codes[-1])
    offset_state = offset_coder.first(offset_codes[-1])
    match_state = match_coder.first(match_codes[-1])
    last = len(sequences) - 1
    for index in range(last, -1, -1):
        plain, length, _ = sequences[index]
        literal_code, match_code, offset_code = literal_codes[index], match_codes[index], offset_codes[index]
        if index != last:
            offset_state, value, bits = offset_coder.step(offset_code, offset_state)
            held |= value << width
            width += bits
            match_state, value, bits = match_coder.step(match_code, match_state)
            held |= value << width
            width += bits
            literal_state, value, bits = literal_coder.step(literal_code, literal_state)
            held |= value << width
            width += bits
        if literal_code > 15:
            base, bits = LITERAL_LENGTHS[literal_code]
            held |= plain - base << width
            width += bits
        if match_code > 31:
            base, bits = MATCH_LENGTHS[match_code]
            held |= length - base << width
            width += bits
        held |= values[index] - (1 << offset_code) << width
        width += offset_code
        whole = width >> 3
        stream += (held & (1 << whole * 8) - 1).to_bytes(whole, "little")
        held >>= whole * 8
        width &= 7
    for coder, state in (
        (match_coder, match_state),
        (offset_coder, offset_state),
        (literal_coder, literal_state),
    ):
        held |= state << width
        width += coder.accuracy
    held |= 1 << width
    stream += held.to_bytes((width >> 3) + 1, "little")
    return bytes([modes << 2]) + bytes(tables) + bytes(stream)


def _table(codes: list[int], default: FseTable, most: int) -> tuple[int, bytes, FseTable]:
    """How a kind of codes is written: the mode, the table's description, and the table."""
    counts = Counter(codes)
    if len(counts) == 1:
        return 1, bytes([codes[0]]), FseTable.single(codes[0])
    if len(codes) < _FEW:
        return 0, b"", default
    description, table = fse_description(counts, most)
    return 2, description, table
