"""What goes wrong with a pool rather than with code in its sessions."""

from __future__ import annotations

from planaria.errors import PlanariaError

__all__ = ["NameInUse", "OutcomeUnknown", "PoolError", "SaveUncertain", "WorkerLost"]


class PoolError(PlanariaError):
    """A pool cannot do what it was asked for."""

    __module__ = "planaria.pool"


class WorkerLost(PoolError):
    """The workers that took a step ended before it was saved: the session is in the state before the step.

    Callbacks that the step made may have had their effects.
    """

    __module__ = "planaria.pool"


class OutcomeUnknown(PoolError):
    """It is not known whether a step had its effect, since the store could not be reached any more.

    It had it once or not at all: look at the session when the store is there again.
    """

    __module__ = "planaria.pool"


class SaveUncertain(OutcomeUnknown):
    """The store failed while a state was saved. A pool finds out when the store is there again."""


class NameInUse(PoolError):
    """Another worker executes a step of the same name. A pool waits and tries again."""
