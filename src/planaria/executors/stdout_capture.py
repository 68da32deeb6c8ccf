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
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from types import TracebackType

from planaria_kernel.execution.streams import Streams

__all__ = ["captured", "switched"]

#: What takes the output of the present context; asyncio's tasks and `asyncio.to_thread` pass it on.
captured: Final[ContextVar[Streams | None]] = ContextVar("planaria_captured", default=None)


class _Switch:
    """A stream that is, for each context, the captured one or the host's."""

    _name: str
    _original: TextIO

    def __init__(self, name: str, original: TextIO) -> None:
        self.__dict__.update(_name=name, _original=original)

    def _stream(self) -> TextIO:
        streams = captured.get()
        if streams is None:
            return self._original
        return streams.stdout if self._name == "stdout" else streams.stderr

    def write(self, text: str, /) -> int:
        return self._stream().write(text)

    def flush(self) -> None:
        self._stream().flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._stream(), name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream())

    def __enter__(self) -> TextIO:
        return self._stream().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream().__exit__(kind, error, trace)

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
                    if getattr(sys, name) is switch:  # else it was replaced meanwhile
                        setattr(sys, name, switch._original)
                _switches.clear()
