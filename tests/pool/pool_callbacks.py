"""Callbacks that the workers of tests import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from planaria import CallbackRegistry, Suspend
from planaria.pool import idempotency_key

registry = CallbackRegistry()


@registry.callback
def approve(amount: int) -> bool:
    """Wait for an approval."""
    raise Suspend("someone has to decide")


@registry.callback
def key() -> str:
    """The key of this call."""
    return idempotency_key()


@registry.callback
def end_once(path: str, status: str) -> str:
    """Note the key of this call in a file; the first time, kill the worker or exit."""
    file = Path(path)
    is_first = not file.exists()
    with file.open("a") as notes:
        notes.write(idempotency_key() + "\n")
    if is_first:
        os.kill(os.getpid(), getattr(signal, status))
    return "there"


@registry.callback
def end() -> None:
    """Kill the worker."""
    os.kill(os.getpid(), signal.SIGKILL)


@registry.callback
def enter(path: str) -> None:
    """Create a file, which must not be there."""
    Path(path).open("x").close()


@registry.callback
def leave(path: str) -> None:
    """Remove that file."""
    Path(path).unlink()


@registry.callback
def meet(place: str) -> int:
    """Wait for a second worker that executes this; how many have come."""
    Path(place, str(os.getpid())).touch()
    while len(os.listdir(place)) < 2:
        time.sleep(0.02)
    return len(os.listdir(place))
