"""What decoding a value may cost: a small frame can describe objects that take much more memory, and time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from random import randrange
from sys import getsizeof
from typing import Any, Final

from planaria_kernel.errors import DecodeLimitError
from planaria_kernel.protocol import format as f

__all__ = ["EMPTY", "PLACE", "SMALL", "SMALL_ITEM", "STEP", "STRUCTURE", "STRUCTURES", "Budget"]

#: Items of a large container after which time and memory are looked at.
STEP: Final = 1 << 16
#: Containers of fewer items are charged for all of them at once, by the most that a small item takes.
SMALL: Final = 256
SMALL_ITEM: Final = 56
#: One in so many items of a large container is measured, from a random one on.
_STRIDE: Final = 61
_MEASURED: Final = frozenset({str, bytes, int, float})

#: Containers that are lists of columns while they are filled.
_ROWS: Final = (f.RECORDS, f.TUPLE_ROWS, f.LIST_ROWS)
#: Bytes that an empty container takes, and its place for one item, in a 64-bit CPython. Growing a list or
#: table takes up to an eighth more, and a copy of the places for a time.
EMPTY: Final = {
    f.TUPLE: 64,
    f.LIST: 88,
    f.DICT: 240,
    f.SET: 232,
    f.FROZENSET: 232,
    **dict.fromkeys(_ROWS, 88),
}
PLACE: Final = {f.TUPLE: 17, f.LIST: 9, f.DICT: 70, f.SET: 84, f.FROZENSET: 84, **dict.fromkeys(_ROWS, 9)}
#: Bytes of a structure without its fields; of others, STRUCTURE.
STRUCTURE: Final = 256
STRUCTURES: Final = {
    f.PATH: 512,
    f.ARRAY: 512,
    f.RECORD_ARRAY: 2048,
    f.FRAME: 16384,
    f.SERIES: 4096,
    f.INDEX: 4096,
    f.EXTENSION: 4096,
    f.PANDAS_SCALAR: 512,
}


class Budget:
    """Time and memory that decoding may take.

    `deadline` is a value of `time.monotonic()`, `memory` the bytes of the resulting objects, as estimated:
    what is charged is at least what small objects take, and for large containers it is measured by samples.
    None is without limit. Spending more raises DecodeLimitError.
    """

    __slots__ = ("_deadline", "_left", "_memory")

    def __init__(self, deadline: float | None = None, memory: int | None = None) -> None:
        self._deadline = math.inf if deadline is None else deadline
        self._memory = memory
        self._left: float = math.inf if memory is None else memory

    def spend(self, size: float) -> None:
        """Charge `size` bytes."""
        self._left -= size
        if self._left < 0:
            raise DecodeLimitError(f"it takes more than {self._memory} bytes of memory", "memory")

    def check_time(self) -> None:
        if time.monotonic() >= self._deadline:
            raise DecodeLimitError("the time is over", "timeout")

    def items(self, items: Sequence[Any], start: int) -> None:
        """Charge the plain items of a large container from `start` on, and look at the time."""
        self.check_time()
        sample = items[start + randrange(_STRIDE) :: _STRIDE]
        self.spend(_STRIDE * sum(getsizeof(item) for item in sample if type(item) in _MEASURED))

    def text(self, size: int) -> None:
        """Charge a long string of `size` bytes of UTF-8: one wide character makes all of them wide, and
        the string is copied when it is found.
        """
        self.spend(6 * size)

    def rows(self, count: int, tag: int, width: int) -> None:
        """Charge rows that are made of columns."""
        self.check_time()
        self.spend(count * (280 + 72 * width if tag == f.RECORDS else 96 + 9 * width))
