"""Resource limits, as `ulimit` sets them: what they are, and applying those that are enforced to the system.

File sizes and open files limit what the shell and its commands do with files: the system receives them
before it works for the shell. Processes are jobs and subshells, processor time is that of one script, and
virtual memory is what variables hold. The other limits are only numbers.
"""

from __future__ import annotations

import os
from typing import Final

from planaria_shell.errors import ShellError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.resources import DESCRIPTORS, SOFT_LIMITS, Bounds

__all__ = ["apply_limits", "apply_umask", "may_fork", "may_open", "set_bounds"]


#: Bytes of a block of `ulimit -f`.
_BLOCK: Final = 1024
_MANY: Final = 1 << 31


def set_bounds(shell: Interpreter, bounds: Bounds) -> None:
    """Have these limits from now on."""
    shell.bounds = bounds
    files, processes = bounds["n"][0], bounds["u"][0]
    shell.open_files = _MANY if files is None else files
    shell.processes = None if processes == SOFT_LIMITS["u"] else processes
    memory = bounds["v"][0]
    shell.counters.memory = None if memory is None else memory * 1024
    shell.counters.growth = 0
    soft, hard = bounds["t"]
    shell.counters.cpu = None if soft is None else (soft, 128 + (9 if soft == hard else 24))
    shell.apply_limits()


def apply_limits(shell: Interpreter) -> None:
    """Apply the limits of this shell to the system."""
    bounds = shell.bounds
    size = bounds["f"][0]
    files = bounds["n"][0]
    shell.system.apply_limits(
        None if size is None else size * _BLOCK,
        None if files is None or files >= DESCRIPTORS else max(0, files - len(shell.fds)),
    )


def apply_umask(shell: Interpreter) -> None:
    """Apply the shell's umask to the system, where it has one."""
    if shell.system.umask != shell.umask:
        shell.system.umask = shell.umask
        if hasattr(os, "umask"):
            os.umask(shell.umask)


def may_open(shell: Interpreter, name: str) -> None:
    """Raises `ShellError` when one descriptor more is too many."""
    number = 0
    while number in shell.fds:
        number += 1
    if number >= shell.open_files:
        raise ShellError(f"{name}: Too many open files")


def may_fork(shell: Interpreter) -> None:
    """Raises `ShellError` when one process beside this shell, others around it and jobs is too many."""
    assert shell.processes is not None
    running = sum(job.status is None for job in shell.job_owner.jobs)
    if shell.subshell_level + running + 1 >= shell.processes:
        raise ShellError("fork: Resource temporarily unavailable", status=254, fatal=True)
