"""Everything a session at rest is, as values of this process; `planaria.snapshot.encode` turns it into
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from planaria.executors.messages import HostCall
from planaria.executors.wasm_state import LoggedState, WasmState
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


class SessionState:
    """Everything a session at rest is; not to be changed."""

    __slots__ = ("_kernel", "_parts", "count", "pending", "run")

    def __init__(
        self,
        kernel: WasmState | LoggedState,
        count: int,
        pending: tuple[HostCall, ...] = (),
        run: WaitingRun | None = None,
    ) -> None:
        self._kernel = kernel
        self._parts: dict[int, int] | None = None
        self.count = count
        #: Calls that tasks which outlived their execution wait for.
        self.pending = pending
        self.run = run

    @property
    def kernel(self) -> WasmState:
        """The kernel's state. One that is logged is written down when it is first asked for: few are."""
        kernel = self._kernel
        if isinstance(kernel, LoggedState):
            kernel = self._kernel = kernel.state()
        return kernel

    @property
    def parts(self) -> dict[int, int]:
        """What this state holds beyond the image it is made from: the identity of each page and file of
        memory, and its size in bytes. States that share memory have parts in common.
        """
        if self._parts is None:
            self._parts = dict.fromkeys(map(id, self.kernel.pages.values()), PAGE_BYTES)
            self._parts.update(self.kernel.memory.parts())
        return self._parts
