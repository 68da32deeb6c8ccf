"""Operations that may be called plainly or awaited, written once.

An operation is a generator: it yields the calls of the host that it needs and is sent their answers. A plain
call of it blocks for each answer and returns what the generator returns; an awaited one is a coroutine, which
parks like any awaited call of the host.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

from planaria_kernel.namespaces.awaiting import is_awaited

__all__ = ["Awaited", "Blocking", "Host", "Steps", "operation"]

Blocking = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
Awaited = Callable[[str, tuple[Any, ...], dict[str, Any]], Coroutine[Any, Any, Any]]

Result = TypeVar("Result")
#: The calls of the host that an operation makes: (name, arguments) each.
Steps = Generator[tuple[str, tuple[Any, ...]], Any, Result]


class Host:
    """Both ways to call the host."""

    def __init__(self, blocking: Blocking, awaited: Awaited) -> None:
        self.blocking = blocking
        self.awaited = awaited

    def plainly(self, steps: Steps[Result]) -> Result:
        """Take an operation to its end, blocking."""
        try:
            name, arguments = next(steps)
            while True:
                try:
                    answer = self.blocking(name, arguments, {})
                except Exception as error:
                    name, arguments = steps.throw(error)
                else:
                    name, arguments = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    async def awaiting(self, steps: Steps[Result]) -> Result:
        """Take an operation to its end, parking while the host answers."""
        try:
            name, arguments = next(steps)
            while True:
                try:
                    answer = await self.awaited(name, arguments, {})
                except Exception as error:
                    name, arguments = steps.throw(error)
                else:
                    name, arguments = steps.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


def operation(method: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    """Make a method that is a generator, of an object with a `_host`, one to be called plainly or awaited."""

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        steps = method(self, *args, **kwargs)
        if is_awaited(sys._getframe(1)):
            return self._host.awaiting(steps)
        return self._host.plainly(steps)

    signature = inspect.signature(method)
    call.__signature__ = signature.replace(return_annotation=signature.empty)  # type: ignore[attr-defined]
    return call
