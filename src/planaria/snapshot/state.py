"""Everything a session at rest is, as values of this process; `planaria.snapshot.encode` turns it into
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from planaria.executors.messages import HostCall
from planaria.executors.wasm_state import WasmState
from planaria.machine.memory import PAGE_BYTES

__all__ = ["SessionState", "WaitingRun"]


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """An execution that waits: what the host has to know of it beside the kernel's memory."""

    source: str
    count: int
    pending: tuple[HostCall, ...]
    suspended: dict[int, str]
    wake_in: float | None
    """Seconds until the next timer at the moment of capture."""
    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True)
class SessionState:
    """Everything a session at rest is."""

    kernel: WasmState
    count: int
    pending: tuple[HostCall, ...] = ()
    """Calls that tasks which outlived their execution wait for."""
    run: WaitingRun | None = None

    @cached_property
    def parts(self) -> dict[int, int]:
        """What this state holds beyond the image it is made from: the identity of each page and file of
        memory, and its size in bytes. States that share memory have parts in common.
        """
        parts = dict.fromkeys(map(id, self.kernel.pages.values()), PAGE_BYTES)
        parts.update(self.kernel.memory.parts())
        return parts
