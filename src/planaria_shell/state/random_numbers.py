"""The generator behind `RANDOM` and `SRANDOM`."""

from __future__ import annotations

__all__ = ["Random"]


class Random:
    """The generator behind RANDOM: the same seed gives the same numbers as in bash 5.2."""

    __slots__ = ("last", "seed", "wide")

    def __init__(self, seed: int) -> None:
        self.seed = seed & 0xFFFFFFFF
        self.last = 0
        self.wide = seed

    def next(self) -> int:
        """A number from 0 to 32767, never the same twice in a row."""
        while True:
            value = self.seed or 123459876
            high, low = divmod(value, 127773)
            value = 16807 * low - 2836 * high
            self.seed = value + 0x7FFFFFFF if value < 0 else value
            result = ((self.seed >> 16) ^ (self.seed & 0xFFFF)) & 0x7FFF
            if result != self.last:
                self.last = result
                return result

    def next_wide(self) -> int:
        """A number of 32 bits, for SRANDOM."""
        self.wide = (self.wide * 6364136223846793005 + 1442695040888963407) & ((1 << 64) - 1)
        return self.wide >> 32
