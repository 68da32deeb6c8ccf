"""Whether there is memory for a compile, which the system would otherwise end without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from planaria.runtime.compiler import Tier

__all__ = ["MEMORY_NEEDED", "available_memory", "shortage"]

#: What compiling takes at most, in bytes.
MEMORY_NEEDED: Final = {Tier.CORE: 1_100_000_000, Tier.FULL: 2_300_000_000}

#: The limit of a control group, what it uses, and the line of memory.stat with what could be dropped of that.
_VERSION_2: Final = ("memory.max", "memory.current", "inactive_file")
_VERSION_1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(system: Path = Path("/")) -> int | None:
    """What processes may still take, in bytes; None where the system does not say (it is not Linux).

    That is what the kernel estimates (MemAvailable of proc_meminfo(5)) and the free swap, or what the limits
    of the control groups leave that this process is in (cgroups(7), either version), such as those of a
    container, if that is less.
    """
    try:
        lines = (system / "proc/meminfo").read_text("ascii").splitlines()
        facts = {
            name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)
        }
        available = facts["MemAvailable"] + facts.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return min([available, *_left_by_groups(system)])


def _left_by_groups(system: Path) -> Iterator[int]:
    """What each control group with a limit leaves, in bytes."""
    version_2, version_1 = PurePosixPath("/"), PurePosixPath("/")
    try:
        for line in (system / "proc/self/cgroup").read_text("utf-8", "replace").splitlines():
            _, controllers, place = line.split(":", 2)
            if not controllers:
                version_2 = PurePosixPath(place)
            elif "memory" in controllers.split(","):
                version_1 = PurePosixPath(place)
    except (OSError, ValueError):
        pass  # what is mounted at the top is that of this process, or of all
    top = system / "sys/fs/cgroup"
    for path, root, names in ((version_2, top, _VERSION_2), (version_1, top / "memory", _VERSION_1)):
        for group in (path, *path.parents):
            if (left := _left(root / group.relative_to("/"), *names)) is not None:
                yield left


def _left(group: Path, limit: str, used: str, cached: str) -> int | None:
    """What a group leaves; None where it has no limit, or is not there."""
    try:
        most, taken = (int((group / name).read_text("ascii")) for name in (limit, used))
        for line in (group / "memory.stat").read_text("ascii").splitlines():
            name, _, number = line.partition(" ")
            if name == cached:  # files, which are dropped when memory is wanted
                taken -= int(number)
    except (OSError, ValueError):  # "max" is not a number
        return None
    return max(0, most - taken)


def shortage(tier: Tier, system: Path = Path("/")) -> str | None:
    """A sentence for the user when compiling a tier takes more memory than there is, None otherwise."""
    available = available_memory(system)
    if available is None or available >= MEMORY_NEEDED[tier]:
        return None
    return (
        f"compiling the {tier.value} runtime takes {MEMORY_NEEDED[tier] / 1e9:.1f} GB of memory, and "
        f"{available / 1e9:.1f} GB are available; `planaria setup --import` takes it from a file of a larger "
        "machine"
    )
