"""Resources of the host that run out while a session is made, captured or called back, as errors that name
them.
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from planaria.errors import SessionError

__all__ = ["check_mappings", "host_resources"]

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


def _engine_error() -> type[Exception]:
    from wasmtime import WasmtimeError  # not every executor has loaded it

    return WasmtimeError


@contextmanager
def host_resources(what: str) -> Iterator[None]:
    """Raise SessionError when a resource of the host is used up; `what` says what for."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EMFILE:
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            reason = (
                f"this process has its limit of {limit} files open; close sessions, or raise it (ulimit -n)"
            )
        elif error.errno in _BY_NUMBER:
            reason = _BY_NUMBER[error.errno]
        else:
            raise
        raise SessionError(f"{what} is not possible: {reason}") from error
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            raise
        raise SessionError(
            f"{what} is not possible: this process cannot start another thread, for want of memory or by its "
            "limit; end threads, close sessions, or raise the limit (ulimit -u)"
        ) from error
    except MemoryError as error:
        raise SessionError(f"{what} is not possible: {_BY_NUMBER[errno.ENOMEM]}") from error
    except _engine_error() as error:
        if "mmap" not in str(error) and "memory" not in str(error):
            raise
        raise SessionError(f"{what} is not possible: {_BY_NUMBER[errno.ENOMEM]}") from error
