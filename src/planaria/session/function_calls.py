"""Calling functions of the host for a session: marked as inside it, traced, what they raise as an answer."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from planaria import telemetry
from planaria.errors import Suspend
from planaria.executors.messages import Answer, Ok, Suspended
from planaria.session.callbacks import Callback, raised
from planaria.session.worker_threads import submit

__all__ = ["Arguments", "FunctionCalls", "Keywords", "calling_back"]

Arguments = tuple[object, ...]
Keywords = Mapping[str, object]

#: The sessions, as ids of their `HostCalls`, inside whose callbacks the present code runs; a session refuses
#: to be entered again from there.
calling_back: Final[contextvars.ContextVar[frozenset[int]]] = contextvars.ContextVar(
    "planaria_calling_back", default=frozenset()
)


class FunctionCalls:
    """Calls functions for one session, whose id is `mark`."""

    def __init__(self, mark: int) -> None:
        self._mark = mark
        self.span = telemetry.NOTHING
        """Of the execution under way."""
        self.threads: set[int] = set()
        """The threads on which plain functions run now."""

    def call(self, callback: Callback, arguments: Arguments, keywords: Keywords) -> Answer:
        """Call a plain function on this thread; what it returns may be an awaitable."""
        try:
            return Ok(self._marked(self._traced(callback), arguments, keywords))
        except Suspend as suspend:
            return Suspended(suspend.reason)
        except (Exception, SystemExit) as error:
            return raised(error)

    def beginning(
        self, callback: Callback, arguments: Arguments, keywords: Keywords
    ) -> Callable[[], Awaitable[object]]:
        """What begins a call in a task: of an asynchronous function there, of a plain one on a thread."""
        traced = self._traced(callback)
        if callback.is_async:
            return partial(_begin_async, self._mark, traced, arguments, keywords)
        return partial(self._begin_on_thread, traced, arguments, keywords)

    def _begin_on_thread(
        self, callback: Callback, arguments: Arguments, keywords: Keywords
    ) -> Awaitable[object]:
        from planaria.session.callback_tasks import result_of  # with anyio, which few sessions need

        return result_of(submit(lambda: self._marked(callback, arguments, keywords)))

    def _marked(self, callback: Callback, arguments: Arguments, keywords: Keywords) -> object:
        """Call a function, marked as inside this session."""
        token = calling_back.set(calling_back.get() | {self._mark})
        here = threading.get_ident()
        self.threads.add(here)
        try:
            return callback.function(*arguments, **keywords)
        finally:
            self.threads.discard(here)
            calling_back.reset(token)

    def _traced(self, callback: Callback) -> Callback:
        if self.span is telemetry.NOTHING:
            return callback
        return replace(
            callback, function=self.span.traced("callback", callback.function, callback=callback.name)
        )


def _begin_async(
    mark: int, callback: Callback, arguments: Arguments, keywords: Keywords
) -> Awaitable[object]:
    # A context variable set in a task stays in that task.
    calling_back.set(calling_back.get() | {mark})
    value = callback.function(*arguments, **keywords)
    assert inspect.isawaitable(value)
    return value
