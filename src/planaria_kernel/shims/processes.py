"""`multiprocessing` without processes: pools run their work in this one, all else is refused with a message
that says what to do instead.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

from planaria_kernel.shims.importing import when_imported

__all__ = ["NoProcessesError", "install", "refuse", "warn_inline"]

_REFUSED = (
    "Array",
    "Barrier",
    "BoundedSemaphore",
    "Condition",
    "Event",
    "JoinableQueue",
    "Lock",
    "Manager",
    "Pipe",
    "Queue",
    "RLock",
    "RawArray",
    "RawValue",
    "Semaphore",
    "SimpleQueue",
    "Value",
)


class NoProcessesError(NotImplementedError, ImportError):
    """Something needs processes. It is an ImportError too: that is what libraries expect where locks between
    processes are missing, and then they go on without."""


def refuse(what: str) -> NoReturn:
    """Raise the error for something that needs processes."""
    raise NoProcessesError(
        f"{what} needs processes, and the sandbox has none: use a plain loop or "
        "concurrent.futures.ThreadPoolExecutor (its calls run one by one), or a function of the host"
    )


def warn_inline(what: str) -> None:
    """Say that calls run here, one after the other."""
    warnings.warn(
        f"the sandbox has no processes: {what} runs its calls one after the other, in this one",
        RuntimeWarning,
        stacklevel=3,
    )


def _pool(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A pool whose calls run one after the other, in this process."""
    from planaria_kernel.shims.pools import ThreadPool

    warn_inline("multiprocessing.Pool")
    kwargs.pop("maxtasksperchild", None)
    return ThreadPool(*args[:3], **kwargs)


def _refusing(name: str) -> Any:
    def refused(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: there are no processes."""
        refuse(f"multiprocessing.{name}")

    refused.__name__ = name
    return refused


def _change_context(module: Any) -> None:
    for name in _REFUSED:
        setattr(module.BaseContext, name, _refusing(name))
    module.BaseContext.Pool = _pool


def _change_process(module: Any) -> None:
    module.BaseProcess.start = _refusing("Process.start")


def install() -> None:
    """Change `multiprocessing` when it is imported."""
    when_imported("multiprocessing.context", _change_context)
    when_imported("multiprocessing.process", _change_process)
