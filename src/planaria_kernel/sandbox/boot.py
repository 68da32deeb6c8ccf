"""The first code of ours that runs inside the sandbox; what it leaves behind becomes an image."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence

from planaria_kernel import startup
from planaria_kernel.protocol import encode
from planaria_kernel.sandbox.bash import SessionShell
from planaria_kernel.sandbox.freeze import settle

__all__ = ["start"]

#: What a person finds in a shell of their own; a session's `env=` adds to it.
_ENVIRONMENT = {
    "HOME": "/home/user",
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "TZ": "UTC",
    "PWD": "/home/user",
    "MPLCONFIGDIR": "/var/cache/matplotlib",
}

#: Kept alive: the host calls them by their addresses.
_entry: Callable[[], None]
_settle: Callable[[], None]


def start(door: Callable[[bytes], bytes], tier_modules: Sequence[str]) -> None:
    """Start the kernel and tell the host where to enter and how to have it settle."""
    global _entry, _settle
    os.environ.update(_ENVIRONMENT)
    os.chdir(_ENVIRONMENT["HOME"])
    kernel = startup.start(door, sandbox=True)
    kernel.imports.modules = frozenset(tier_modules)
    SessionShell(kernel.call_blocking, functools.partial(_bound_files, door)).connect(kernel)
    _entry = kernel.enter
    _settle = functools.partial(settle, door)
    door(b"B" + encode((id(_entry), id(_settle))))


def _bound_files(door: Callable[[bytes], bytes], size: int | None, more: int | None) -> None:
    door(b"F" + encode(("bounds", size, more)))
