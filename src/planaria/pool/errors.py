"""What goes wrong with a pool rather than with code in its sessions."""

from __future__ import annotations

from planaria.errors import PlanariaError

__all__ = ["PoolError", "WorkerLost"]


class PoolError(PlanariaError):
    """A pool cannot do what it was asked for."""


class WorkerLost(PoolError):
    """The workers that took a step ended before it was saved: the session is in the state before the step.

    Callbacks that the step made may have had their effects.
    """
