"""Repetitions in data: what was there before is named by its distance and length (LZ77)."""

from __future__ import annotations

__all__ = ["BLOCK", "Matcher", "Sequence"]

#: The most data that a block of zstd holds.
BLOCK = 1 << 17
#: Literals before a match, its length and its distance.
Sequence = tuple[int, int, int]

_SHORT, _LONG = 4, 8
#: How many places at the end of a match are kept, so that later data can refer to them; and of those before
#: that, one in how many.
_KEPT, _SPARSE = 24, 32
#: After 2**_PATIENCE places without a match every second one is looked at, then every third, at last every
#: eighth.
_PATIENCE, _STRIDE = 6, 8


class Matcher:
    """Finds matches in one block after the other, which reach back into the block before."""

    def __init__(self) -> None:
        self._before = b""
        self._distance = 0
        # Where the next bytes were last seen, by four and by eight of them; places in the block before are
        # counted from its start, those in the block at hand too.
        self._old: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})

    def find(self, block: bytes) -> tuple[list[Sequence], bytes]:
        """The matches of a block, and all its bytes that are in none."""
        before, data = self._before, self._before + block
        old_short, old_long = self._old
        short: dict[bytes, int] = {}
        long: dict[bytes, int] = {}
        at = base = len(before)
        anchor = at
        size = len(data)
        last = size - _LONG
        sequences: list[Sequence] = []
        literals: list[bytes] = []
        distance = self._distance
        while at <= last:
            key = data[at : at + _LONG]
            small = key[:_SHORT]
            # The same distance as before costs least.
            if 0 < distance <= at and data[at - distance : at - distance + _SHORT] == small:
                found = at - distance
            else:
                found = long.get(key, -1)
                if found < 0:
                    found = old_long.get(key, -1)
                if found < 0:
                    found = short.get(small, -1)
                    if found < 0:
                        found = old_short.get(small, -1)
            long[key] = short[small] = at
            if found < 0:
                at += min(1 + (at - anchor >> _PATIENCE), _STRIDE)
                continue
            length = common(data, found, at)
            # What comes before may be the same as well.
            while at > anchor and found > 0 and data[at - 1] == data[found - 1]:
                at -= 1
                found -= 1
                length += 1
            distance = at - found
            literals.append(data[anchor:at])
            sequences.append((at - anchor, length, distance))
            end = at + length
            near = max(at + 1, end - _KEPT)
            for places in (range(at + _SPARSE, near, _SPARSE), range(near, min(end, last))):
                for place in places:
                    key = data[place : place + _LONG]
                    long[key] = place
                    short[key[:_SHORT]] = place
            at = anchor = end
        literals.append(data[anchor:])
        self._before = block
        self._distance = distance
        self._old = (_moved(short, base), _moved(long, base))
        return sequences, b"".join(literals)


def _moved(places: dict[bytes, int], base: int) -> dict[bytes, int]:
    """Places counted from the start of the block."""
    return {key: place - base for key, place in places.items()} if base else places


def common(data: bytes, first: int, second: int) -> int:
    """How many bytes from two places on are the same."""
    length, step = 0, 32
    number = int.from_bytes
    while True:
        one = data[first + length : first + length + step]
        two = data[second + length : second + length + step]
        if len(one) > len(two):
            one = one[: len(two)]
        if one != two:
            differing = number(one, "little") ^ number(two, "little")
            return length + ((differing & -differing).bit_length() - 1 >> 3)
        length += len(two)
        if len(two) < step:
            return length
        step = min(step * 2, 1 << 14)
