"""The host calls of a session: who is called, how, and what becomes of the answer."""

from __future__ import annotations

import asyncio
import builtins
import inspect
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any

from planaria.errors import LimitError, SessionError, Suspend
from planaria.executors.door import written
from planaria.session.callbacks import Callback, describe_exception
from planaria.session.core import Answer, SessionCore, calling_back
from planaria.session.flight import Flight
from planaria.session.run import HostCall
from planaria.session.threads import submit
from planaria.snapshot.record import WORKSPACE

if TYPE_CHECKING:
    from planaria.workspace.tools.call import Outcome

__all__ = ["HostCalls", "end_tool_calls"]


class HostCalls(SessionCore):
    """Calls from the code to functions of the host."""

    def _admit(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Callback:
        """The callback of that name, counted; raises what the guest shall see instead.

        The kernel has checked the arguments already; but the guest could send anything.
        """
        flight = self._flight
        assert flight is not None
        callback = self._named(name)
        if callback is None:
            if name[:1] == "@" and WORKSPACE in self._missing:
                raise NameError("the session that this snapshot was taken from had a workspace; this has not")
            if name[:1] == "!":
                raise NameError(f"this session has no such command; give it in commands={{{name[1:]!r}: …}}")
            if name in self._missing:
                raise NameError(
                    f"the session that this snapshot was taken from had a callback {name!r}; this has not"
                )
            raise NameError(f"there is no callback {name!r} in this session")
        if self._workspace is not None and not self._workspace.is_noticed(name):
            self._check_arguments(callback, arguments, keywords)
            return callback
        limit = self._limits.callbacks
        if limit is not None and flight.callbacks >= limit:
            called = written(name, arguments)
            message = f"the limit callbacks={limit} of one execution is reached at {called}()"
            flight.failure = flight.failure or LimitError(message, limit="callbacks")
            self._stop(flight)
            raise RuntimeError(f"no more than {limit} callbacks in one execution")
        self._check_arguments(callback, arguments, keywords)
        flight.callbacks += 1
        flight.noticed = True
        return callback

    def _named(self, name: str) -> Callback | None:
        """The function that the kernel calls by this name."""
        match name[:1]:
            case "!":
                return self._commands.get(name[1:])
            case "@":
                return None if self._workspace is None else self._workspace.callback(name)
        return self._callbacks.get(name)

    @staticmethod
    def _check_arguments(callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if callback.signature is not None:
            try:
                callback.signature.bind(*arguments, **keywords)
            except TypeError as error:
                raise TypeError(f"{callback.name}{callback.signature}: {error}") from None

    def _call_plainly(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a plain function, marked as inside this session."""
        token = calling_back.set(calling_back.get() | {id(self)})
        try:
            return callback.function(*arguments, **keywords)
        finally:
            calling_back.reset(token)

    def _runs_here(self, callback: Callback) -> bool:
        """Whether calling it needs no event loop."""
        return not callback.is_async and self._limits.callback_timeout is None

    def _call_here(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        """Call a plain function on this thread; what it returns may be an awaitable. Never raises."""
        try:
            return ("ok", self._call_plainly(callback, arguments, keywords))
        except Suspend as suspend:
            return ("suspend", suspend.reason)
        except Exception as error:
            return ("error", *describe_exception(error))

    async def _call_async(
        self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Answer:
        """Call a function within its time, a plain one on a thread of its own; never raises but Suspend."""
        try:
            if callback.is_async:
                # A context variable set in a task stays in that task.
                calling_back.set(calling_back.get() | {id(self)})
                waiting = callback.function(*arguments, **keywords)
            else:
                waiting = asyncio.wrap_future(
                    submit(lambda: self._call_plainly(callback, arguments, keywords))
                )
            return await self._await(callback, waiting)
        except Suspend as suspend:
            return ("suspend", suspend.reason)
        except Exception as error:
            return ("error", *describe_exception(error))

    async def _await(self, callback: Callback, waiting: Awaitable[Any]) -> Answer:
        """What a function gives that has begun, or gave an awaitable; never raises but when cancelled."""
        try:
            try:
                async with asyncio.timeout(self._limits.callback_timeout) as timeout:
                    value = await waiting
                    if inspect.isawaitable(value):
                        value = await value
                    return ("ok", value)
            except builtins.TimeoutError:
                if not timeout.expired():
                    raise
                bound = self._limits.callback_timeout
                return ("error", "TimeoutError", f"callback {callback.name}() took longer than {bound:g} s")
        except Suspend as suspend:
            return ("suspend", suspend.reason)
        except Exception as error:
            return ("error", *describe_exception(error))

    def _block(self, flight: Flight, called: str, future: Future[Answer]) -> Answer:
        """Wait for an answer while the guest blocks."""
        with flight.waking() as alarm:
            ends: list[Future[Any]] = [alarm, future]
            wait(ends, flight.seconds_left(), FIRST_COMPLETED)
        if future.done():
            return _outcome(future)
        end_tool_calls(flight, "interrupted")
        future.cancel()
        if flight.asked:
            return ("error", "RuntimeError", f"{called}() was interrupted")
        self._executor.interrupt("timeout")
        return ("error", "TimeoutError", f"no time left for {called}()")

    @staticmethod
    def _cannot_suspend(name: str, arguments: tuple[Any, ...]) -> Answer:
        """A call that blocks has a stack, which cannot be put aside."""
        called = written(name, arguments)
        return (
            "error",
            "RuntimeError",
            f"{called}() wants to suspend; only an awaited call can: await {called}(...), in the session's "
            "own code and not in a script that the shell runs",
        )

    def _settle(self, flight: Flight, call: HostCall, answer: Answer) -> None:
        """Feed an answer to the run, unless nobody waits for it any more."""
        run = flight.run
        if call.id not in run.pending:
            return
        match answer:
            case ("ok", value):
                run.resolve(call.id, value)
            case ("error", kind, message, *fields):
                run.reject(call.id, kind, message, *fields)
            case ("suspend", reason):
                flight.suspended[call.id] = reason

    def _on_their_way(self, flight: Flight) -> list[Any]:
        return [answer for one, answer in self._answers.items() if one in flight.run.pending]

    def _collect(self, flight: Flight) -> None:
        """Take the answers that have come; cancel those that nobody awaits any more."""
        pending = flight.run.pending
        if flight.reason is not None:
            end_tool_calls(flight, "interrupted")  # before they are told that they are cancelled
        for identifier, answer in list(self._answers.items()):
            if identifier not in pending:
                answer.cancel()
            elif not answer.done():
                continue
            else:
                self._settle(flight, pending[identifier], _outcome(answer))
            del self._answers[identifier]

    def _take_answer(self, flight: Flight, identifier: int, answer: Answer) -> None:
        """An answer from outside to a call that waits."""
        self._check_in_flight(flight)
        call = flight.run.pending.get(identifier)
        if call is None:
            raise KeyError(f"no call {identifier} is pending; pending: {list(flight.run.pending.values())}")
        reason = flight.suspended.pop(identifier, "")
        if reason and answer[0] == "ok" and self._workspace is not None and call.name == "@tools.call":
            from planaria.workspace.tools.middleware import asks_approval

            if asks_approval(reason):
                # The answer is a decision: what the call gives comes of going on with it.
                self._start_function(flight, call, self._workspace.resuming(answer[1]))
                return
        self._settle(flight, call, answer)

    def _start_call(self, flight: Flight, call: HostCall) -> None:
        """Begin a call that the code awaits; one that is refused raises in the code."""
        try:
            callback = self._admit(call.name, call.args, call.kwargs or {})
        except Exception as error:
            self._settle(flight, call, ("error", *describe_exception(error)))
        else:
            self._start_function(flight, call, callback)

    def _start_function(self, flight: Flight, call: HostCall, callback: Callback) -> None:
        """Have a function answer a call that waits."""
        raise NotImplementedError

    def _check_in_flight(self, flight: Flight) -> None:
        if flight is not self._flight:
            raise SessionError("this execution is over, or the session was taken back to a state without it")


def _outcome(answer: Future[Answer] | asyncio.Task[Answer]) -> Answer:
    """The answer to a call that is no longer on its way."""
    if answer.cancelled():
        return ("error", "RuntimeError", "the call was cancelled on the host")
    return answer.result()


def end_tool_calls(flight: Flight, outcome: Outcome) -> None:
    """Tell of calls of tools that nobody waits for any more how they ended: their answers do not come."""
    running = [call for call in flight.tool_calls if call.outcome == "running"]
    if not running:
        return
    awaited = Counter(call.args[:2] for call in flight.run.pending.values() if call.name == "@tools.call")
    for call in reversed(running):
        target = (call.tool, call.callable)
        if awaited[target] > 0:
            awaited[target] -= 1
        else:
            call.end(outcome)
