"""Durations of `sleep` and `timeout`, and waiting for them."""

from __future__ import annotations

import re
import time
from collections.abc import Generator

from planaria_shell.toolkit.invocation import Invocation

__all__ = ["SLICE", "UNITS", "duration", "pause"]


UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


#: A sleep is made of pieces this long, so that an interrupt comes through between them.
SLICE = 0.05


def duration(text: str) -> float | None:
    """Seconds of `1.5`, `2m`, `inf`, None when it is none."""
    match = re.fullmatch(r"(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|inf(?:inity)?)([smhd]?)", text, re.IGNORECASE)
    if match is None:
        return None
    return float(match[1]) * UNITS[match[2]]


def pause(call: Invocation, seconds: float) -> Generator[None, None, None]:
    """Let time pass; a process with a method `pause(seconds)` knows what can be done meanwhile."""
    pause = getattr(call.process, "pause", None)
    if pause is not None:
        yield from pause(seconds)
        return
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, SLICE))
        yield
