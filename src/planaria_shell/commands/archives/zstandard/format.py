"""The zstd format (RFC 8878): frames of any encoder are read, and written.

Python's own module for it is not in the sandbox.
"""

from __future__ import annotations

import struct

from planaria_shell.commands.archives.zstandard.compression import (
    DEFAULT_LITERALS,
    DEFAULT_MATCHES,
    DEFAULT_OFFSETS,
    LITERAL_LENGTHS,
    MATCH_LENGTHS,
    compressed_block,
)
from planaria_shell.commands.archives.zstandard.entropy import (
    BackwardBits,
    FseTable,
    HuffmanTable,
    ZstdError,
    read_fse_table,
    read_huffman_table,
)
from planaria_shell.commands.archives.zstandard.matching import BLOCK, Matcher
from planaria_shell.commands.archives.zstandard.xxhash import XXHash64

__all__ = ["MAGIC", "ZstdCompressor", "ZstdDecompressor", "ZstdError"]

MAGIC = b"\x28\xb5\x2f\xfd"
#: The largest window that is kept, as for `zstd -d` without `--long`.
_LARGEST_WINDOW = 1 << 27


class ZstdCompressor:
    """Makes one frame."""

    def __init__(self) -> None:
        self._hash = XXHash64()
        # A checksum, no size, a window of two blocks.
        self._ahead = MAGIC + b"\x04\x40"
        self._pending = b""
        self._matcher = Matcher()
        self._offsets = [1, 4, 8]

    def compress(self, data: bytes) -> bytes:
        """What can be written after more data."""
        self._hash.update(data)
        data = self._pending + data
        out = [self._ahead]
        self._ahead = b""
        at = 0
        while len(data) - at > BLOCK:
            out.append(self._block(data[at : at + BLOCK], last=False))
            at += BLOCK
        self._pending = data[at:]
        return b"".join(out)

    def flush(self) -> bytes:
        """The end of the frame."""
        checksum = struct.pack("<L", self._hash.value() & 0xFFFFFFFF)
        return self._ahead + self._block(self._pending, last=True) + checksum

    def _block(self, data: bytes, *, last: bool) -> bytes:
        """A block: one byte repeated, compressed, or as it is where that is shorter."""
        kind, body = 0, data
        if len(data) > 3 and data == data[:1] * len(data):
            kind, body = 1, data[:1]
        elif data:
            offsets = self._offsets.copy()
            packed = compressed_block(*self._matcher.find(data), offsets)
            if len(packed) < len(data):
                kind, body, self._offsets = 2, packed, offsets
        size = len(data) if kind == 1 else len(body)
        return struct.pack("<L", size << 3 | kind << 1 | last)[:3] + body


