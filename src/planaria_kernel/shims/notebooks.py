"""What notebooks import and call that needs a front end, a terminal or an operating system."""

from __future__ import annotations

import signal
from typing import Any, NoReturn

from planaria_kernel.shims.importing import when_imported

__all__ = ["install"]


def _change_tqdm(module: Any) -> None:
    """Bars of a notebook are bars of a terminal: there are no widgets."""
    from tqdm import std  # type: ignore[import-untyped]

    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


def _alarm(seconds: int, /) -> int:
    """Refused, but for 0, which cancels an alarm: there is none."""
    if seconds:
        _no_timer()
    return 0


def _setitimer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]:
    """Refused, but for 0, which stops a timer: there is none."""
    if seconds:
        _no_timer()
    return (0.0, 0.0)


def _getitimer(which: int, /) -> tuple[float, float]:
    """The time that is left of a timer: there is none."""
    return (0.0, 0.0)


def _no_timer() -> NoReturn:
    raise OSError("the sandbox has no alarm signal: run the code with timeout=, or use asyncio.timeout()")


def install() -> None:
    """Put this in place, for modules when they are imported."""
    when_imported("tqdm.notebook", _change_tqdm)
    if not hasattr(signal, "alarm"):
        for name, function in (("alarm", _alarm), ("setitimer", _setitimer), ("getitimer", _getitimer)):
            function.__name__ = function.__qualname__ = name
            setattr(signal, name, function)
        for number, name in enumerate(("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")):
            setattr(signal, name, number)
        signal.ItimerError = OSError  # type: ignore[misc,assignment]
