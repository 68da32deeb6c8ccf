"""What notebooks import and call that needs a front end, a terminal or an operating system."""

from __future__ import annotations

import signal
import sys
import types
from importlib.util import find_spec
from typing import Any, Final, NoReturn

from planaria_kernel.shims.importing import when_imported

__all__ = ["announce_widgets", "install"]

#: The module by which tqdm recognises a notebook in WebAssembly; it is there when a front end shows widgets.
_WIDGETS: Final = "IPython.utils._process_emscripten"


def _change_tqdm(module: Any) -> None:
    """Bars of a notebook are bars of a terminal where there are no widgets."""
    if _WIDGETS in sys.modules and module.IProgress is not None:
        return
    from tqdm import std  # type: ignore[import-untyped]

    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


def announce_widgets() -> None:
    """A notebook's front end is there: have libraries that are imported from now on use widgets, if those are
    installed.
    """
    if find_spec("ipywidgets") is not None:
        sys.modules.setdefault(_WIDGETS, types.ModuleType(_WIDGETS))


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
