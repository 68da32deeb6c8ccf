"""Bringing the state of a snapshot to life in an executor."""

from __future__ import annotations

import time
from typing import Final

from planaria.errors import SessionError, SnapshotMismatch
from planaria.executors.executor import Executor
from planaria.executors.messages import Answered, Command, Done, Failed, Query
from planaria.executors.wasm_state import WasmState
from planaria.limits import Guard
from planaria.runtime.artifact import artifact

__all__ = ["ask", "revive"]

#: Seconds in which a kernel has to answer; forged memory may keep it busy forever.
PATIENCE = 10.0
_MODULES: Final = "list(__import__('sys').modules)"


def revive(executor: Executor, state: WasmState, tier: str) -> None:
    """Have `executor` become `state`, which ran on `tier`; it moves up to the full tier when that is needed.

    A state from the full tier can go on on the core tier as long as it has loaded nothing that is missing
    there: the kernel is asked. Raises SnapshotError; the executor is then in neither state.
    """
    snapshots = executor.snapshots
    if snapshots is None:
        raise executor.missing("snapshot")
    try:
        snapshots.restore(state)
        if tier == "full" and executor.tier == "core":
            needed = _needs_full(executor)
            snapshots.restore(state)  # as if it had not been asked
            if needed:
                snapshots.move_up()
    except SessionError as error:
        raise SnapshotMismatch(f"this snapshot cannot be restored here: {error}") from error


def _needs_full(executor: Executor) -> bool:
    try:
        modules = ask(executor, Query("evaluate", (_MODULES,)))
    except SnapshotMismatch:
        return True
    return not isinstance(modules, list) or any(
        not isinstance(name, str) or artifact().needs_full(name) for name in modules
    )


def ask(executor: Executor, command: Command) -> object:
    """The answer of a kernel that may be anything. Raises SnapshotMismatch when it has none."""
    try:
        report = executor.enter(command, Guard(deadline=time.monotonic() + PATIENCE)).report
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise SnapshotMismatch(f"this snapshot cannot be started: {error}") from error
    match report:
        case Done():
            return None
        case Answered(answer):
            return answer
        case Failed(kind, message):
            raise SnapshotMismatch(f"this snapshot cannot be started: {kind}: {message}")
    raise SnapshotMismatch(f"this snapshot cannot be started: its kernel reported {type(report).__name__}")
