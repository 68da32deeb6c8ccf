"""The first code of ours that runs inside the sandbox; what it leaves behind becomes an image."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence

from planaria_kernel import startup
from planaria_kernel.execution.held_streams import HeldStreams
from planaria_kernel.namespaces.operations import Host
from planaria_kernel.network import link
from planaria_kernel.protocol import encode
from planaria_kernel.sandbox.bash import SessionShell
from planaria_kernel.sandbox.freeze import settle
from planaria_kernel.sandbox.mailbox import Mailbox

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

#: Modules of the standard library that the build lacks.
_MODULES = os.path.join(os.path.dirname(__file__), "modules")

#: Kept alive: the host calls them by their addresses.
_entry: Callable[[], None]
_settle: Callable[[], None]


def start(call_host: Callable[[bytes], bytes], tier_modules: Sequence[str]) -> None:
    """Start the kernel and report to the host where to enter it, to freeze it, and to find its mailbox."""
    global _entry, _settle
    os.environ.update(_ENVIRONMENT)
    os.chdir(_ENVIRONMENT["HOME"])
    sys.path.append(_MODULES)
    # The interpreter starts without `site`, which tracebacks would name as the reason for a missing module.
    sys.flags = sys.flags.__replace__(no_site=0)  # type: ignore[attr-defined]
    kernel = startup.start(call_host, sandbox=True, streams=HeldStreams(call_host))
    link.connect(Host(kernel.call_blocking, kernel.call_awaited))
    kernel.imports.modules = frozenset(tier_modules)
    SessionShell(kernel.call_blocking, functools.partial(_bound_files, call_host)).connect(kernel)
    kernel.keep_interpreter()
    kernel.mailbox = mailbox = Mailbox()
    _entry = kernel.enter
    _settle = functools.partial(settle, call_host, kernel.become_image)
    call_host(b"B" + encode((id(_entry), id(_settle), mailbox.address)))


def _bound_files(call_host: Callable[[bytes], bytes], size: int | None, more: int | None) -> None:
    call_host(b"F" + encode(("bounds", size, more)))
