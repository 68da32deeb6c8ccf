"""Standard output of one thread, taken aside while the other threads go on writing to the host's.

While an execution of an in-process kernel runs, `sys.stdout` and `sys.stderr` are switches that pass
everything on to the very streams that stood there, except what code of a captured context writes. They stand
there only so long.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from planaria_kernel.execution.streams import Streams

__all__ = ["captured", "switched"]

#: What takes the output of the present context; asyncio's tasks and `asyncio.to_thread` pass it on.
captured: Final[ContextVar[Streams | None]] = ContextVar("planaria_captured", default=None)


class _Switch:
    """A stream that is, for each context, the captured one or the host's."""

    def __init__(self, name: str, original: Any) -> None:
        self.__dict__.update(_name=name, _original=original)

    def _stream(self) -> Any:
        streams = captured.get()
        return self._original if streams is None else getattr(streams, self._name)

    def write(self, text: str, /) -> Any:
        return self._stream().write(text)

    def flush(self) -> None:
        self._stream().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._stream(), name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream())

    def __enter__(self) -> Any:
        return self._stream().__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._stream().__exit__(*error)

    def __repr__(self) -> str:
        return repr(self._stream())


_lock = threading.Lock()
_inside = 0
_switches: dict[str, _Switch] = {}


@contextmanager
def switched() -> Iterator[None]:
    """Let captured contexts write to their own streams meanwhile."""
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            for name in ("stdout", "stderr"):
                _switches[name] = switch = _Switch(name, getattr(sys, name))
                setattr(sys, name, switch)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for name, switch in _switches.items():
                    if getattr(sys, name) is switch:  # else somebody has put another there meanwhile
                        setattr(sys, name, switch._original)
                _switches.clear()
