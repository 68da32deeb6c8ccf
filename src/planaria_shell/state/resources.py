"""Limits of resources, as `ulimit` sets them, and what the operating system was last set to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["DESCRIPTORS", "FROM_THE_START", "SOFT_LIMITS", "Bounds", "Limit", "System"]

#: A limit: a number, or None for none.
Limit = int | None
#: By letter: the soft and the hard limit. Never changed, but replaced, since subshells share it.
Bounds = Mapping[str, tuple[Limit, Limit]]
#: Sets the system's largest size of a file, in bytes, and how many more files may be opened.
Apply = Callable[[Limit, Limit], None]
#: Descriptors that may be open, from the start.
DESCRIPTORS: Final = 1024
#: Soft limits from the start, by letter (None: there is none).
SOFT_LIMITS: Final[dict[str, Limit]] = {
    "R": None, "c": 0, "d": None, "e": 0, "f": None, "i": 127000, "l": 8192, "m": None, "n": DESCRIPTORS,
    "p": 8, "q": 819200, "r": 0, "s": 8192, "t": None, "u": 127000, "v": None, "x": None,
}  # fmt: skip
#: Hard limits that are higher than the soft ones from the start.
_HARD: Final[dict[str, Limit]] = {"c": None, "n": 1048576, "s": None}
#: What a shell begins with.
FROM_THE_START: Final[Bounds] = {
    letter: (soft, _HARD.get(letter, soft)) for letter, soft in SOFT_LIMITS.items()
}


class System:
    """What was last set in the system before it works for a shell; one for all shells of a process.

    `apply` is None where the system's limits must not be set: natively it is the caller's own process.
    """

    __slots__ = ("_apply", "limits", "umask")

    def __init__(self, apply: Apply | None = None) -> None:
        self.umask = -1
        self.limits: tuple[Limit, Limit] = (None, None)
        self._apply = apply

    def apply_limits(self, file_size: Limit, files: Limit) -> None:
        """Bound what is done from now on."""
        if (file_size, files) != self.limits:
            self.limits = file_size, files
            if self._apply is not None:
                self._apply(file_size, files)
