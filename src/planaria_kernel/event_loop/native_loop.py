"""The event loop of a kernel outside the sandbox, where there are sockets, processes and threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from planaria_kernel.event_loop.loop import HostCalls, ParkingLoop

__all__ = ["NativeLoop"]

#: An interrupt that comes while the loop selects is noticed after so many seconds at most.
_SLICE: Final = 0.05
#: While host calls are open and something else may come too, that is looked at so often (seconds).
_GLANCE: Final = 0.01


class NativeLoop(ParkingLoop, asyncio.SelectorEventLoop):
    """Parks as the sandbox's loop does when only the host or a timer can get it further; else it selects."""

    _default_executor: Any
    _selector: Any

    def __init__(self, calls: HostCalls, block: Callable[[int], None]) -> None:
        super().__init__(calls, block)
        #: What the selector has by itself: the end of the pipe that wakes it.
        self._own = len(self._selector.get_map())

    def poll(self, seconds: float) -> None:
        self._process_events(self._selector.select(seconds))  # type: ignore[attr-defined]

    def wait(self, seconds: float | None) -> None:
        self.poll(_SLICE if seconds is None else min(seconds, _SLICE))

    def lasting(self, seconds: float | None) -> tuple[bool, float | None]:
        called = self._calls.any_of(self)
        elsewhere = len(self._selector.get_map()) > self._own or self._default_executor is not None
        if not elsewhere and (called or seconds is not None):
            return False, seconds
        if called:
            return False, _GLANCE if seconds is None else min(seconds, _GLANCE)
        return True, seconds