class ZstdDecompressor:
    """Reads one frame; frames to be skipped before it are passed over."""

    def __init__(self) -> None:
        self.eof = False
        #: What came after the frame's end.
        self.unused_data = b""
        self._input = b""
        self._started = False
        self._checked = False
        self._last = False
        self._size: int | None = None
        self._window = 0
        self._skip = 0
        self._hash = XXHash64()
        self._out = bytearray()
        self._written = 0  # of `_out`, how much has been given out
        self._total = 0
        self._offsets = [1, 4, 8]
        self._huffman: HuffmanTable | None = None
        self._literal_table: FseTable | None = None
        self._offset_table: FseTable | None = None
        self._match_table: FseTable | None = None

    def decompress(self, data: bytes) -> bytes:
        """What the data so far gives; raises ZstdError."""
        self._input += data
        at = self._header() if not self._started else 0
        while self._started and not self._last:
            header = int.from_bytes(self._input[at : at + 3], "little")
            kind, size = header >> 1 & 3, header >> 3
            end = at + 3 + (1 if kind == 1 else size)
            if len(self._input) < end or len(self._input) < at + 3:
                break
            if size > BLOCK or kind == 3:
                raise ZstdError("a block is too large")
            body = self._input[at + 3 : end]
            if kind == 0:
                self._out += body
            elif kind == 1:
                self._out += body * size
            else:
                self._compressed(body)
            at = end
            self._last = bool(header & 1)
        self._input = self._input[at:]
        given = self._give()
        if self._last:
            self._finish()
        return given

    def _header(self) -> int:
        """Read a frame's header when it is there as a whole; returns where it ends, else 0."""
        data = self._input
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = self._input = data[skipped:]
        if len(data) < 4:
            return 0
        if data[1:4] == b"\x2a\x4d\x18" and data[0] >> 4 == 5:
            if len(data) < 8:
                return 0
            self._skip = int.from_bytes(data[4:8], "little")
            self._input = data[8:]
            return self._header()
        if data[:4] != MAGIC:
            raise ZstdError("unsupported format")
        if len(data) < 5:
            return 0
        descriptor = data[4]
        single = bool(descriptor & 32)
        dictionary = (0, 1, 2, 4)[descriptor & 3]
        sized = (int(single), 2, 4, 8)[descriptor >> 6]
        end = 5 + (not single) + dictionary + sized
        if len(data) < end:
            return 0
        at = 5
        if not single:
            exponent, mantissa = data[5] >> 3, data[5] & 7
            base = 1 << (10 + exponent)
            self._window = base + base // 8 * mantissa
            at = 6
        if any(data[at : at + dictionary]):
            raise ZstdError("a dictionary is needed")
        at += dictionary
        if sized:
            self._size = int.from_bytes(data[at : at + sized], "little") + (256 if sized == 2 else 0)
            if single:
                self._window = self._size
        if self._window > _LARGEST_WINDOW:
            raise ZstdError("the window is too large")
        self._checked = bool(descriptor & 4)
        self._started = True
        return end

    def _give(self) -> bytes:
        """What is new in the output; no more than the window is kept."""
        given = bytes(self._out[self._written :])
        self._total += len(given)
        if self._checked:
            self._hash.update(given)
        self._written = len(self._out)
        if self._written > 2 * self._window + BLOCK:
            del self._out[: self._written - self._window]
            self._written = len(self._out)
        return given

    def _finish(self) -> None:
        if self._checked:
            if len(self._input) < 4:
                return
            if int.from_bytes(self._input[:4], "little") != self._hash.value() & 0xFFFFFFFF:
                raise ZstdError("the checksum does not match")
            self._input = self._input[4:]
        if self._size is not None and self._size != self._total:
            raise ZstdError("the size does not match")
        self.eof = True
        self.unused_data, self._input = self._input, b""

    def _compressed(self, data: bytes) -> None:
        literals, at = self._literals(data)
        if at >= len(data):
            raise ZstdError("a block has no sequences")
        count = data[at]
        at += 1
        if count == 255:
            count = int.from_bytes(data[at : at + 2], "little") + 0x7F00
            at += 2
        elif count >= 128:
            if at >= len(data):
                raise ZstdError("a block is cut short")
            count = (count - 128 << 8) + data[at]
            at += 1
        if not count:
            self._out += literals
            return
        if at >= len(data):
            raise ZstdError("a block is cut short")
        modes = data[at]
        at += 1
        self._literal_table, at = _table(data, at, modes >> 6, 9, 36, DEFAULT_LITERALS, self._literal_table)
        self._offset_table, at = _table(data, at, modes >> 4 & 3, 8, 32, DEFAULT_OFFSETS, self._offset_table)
        self._match_table, at = _table(data, at, modes >> 2 & 3, 9, 53, DEFAULT_MATCHES, self._match_table)
        self._sequences(BackwardBits(data[at:]), count, literals)

    def _literals(self, data: bytes) -> tuple[bytes, int]:
        """The literals of a block, and where its sequences begin."""
        if not data:
            raise ZstdError("a block is empty")
        kind, form = data[0] & 3, data[0] >> 2 & 3
        if kind < 2:
            width = (1, 2, 1, 3)[form]
            size = int.from_bytes(data[:width], "little") >> (3 if width == 1 else 4)
            end = width + (size if kind == 0 else 1)
            if end > len(data):
                raise ZstdError("literals are cut short")
            return (data[width:end] if kind == 0 else data[width:end] * size), end
        width, digits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        header = int.from_bytes(data[:width], "little") >> 4
        size, packed = header & ((1 << digits) - 1), header >> digits
        end = width + packed
        if end > len(data):
            raise ZstdError("literals are cut short")
        at = width
        if kind == 2:
            self._huffman, at = read_huffman_table(data[:end], at)
        if self._huffman is None:
            raise ZstdError("a Huffman code is missing")
        if form == 0:
            return self._huffman.decode(data[at:end], size), end
        first, second, third = struct.unpack_from("<3H", data[:end].ljust(at + 6, b"\0"), at)
        share = (size + 3) // 4
        cuts = [at + 6, at + 6 + first, at + 6 + first + second, at + 6 + first + second + third, end]
        if cuts[3] > end or size < 3 * share:
            raise ZstdError("literals are damaged")
        streams = zip(cuts, cuts[1:], (share, share, share, size - 3 * share), strict=False)
        huffman = self._huffman
        return b"".join([huffman.decode(data[a:b], number) for a, b, number in streams]), end

    def _sequences(self, stream: BackwardBits, count: int, literals: bytes) -> None:
        """Copy literals and earlier output in turn."""
        assert self._literal_table is not None
        assert self._offset_table is not None
        assert self._match_table is not None
        ll, of, ml = self._literal_table, self._offset_table, self._match_table
        read = stream.read
        literal_state, offset_state, match_state = read(ll.accuracy), read(of.accuracy), read(ml.accuracy)
        out = self._out
        one, two, three = self._offsets
        taken = 0
        for left in range(count - 1, -1, -1):
            code = of.symbols[offset_state]
            value = (1 << code) + read(code)
            base, bits = MATCH_LENGTHS[ml.symbols[match_state]]
            length = base + read(bits)
            base, bits = LITERAL_LENGTHS[ll.symbols[literal_state]]
            plain = base + read(bits)
            if left:
                literal_state = ll.bases[literal_state] + read(ll.bits[literal_state])
                match_state = ml.bases[match_state] + read(ml.bits[match_state])
                offset_state = of.bases[offset_state] + read(of.bits[offset_state])
            if value > 3:
                one, two, three = value - 3, one, two
            else:
                # One of the three latest offsets; without literals between, the first of them does not count.
                place = value - (plain != 0)
                if place == 1:
                    one, two = two, one
                elif place == 2:
                    one, two, three = three, one, two
                elif place == 3:
                    one, two, three = one - 1, one, two
            out += literals[taken : taken + plain]
            taken += plain
            start = len(out) - one
            if start < 0 or one < 1 or taken > len(literals):
                raise ZstdError("a sequence is damaged")
            if one >= length:
                out += out[start : start + length]
            else:
                piece = bytes(out[start:])
                out += (piece * (length // one + 1))[:length]
        if stream.left:
            raise ZstdError("sequences are damaged")
        out += literals[taken:]
        self._offsets = [one, two, three]


def _table(
    data: bytes, at: int, mode: int, most: int, symbols: int, default: FseTable, before: FseTable | None
) -> tuple[FseTable, int]:
    """The table that a mode asks for, and where the next one begins."""
    if mode == 0:
        return default, at
    if mode == 1:
        if at >= len(data) or data[at] >= symbols:
            raise ZstdError("a table is damaged")
        return FseTable.single(data[at]), at + 1
    if mode == 2:
        return read_fse_table(data, at, most, symbols)
    if before is None:
        raise ZstdError("a table is missing")
    return before, at
