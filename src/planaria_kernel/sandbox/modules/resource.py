"""`resource` (Unix) within reason: the sandbox's limits are the host's to set, with `planaria.Limits`."""

from __future__ import annotations

import time
from typing import NamedTuple

RLIM_INFINITY = -1
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE = 0, 1, 2, 3, 4
RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS = 5, 6, 7, 8, 9
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1

error = OSError


class struct_rusage(NamedTuple):
    """What `getrusage` returns: times in seconds; the counters are not kept."""

    ru_utime: float
    ru_stime: float
    ru_maxrss: int = 0
    ru_ixrss: int = 0
    ru_idrss: int = 0
    ru_isrss: int = 0
    ru_minflt: int = 0
    ru_majflt: int = 0
    ru_nswap: int = 0
    ru_inblock: int = 0
    ru_oublock: int = 0
    ru_msgsnd: int = 0
    ru_msgrcv: int = 0
    ru_nsignals: int = 0
    ru_nvcsw: int = 0
    ru_nivcsw: int = 0


_limits: dict[int, tuple[int, int]] = {}


def getrlimit(resource: int, /) -> tuple[int, int]:
    """The soft and the hard limit of a resource: those that `setrlimit` was given, or no limit."""
    _check(resource)
    return _limits.get(resource, (RLIM_INFINITY, RLIM_INFINITY))


def setrlimit(resource: int, limits: tuple[int, int], /) -> None:
    """Refuse: a limit that is not enforced would be worse than none. Raises ValueError.

    Only a limit that changes nothing is accepted.
    """
    _check(resource)
    soft, hard = limits
    if (soft, hard) != getrlimit(resource):
        raise ValueError("limits of the sandbox are set by the host: planaria.Limits")


def getrusage(who: int, /) -> struct_rusage:
    """The processor time of the session; other figures are 0."""
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    used = 0.0 if who == RUSAGE_CHILDREN else time.process_time()
    return struct_rusage(used, 0.0)


def getpagesize() -> int:
    """The size of a page of memory, in bytes."""
    return 65536


def _check(resource: int) -> None:
    if not 0 <= resource <= 15:
        raise ValueError("invalid resource specified")
