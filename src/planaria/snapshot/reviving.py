"""Bringing the state of a snapshot to life in an executor."""

from __future__ import annotations

import time
from typing import Final

from planaria.errors import ProtocolError
from planaria.executors.wasm import TierNeeded, WasmExecutor, WasmState
from planaria.limits import Guard, Stopped
from planaria.runtime.artifact import artifact

__all__ = ["revive"]

#: Seconds for a command that runs no code of the user's.
_PATIENCE: Final = 60.0
_MODULES: Final = "list(__import__('sys').modules)"


def revive(executor: WasmExecutor, state: WasmState, tier: str) -> None:
    """Have `executor` become `state`, which ran on `tier`; it moves up to the full tier when that is needed.

    A state from the full tier can go on on the core tier as long as it has loaded nothing that is missing
    there: the kernel is asked. Raises what `WasmExecutor.restore` raises; the executor is then in neither
    state.
    """
    executor.restore(state)
    if tier == "full" and executor.tier == "core":
        needed = _needs_full(executor)
        executor.restore(state)  # as if it had not been asked
        if needed:
            executor.move_up()


def _needs_full(executor: WasmExecutor) -> bool:
    try:
        report = executor.enter(("evaluate", _MODULES), Guard(deadline=time.monotonic() + _PATIENCE)).report
    except (Stopped, TierNeeded, ProtocolError):
        return True
    match report:
        case ("answer", list(modules)):
            return any(not isinstance(name, str) or artifact().needs_full(name) for name in modules)
    return True
