"""A key by which a callback recognises a call that is made again, after a worker was lost."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps

from planaria.session.callbacks import CallbackRegistry

__all__ = ["CountedCalls", "idempotency_key"]

_KEY: ContextVar[str] = ContextVar("planaria_pool_idempotency_key")


def idempotency_key() -> str:
    """Inside a callback: a key of this call, the same one when its step is executed again.

    It is made of the step and of how many calls the step has made before. Raises LookupError elsewhere.
    """
    return _KEY.get()


class CountedCalls:
    """The callbacks of a worker's sessions, which count their calls in the present step."""

    def __init__(self, callbacks: CallbackRegistry) -> None:
        self._step = ""
        self._numbers: Iterator[int] = itertools.count(1)
        self.registry = CallbackRegistry(
            replace(callback, function=self._counted(callback.function)) for callback in callbacks
        )

    def begin(self, step: str) -> None:
        """Count from one again, for the step with that identifier."""
        self._step = step
        self._numbers = itertools.count(1)

    def _counted(self, function: Callable[..., object]) -> Callable[..., object]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def counted_async(*args: object, **kwargs: object) -> object:
                _KEY.set(f"{self._step}-{next(self._numbers)}")
                return await function(*args, **kwargs)

            return counted_async

        @wraps(function)
        def counted(*args: object, **kwargs: object) -> object:
            _KEY.set(f"{self._step}-{next(self._numbers)}")
            return function(*args, **kwargs)

        return counted
