"""What a child of a fork of this process does, in the order in which it is done.

A forked child has only the thread that forked: threads, locks that others held, and the processes and event
loops that belong to the parent have to be forgotten. Modules register what they do with `in_forked_child`
under the name of a stage; the stages run in the order of `STAGES`, from the engine upwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Literal

__all__ = ["STAGES", "in_forked_child"]

Stage = Literal["runtime", "ticker", "clock", "threads", "executors", "sessions", "tools"]

STAGES: Final[tuple[Stage, ...]] = (
    "runtime",  # compilations and the engine's callbacks
    "ticker",  # the thread that interrupts guests
    "clock",  # time that passed in the parent
    "threads",  # worker threads and event loops
    "executors",  # processes and containers are left to the parent
    "sessions",  # what is in flight is lost, locks are free
    "tools",  # clients and servers of tools
)

_hooks: Final[dict[Stage, list[Callable[[], object]]]] = {stage: [] for stage in STAGES}


def in_forked_child(stage: Stage) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Have a function called in every child of a fork, at its stage."""

    def register(function: Callable[[], object]) -> Callable[[], object]:
        _hooks[stage].append(function)
        return function

    return register


def _in_child() -> None:
    for stage in STAGES:
        for function in list(_hooks[stage]):
            function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
