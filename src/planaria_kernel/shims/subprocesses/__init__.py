"""`subprocess`, `os.system`, `os.popen` and asyncio's subprocesses: they run the shell's commands.

There are no processes: a command is a generator of the shell that runs when another waits for it or reads
what it writes. See `popen` for what that means.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


def _change_subprocess(module: Any) -> None:
    from planaria_kernel.shims.subprocesses.popen import Popen

    module.Popen = Popen
    for name in ("run", "call"):
        setattr(module, name, _waiting(getattr(module, name)))


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `subprocess` that waits for what it starts: its timeout holds from the beginning."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, _start=False, **kwargs)

    return call


def _change_asyncio(module: Any) -> None:
    from planaria_kernel.shims.subprocesses import asynchronous

    for name in ("create_subprocess_exec", "create_subprocess_shell"):
        setattr(module, name, getattr(asynchronous, name))
    module.Process = asynchronous.Process
    package = sys.modules["asyncio"]
    for name in ("create_subprocess_exec", "create_subprocess_shell"):
        setattr(package, name, getattr(asynchronous, name))


def system(command: Any) -> int:
    """Execute the command in a subshell; returns its wait status."""
    import subprocess

    code = subprocess.call(os.fsdecode(command), shell=True)
    return -code if code < 0 else code << 8


def _exit_code(status: int) -> int:
    """Convert a wait status to an exit code."""
    return -(status & 0x7F) if status & 0x7F else status >> 8


#: What `os` has for wait statuses on POSIX (see wait(2)).
_STATUS: dict[str, Any] = {
    "waitstatus_to_exitcode": _exit_code,
    "WIFEXITED": lambda status: status & 0x7F == 0,
    "WEXITSTATUS": lambda status: status >> 8 & 0xFF,
    "WIFSIGNALED": lambda status: status & 0x7F != 0,
    "WTERMSIG": lambda status: status & 0x7F,
}


def install() -> None:
    """Have this interpreter start the shell's commands where it would start processes."""
    when_imported("subprocess", _change_subprocess)
    when_imported("asyncio.subprocess", _change_asyncio)
    os.system = system
    for name, function in _STATUS.items():
        setattr(os, name, function)
    # Where `subprocess.run([sys.executable, …])` finds the command.
    sys.executable = "/usr/bin/python3"
