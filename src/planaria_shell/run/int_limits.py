"""How many digits a number may have: any while the shell and its commands run, in Python its usual bound.

CPython refuses to read or write an int of more than 4300 digits, since that takes long; commands such as `bc`
and `seq` have no such bound, and what takes long is bounded by time.
"""

from __future__ import annotations

import sys

__all__ = ["DigitsOfPython", "DigitsOfTheShell"]


class DigitsOfTheShell:
    """A block in which numbers may have any number of digits."""

    __slots__ = ("_before",)
    _most = 0

    def __enter__(self) -> None:
        self._before = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(self._most)

    def __exit__(self, *_: object) -> None:
        sys.set_int_max_str_digits(self._before)


class DigitsOfPython(DigitsOfTheShell):
    """A block in which the bound is that of an interpreter which has just begun."""

    __slots__ = ()
    _most = sys.int_info.default_max_str_digits
