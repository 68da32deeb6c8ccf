"""XXH64, the checksum of zstd frames, of data that comes in pieces."""

from __future__ import annotations

import struct

__all__ = ["XXHash64"]

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_LANES = struct.Struct("<4Q")


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    lane = (lane + word * _P2) & _MASK
    return ((lane << 31 | lane >> 33) & _MASK) * _P1 & _MASK


class XXHash64:
    """The hash with seed 0."""

    def __init__(self) -> None:
        self._lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        self._size = 0
        self._rest = b""

    def update(self, data: bytes) -> None:
        """Take more data in."""
        self._size += len(data)
        data = self._rest + data
        whole = len(data) - len(data) % 32
        self._rest = data[whole:]
        a, b, c, d = self._lanes
        for one, two, three, four in _LANES.iter_unpack(memoryview(data)[:whole]):
            a = (a + one * _P2) & _MASK
            a = ((a << 31 | a >> 33) & _MASK) * _P1 & _MASK
            b = (b + two * _P2) & _MASK
            b = ((b << 31 | b >> 33) & _MASK) * _P1 & _MASK
            c = (c + three * _P2) & _MASK
            c = ((c << 31 | c >> 33) & _MASK) * _P1 & _MASK
            d = (d + four * _P2) & _MASK
            d = ((d << 31 | d >> 33) & _MASK) * _P1 & _MASK
        self._lanes = [a, b, c, d]

    def value(self) -> int:
        """The hash of everything so far."""
        if self._size >= 32:
            a, b, c, d = self._lanes
            total = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18) & _MASK
            for lane in self._lanes:
                total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
        else:
            total = _P5
        total = (total + self._size) & _MASK
        rest = self._rest
        at = 0
        while at + 8 <= len(rest):
            word = int.from_bytes(rest[at : at + 8], "little")
            total = (_rotated(total ^ _round(0, word), 27) * _P1 + _P4) & _MASK
            at += 8
        if at + 4 <= len(rest):
            word = int.from_bytes(rest[at : at + 4], "little")
            total = (_rotated(total ^ (word * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
            at += 4
        for byte in rest[at:]:
            total = _rotated(total ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
        total = (total ^ total >> 33) * _P2 & _MASK
        total = (total ^ total >> 29) * _P3 & _MASK
        return total ^ total >> 32
