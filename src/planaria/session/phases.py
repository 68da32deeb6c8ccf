"""How far a session and its executions are."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["Phase", "Step"]


class Phase(Enum):
    """How far a session is from being usable."""

    NEW = auto()
    """The kernel does not run yet."""
    STARTED = auto()
    """The kernel runs; the dependencies have to be installed before anything is executed."""
    READY = auto()
    BROKEN = auto()
    """The kernel is gone, and is brought back from a checkpoint before the session is used again."""
    CLOSED = auto()


class Step(Enum):
    """What an execution needs next from the session that drives it."""

    ENTER = auto()
    """Call `SessionEngine.enter`, which blocks."""
    WAIT = auto()
    """Wait for the alarm of its host calls, at most `ExecutionState.seconds_left`."""
    PAUSE = auto()
    """Leave it alone: only `Execution.resolve` and the like could get it further."""
    OVER = auto()
