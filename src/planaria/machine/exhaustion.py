"""Resources of the host that run out while a session is made, captured or called back, as errors that name
them.
"""

from __future__ import annotations

import errno
import resource
from functools import cache
from pathlib import Path
from typing import Final

from planaria.errors import SessionError

__all__ = ["check_mappings", "host_resources", "mappings_left"]

_MEMORY: Final = "close sessions, give them less memory (Limits.memory), or raise vm.max_map_count"
_BY_NUMBER: Final = {
    errno.ENOMEM: f"the host has no memory, or this process no memory mappings, left; {_MEMORY}",
    errno.ENFILE: "the host has too many open files; close some and try again",
    errno.ENOSPC: "the host has no room left for files in memory; close sessions, or free space",
    errno.EFBIG: "a file in memory would be too large for this process; raise its limit (ulimit -f)",
}

#: What `threading` raises.
_NO_THREAD: Final = "can't start new thread"

#: What of the process's memory mappings sandboxes may have, so that the process itself goes on: each thread
#: and each large object of the host needs some as well.
_SHARE: Final = 0.9


@cache
def _most_mappings() -> int | None:
    """How many memory mappings the system allows a process, None where it has no such limit."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text("ascii"))
    except (OSError, ValueError):
        return None


def check_mappings(mappings: int) -> None:
    """Raise SessionError when so many memory mappings are more than the sandboxes of a process may have."""
    most = _most_mappings()
    if most is not None and mappings > most * _SHARE:
        raise SessionError(
            f"a new sandbox is not possible: the sandboxes of this process have {mappings} memory mappings "
            f"of the {most} that the system allows; close sessions, or raise vm.max_map_count"
        )


def mappings_left(mappings: int) -> int | None:
    """How many more the sandboxes of a process may have that have so many; None without a limit."""
    most = _most_mappings()
    return None if most is None else max(0, int(most * _SHARE) - mappings)


def _engine_error() -> type[Exception]:
    from wasmtime import WasmtimeError  # not every executor has loaded it

    return WasmtimeError


class host_resources:  # noqa: N801 - a context manager; one that is a generator costs more than what is in it
    """Raise SessionError when a resource of the host is used up; `what` says what for."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is not None and (reason := _exhausted(error)) is not None:
            raise SessionError(f"{self._what} is not possible: {reason}") from error


def _exhausted(error: BaseException) -> str | None:
    """Which resource of the host an error says is used up."""
    if isinstance(error, OSError):
        if error.errno == errno.EMFILE:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return (
                f"this process has its limit of {limit} files open; close sessions, or raise it (ulimit -n)"
            )
        return _BY_NUMBER.get(error.errno or 0)
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return (
            "this process cannot start another thread, for lack of memory or because of its limit; "
            "end threads, close sessions, or raise the limit (ulimit -u)"
        )
    is_memory = isinstance(error, MemoryError) or (
        ("mmap" in str(error) or "memory" in str(error)) and isinstance(error, _engine_error())
    )
    return _BY_NUMBER[errno.ENOMEM] if is_memory else None
