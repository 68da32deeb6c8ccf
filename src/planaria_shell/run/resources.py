"""Limits of resources, as `ulimit` sets them: what they are, and having the system heed those that bind.

File sizes and open files bind what the shell and its commands do with files: the system is told before it
works for them. Processes are jobs and subshells, processor time is that of one script, and virtual memory is
what variables hold. The other limits are only numbers.
"""

# mypy: disable-error-code="misc"
# The methods here are a part of `Shell` and are only ever called on one, which is what `self: Shell` says.

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from planaria_shell.run.variable import ShellError

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["FROM_THE_START", "Bounds", "Limit", "Resources", "System"]

#: A limit: a number, or None for none.
Limit = int | None
#: By letter: the soft and the hard limit. Never changed, but replaced, since subshells share it.
Bounds = Mapping[str, tuple[Limit, Limit]]
#: Has the system heed the largest size of a file, in bytes, and how many more files may be opened.
Apply = Callable[[Limit, Limit], None]

#: Bytes of a block of `ulimit -f`.
_BLOCK: Final = 1024
#: Soft limits from the start, by letter (None: there is none).
_SOFT: Final[dict[str, Limit]] = {
    "R": None, "c": 0, "d": None, "e": 0, "f": None, "i": 127000, "l": 8192, "m": None, "n": 1024, "p": 8,
    "q": 819200, "r": 0, "s": 8192, "t": None, "u": 127000, "v": None, "x": None,
}  # fmt: skip
#: Hard limits that are higher than the soft ones from the start.
_HARD: Final[dict[str, Limit]] = {"c": None, "n": 1048576, "s": None}
_MANY: Final = 1 << 31
#: What a shell begins with.
FROM_THE_START: Final[Bounds] = {letter: (soft, _HARD.get(letter, soft)) for letter, soft in _SOFT.items()}


class System:
    """What the system was told last before it works for a shell; one for all shells of a process.

    `apply` is None where the system cannot be told of limits: natively it is the caller's own process.
    """

    __slots__ = ("_apply", "limits", "umask")

    def __init__(self, apply: Apply | None = None) -> None:
        self.umask = -1
        self.limits: tuple[Limit, Limit] = (None, None)
        self._apply = apply

    def heed(self, file_size: Limit, files: Limit) -> None:
        """Bound what is done from now on."""
        if (file_size, files) != self.limits:
            self.limits = file_size, files
            if self._apply is not None:
                self._apply(file_size, files)


class Resources:
    """What a shell's limits of resources do."""

    def set_bounds(self: Shell, bounds: Bounds) -> None:
        """Have these limits from now on."""
        self.bounds = bounds
        files, processes = bounds["n"][0], bounds["u"][0]
        self.open_files = _MANY if files is None else files
        self.processes = None if processes == _SOFT["u"] else processes
        memory = bounds["v"][0]
        self.counters.memory = None if memory is None else memory * 1024
        self.counters.growth = 0
        soft, hard = bounds["t"]
        self.counters.cpu = None if soft is None else (soft, 128 + (9 if soft == hard else 24))
        self.heed_limits()

    def heed_limits(self: Shell) -> None:
        """Have the system heed the limits of this shell."""
        bounds = self.bounds
        size = bounds["f"][0]
        files = bounds["n"][0]
        self.system.heed(
            None if size is None else size * _BLOCK,
            None if files is None or files >= _SOFT["n"] else max(0, files - len(self.fds)),  # type: ignore[operator]
        )

    def heed_umask(self: Shell) -> None:
        """Make the system heed the shell's umask, where the system has one."""
        if self.system.umask != self.umask:
            self.system.umask = self.umask
            if hasattr(os, "umask"):
                os.umask(self.umask)

    def may_open(self: Shell, name: str) -> None:
        """Raises `ShellError` when one descriptor more is too many."""
        number = 0
        while number in self.fds:
            number += 1
        if number >= self.open_files:
            raise ShellError(f"{name}: Too many open files")

    def may_fork(self: Shell) -> None:
        """Raises `ShellError` when one process beside this shell, others around it and jobs is too many."""
        assert self.processes is not None
        running = sum(job.status is None for job in self.job_owner.jobs)
        if self.subshell_level + running + 1 >= self.processes:
            raise ShellError("fork: Resource temporarily unavailable", status=254, fatal=True)
