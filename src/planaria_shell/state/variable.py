"""A variable: its value or elements, and its attributes."""

from __future__ import annotations

import re
from functools import lru_cache

from planaria_shell.errors import ShellError

__all__ = [
    "ASSOCIATIVE",
    "CAPITALIZE",
    "DYNAMIC",
    "EXPORT",
    "HOOKED",
    "INDEXED",
    "INTEGER",
    "LOWER",
    "NAMEREF",
    "READONLY",
    "SHORT",
    "SLOW_READ",
    "SLOW_WRITE",
    "TRACE",
    "UPPER",
    "Scope",
    "Variable",
    "bucket",
    "is_name",
]

EXPORT = 1
READONLY = 2
INTEGER = 4
LOWER = 8
UPPER = 16
CAPITALIZE = 32
NAMEREF = 64
INDEXED = 128
ASSOCIATIVE = 256
TRACE = 512
#: The value is computed when it is read (RANDOM, SECONDS …).
DYNAMIC = 1024
#: Assigning has an effect beyond the value (PATH, IFS …), or `set -a` is on.
HOOKED = 2048

#: Flags with which `value` is not simply the value.
SLOW_READ = NAMEREF | INDEXED | ASSOCIATIVE | DYNAMIC
#: Flags with which assigning is more than storing a string.
SLOW_WRITE = SLOW_READ | READONLY | INTEGER | LOWER | UPPER | CAPITALIZE | HOOKED

#: A scalar that is given a text no longer than this need not be accounted for: it is only one of its name.
SHORT = 256

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def is_name(text: str) -> bool:
    """Whether `text` can name a variable."""
    return _NAME.match(text) is not None


@lru_cache(maxsize=65536)
def _hash(key: str) -> int:
    """The hash by which bash places a key (FNV-1, 32 bits, over signed bytes)."""
    value = 2166136261
    for byte in key.encode("utf-8", "surrogateescape"):
        value = (value * 16777619 & 0xFFFFFFFF) ^ (byte if byte < 0x80 else byte | 0xFFFFFF00)
    return value


def bucket(key: str, buckets: int) -> int:
    """The place of a key in one of bash's hash tables, which has a power of two of them."""
    return _hash(key) & (buckets - 1)


_BUCKETS = 1024
_NOT_A_TEXT = object()


def _listed(array: dict[str, str]) -> list[str]:
    """The keys of an associative array in the order of bash's hash table: scripts' output depends on it."""
    count = len(array)
    if count < 2:
        return list(array)
    if count <= 2 * _BUCKETS:
        # By bucket, and the newest first within one.
        newest = list(array)
        newest.reverse()
        return sorted(newest, key=lambda key: _hash(key) & (_BUCKETS - 1))
    # The table has grown to four times its size, which turned the order of the older ones around.
    keys = list(array)
    grown = 2 * _BUCKETS
    order = [*reversed(keys[grown:]), *keys[:grown]]
    return sorted(order, key=lambda key: _hash(key) & (4 * _BUCKETS - 1))


class Variable:
    """A value with attributes. A scalar's text is in `value`; an array's elements are in `array`."""

    __slots__ = ("array", "flags", "number", "numbered", "ordered", "value")

    def __init__(self, value: str | None = None, flags: int = 0) -> None:
        self.value = value
        self.flags = flags
        #: The value as a number, which holds as long as `numbered` is the very string in `value`.
        self.number = 0
        self.numbered: object = _NOT_A_TEXT
        self.array: dict[int, str] | dict[str, str] | None = None
        #: Whether an indexed array's keys are in ascending order in the dictionary.
        self.ordered = True

    def copy(self) -> Variable:
        """The same value and attributes, independent from now on."""
        twin = Variable(self.value, self.flags)
        if self.array is not None:
            twin.array = self.array.copy()
            twin.ordered = self.ordered
        return twin

    # -- indexed arrays ----------------------------------------------------------------------------

    def indexed(self) -> dict[int, str]:
        """The elements by index, in ascending order."""
        if self.array is None:
            self.array = {}
        array: dict[int, str] = self.array  # type: ignore[assignment]
        if not self.ordered:
            array = self.array = dict(sorted(array.items()))
            self.ordered = True
        return array

    def store(self, index: int, value: str) -> None:
        """Set one element of an indexed array."""
        array: dict[int, str] = self.array  # type: ignore[assignment]
        if array is None:
            array = self.array = {}
        if self.ordered and index not in array and array and index < next(reversed(array)):
            self.ordered = False
        array[index] = value

    def next_index(self) -> int:
        """The index after the last element."""
        array = self.indexed()
        return next(reversed(array)) + 1 if array else 0

    def index(self, number: int, name: str) -> int:
        """`number` with a negative one counted from the end."""
        if number < 0:
            number += self.next_index() if self.array is not None else (1 if self.value is not None else 0)
            if number < 0:
                raise ShellError(f"{name}: bad array subscript")
        return number

    # -- both kinds --------------------------------------------------------------------------------

    def values(self) -> list[str]:
        """The elements' values in order (a scalar is an array of one)."""
        if self.array is None:
            return [] if self.value is None or self.flags & (INDEXED | ASSOCIATIVE) else [self.value]
        if self.flags & ASSOCIATIVE:
            array: dict[str, str] = self.array  # type: ignore[assignment]
            return [array[key] for key in _listed(array)]
        return list(self.indexed().values())

    def keys(self) -> list[str]:
        """The elements' keys in order, as text."""
        if self.array is None:
            return [] if self.value is None or self.flags & (INDEXED | ASSOCIATIVE) else ["0"]
        if self.flags & ASSOCIATIVE:
            return _listed(self.array)  # type: ignore[arg-type]
        return [str(key) for key in self.indexed()]

    def pairs(self) -> list[tuple[str, str]]:
        """Keys and values of an associative array in the order in which bash lists them."""
        array: dict[str, str] = self.array or {}  # type: ignore[assignment]
        return [(key, array[key]) for key in _listed(array)]

    def is_set(self) -> bool:
        """Whether there is a value at all."""
        return self.value is not None or self.array is not None

    def scalar(self) -> str | None:
        """What `$name` gives: the value, or an array's element 0."""
        if self.array is not None:
            if self.flags & ASSOCIATIVE:
                return self.array.get("0")  # type: ignore[call-overload]
            return self.array.get(0)  # type: ignore[call-overload]
        return self.value


class Scope:
    """What one function call made local: the earlier meaning of each name."""

    __slots__ = ("getopts_offset", "options", "saved", "temporary")

    def __init__(self, *, temporary: bool = False) -> None:
        self.saved: dict[str, Variable | None] = {}
        #: A scope of the assignments before a command, not of a function.
        self.temporary = temporary
        #: `local -`: the options to go back to.
        self.options: object = None
        #: `local OPTIND`: where in a word of options `getopts` goes on afterwards.
        self.getopts_offset: int | None = None
