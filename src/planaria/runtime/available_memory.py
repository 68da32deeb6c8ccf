"""Whether there is memory for a compile, which the system would otherwise end without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planaria.runtime.compiler import Tier

__all__ = ["MEMORY_NEEDED", "available_memory", "shortage"]

#: What compiling takes at most, in bytes.
MEMORY_NEEDED: Final = {Tier.CORE: 1_100_000_000, Tier.FULL: 2_300_000_000}


def available_memory(system: Path = Path("/")) -> int | None:
    """What processes may still take, in bytes; None where the system does not say (it is not Linux).

    That is what the kernel estimates (MemAvailable of proc_meminfo(5)) and the free swap, or what the limit
    of a container leaves (memory.max of control groups, version 2) if that is less.
    """
    try:
        lines = (system / "proc/meminfo").read_text("ascii").splitlines()
        facts = {
            name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)
        }
        available = facts["MemAvailable"] + facts.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        return None
    group = system / "sys/fs/cgroup"
    try:
        limit = int((group / "memory.max").read_text("ascii"))
        used = int((group / "memory.current").read_text("ascii"))
        for line in (group / "memory.stat").read_text("ascii").splitlines():
            name, _, number = line.partition(" ")
            if name == "inactive_file":  # a cache, which is dropped when memory is wanted
                used -= int(number)
    except (OSError, ValueError):  # there is no limit
        return available
    return min(available, max(0, limit - used))


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
