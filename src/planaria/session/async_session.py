"""The session with `await`: the same methods as `Session` in the same order."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from planaria.errors import Suspended
from planaria.executors.door import written
from planaria.executors.variables import Variables
from planaria.executors.wasm import WasmExecutor
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.analysis import ScriptAnalysis
from planaria.session.arguments import as_input
from planaria.session.base import Answer
from planaria.session.callbacks import Callback, describe_exception
from planaria.session.execution import AsyncExecution
from planaria.session.flight import Flight
from planaria.session.result import Completions, Result
from planaria.session.run import HostCall
from planaria.session.threads import submit
from planaria.session.workspace import AsyncWorkspaceSession
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

__all__ = ["AsyncSession"]

T = TypeVar("T")


class AsyncSession(AsyncWorkspaceSession):
    """Python in a sandbox, alive between calls, for use under asyncio.

    The sandbox runs on a thread beside the event loop. Asynchronous callbacks run on the loop that awaits the
    execution, plain ones on threads; calls awaited together run together. Cancelling the task that awaits an
    execution interrupts the code and keeps the session.
    """

    def _starts_at_once(self) -> bool:
        return isinstance(self._executor, WasmExecutor)

    def _prepare(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Answers on their way, by the id of their call.
        self._answers: dict[int, asyncio.Task[Answer]] = {}

    # -- executing ------------------------------------------------------------------------------------

    async def run(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code`; what it raises is in the result's `error`. See `Session.run`."""
        async with self._turn():
            flight = self._begin(code, timeout, name)
            return await self._advance(flight, sleep=True)

    async def execute(self, code: str, *, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error: ExecutionError, TimeoutError, LimitError …"""
        result = await self.run(code, timeout)
        if result.error is not None:
            raise result.error
        if result.suspended:
            names = ", ".join(f"{call.name}()" for call in result.suspended)
            raise Suspended(f"the execution waits for {names}; see session.run_in_progress", result.suspended)
        return result

    async def bash(
        self,
        script: str,
        timeout: float | NotGiven | None = NOT_GIVEN,
        *,
        stdin: str | bytes = b"",
    ) -> Result:
        """Run a script in the session's shell, which lasts from one call to the next.

        An exit status that is not 0 is no error: it is the result's `exit_code`. Raises TimeoutError and the
        other errors of a stopped execution, TypeError when `stdin` is neither text nor bytes.
        """
        async with self._turn():
            self._executor.require("shell")
            data = as_input(stdin)
            flight = self._begin(script, timeout, stdin=data)
            result = await self._advance(flight, sleep=True)
        if result.error is not None:
            raise result.error
        return result

    async def analyze(self, script: str) -> ScriptAnalysis:
        """Tell what a script for the shell names; see `Session.analyze`."""
        async with self._turn():
            return await self._in_thread(lambda: self._analyze(script))

    @overload
    async def start(self) -> None: ...

    @overload
    async def start(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> AsyncExecution: ...

    async def start(
        self, code: str | None = None, timeout: float | NotGiven | None = NOT_GIVEN
    ) -> AsyncExecution | None:
        """Begin to execute `code` and return when it is over or waits.

        Without `code`, only make the session ready; see `Session.start`.

        Callbacks are called as in `run`; one that raises `Suspend` leaves its call pending, for
        `Execution.resolve`. While the execution waits the session can be captured, forked and closed.
        """
        async with self._turn():
            if code is None:
                return None
            flight = self._begin(code, timeout)
            await self._advance(flight, sleep=False)
            return AsyncExecution(self, flight)

    @property
    def run_in_progress(self) -> AsyncExecution | None:
        """The execution that waits in this session, if one does."""
        return None if self._flight is None else AsyncExecution(self, self._flight)

    async def _advance(self, flight: Flight, *, sleep: bool) -> Result:
        """Drive an execution as far as it goes; the result so far."""
        try:
            await self._drive(flight, sleep)
        except BaseException as error:
            self._abandon(flight, error)
            raise
        return self._finish(flight) if flight.run.is_over else self._suspended_result(flight)

    async def _go_on(self, flight: Flight, *, sleep: bool) -> None:
        async with self._turn():
            self._check_in_flight(flight)
            flight.go_on()
            await self._advance(flight, sleep=sleep)

    async def _answer(self, flight: Flight, identifier: int, answer: Answer) -> None:
        async with self._turn():
            self._take_answer(flight, identifier, answer)
            flight.go_on()
            await self._advance(flight, sleep=False)

    async def _cancel(self, flight: Flight) -> Result:
        async with self._turn():
            self._check_in_flight(flight)
            flight.go_on()
            flight.stop("interrupt")
            return await self._advance(flight, sleep=True)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Hold the session: from another task wait for it, from its own callback be refused."""
        self._check_open()
        self._check_not_calling_back()
        loop = asyncio.get_running_loop()
        if loop is not self._loop and not self._lock.locked():
            self._lock = asyncio.Lock()  # the old one belongs to a loop that has ended
        async with self._lock:
            self._make_ready()
            self._loop = loop
            if not self._is_ready:
                await self._in_thread(self._get_ready)
            yield

    async def _drive(self, flight: Flight, sleep: bool) -> None:
        """Take the execution as far as it goes: to its end, or until only suspended calls could help.

        Without `sleep` also until only a timer could.
        """
        run = flight.run
        cancelled: asyncio.CancelledError | None = None
        while not run.is_over:
            try:
                if run.can_step:
                    calls, cancelled_meanwhile = await self._finish_in_thread(lambda: self._enter(flight))
                    for call in calls:
                        self._start_call(flight, call)
                    if cancelled_meanwhile is not None:
                        raise cancelled_meanwhile
                elif self._parks(flight, sleep):
                    return
                else:
                    await self._wait(flight)
            except asyncio.CancelledError as error:
                cancelled = error
                if flight.reason is None:
                    flight.stop("interrupt")
            self._collect(flight)
            if not run.is_over:
                self._look_at_clock(flight)
        if cancelled is not None:
            try:
                self._finish(flight)
            except BaseException as error:
                raise cancelled from error
            raise cancelled

    def _after_fork(self) -> None:
        if self._lock.locked() or not self._executor.is_copied_by_fork:
            self._lose_flight()
        self._lock = asyncio.Lock()
        self._loop = None
        self._answers = {}

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """Call `function` on a thread. When this task is cancelled, the guest is interrupted and waited
        for.
        """
        result, cancelled = await self._finish_in_thread(function)
        if cancelled is not None:
            raise cancelled
        return result

    async def _finish_in_thread(self, function: Callable[[], T]) -> tuple[T, asyncio.CancelledError | None]:
        """As `_in_thread`; a cancellation is returned beside the result."""
        future = asyncio.wrap_future(submit(function))
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                cancelled = error
                self.interrupt()
        return future.result(), cancelled

    async def _wait(self, flight: Flight) -> None:
        """Wait for an answer, a timer of the code's, or the end of the time."""
        seconds = flight.seconds_left()
        with flight.waking() as alarm:
            await asyncio.wait(
                [asyncio.wrap_future(alarm), *self._on_their_way(flight)],
                timeout=seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )

    async def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand at `cursor` (by default the end) in `text`, from the live session.

        Nothing of the user's is run for it.
        """
        async with self._turn():
            return await self._in_thread(lambda: self._complete(text, cursor))

    # -- callbacks --------------------------------------------------------------------------------------

    def _start_function(self, flight: Flight, call: HostCall, callback: Callback) -> None:
        keywords = call.kwargs or {}
        self._answers[call.id] = asyncio.ensure_future(self._call_async(callback, call.args, keywords))

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        """A call for which the guest blocks (see `executors.Host`); comes on the sandbox's thread."""
        flight, loop = self._flight, self._loop
        assert flight is not None
        assert loop is not None
        try:
            callback = self._admit(name, arguments, keywords)
        except Exception as error:
            return ("error", *describe_exception(error))
        called = written(name, arguments)
        if self._runs_here(callback):
            # On a thread beside, so that it can be given up; the loop is only asked when there is a need.
            answer = self._block(
                flight, called, submit(lambda: self._call_here(callback, arguments, keywords))
            )
            waiting = self._await(callback, answer[1]) if inspect.isawaitable(answer[1]) else None
        else:
            waiting = self._call_async(callback, arguments, keywords)
        if waiting is not None:
            answer = self._block(flight, called, asyncio.run_coroutine_threadsafe(waiting, loop))
        if answer[0] == "suspend":
            return self._cannot_suspend(name, arguments)
        return answer

    # -- state ----------------------------------------------------------------------------------------

    async def clear_state(self) -> None:
        """Forget all variables; modules, files and this instance stay."""
        async with self._turn():
            await self._in_thread(self._clear)

    async def reset(self) -> None:
        """Begin afresh with a new instance; files stay."""
        async with self._turn():
            await self._in_thread(self._reset)

    async def fork(self, n: int = 1, *, reseed: bool = True) -> list[Self]:
        """`n` living copies of this session; memory and files are shared until they change.

        With `reseed`, `random`, numpy's global generator and temporary names do not repeat between copies.
        """
        async with self._turn():
            return self._fork(n, reseed)

    async def checkpoint(self, label: str) -> None:
        """Keep the present state under `label`, for `rewind`; an older one of that label is replaced."""
        async with self._turn():
            self._mark(label)

    async def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint; see `Session.rewind`."""
        async with self._turn():
            self._rewind(place)

    async def undo(self, n: int = 1) -> None:
        """Make the last `n` executions never have happened; `redo` takes it back."""
        async with self._turn():
            self._undo(n)

    async def redo(self) -> None:
        """Take back an `undo`, as long as nothing was executed since."""
        async with self._turn():
            self._redo()

    # -- snapshots -------------------------------------------------------------------------------------

    async def snapshot_state(
        self, *, parent: Snapshot | None = None, key: bytes | str | None = None
    ) -> Snapshot:
        """The whole present state as a value; see `Session.snapshot_state`."""
        async with self._turn():
            return await self._in_thread(lambda: self._snapshot(parent, key))

    async def restore_state(
        self,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
    ) -> None:
        """Become what a snapshot is; see `Session.restore_state`."""
        async with self._turn():
            await self._in_thread(lambda: self._restore_snapshot(snapshot, key, missing, reseed))

    async def pickle_variables(self) -> Variables:
        """The user's variables by `cloudpickle`; see `Session.pickle_variables`."""
        async with self._turn():
            return await self._in_thread(self._pickle_variables)

    async def unpickle_variables(self, variables: Variables | bytes) -> None:
        """Take variables in place of the present ones; see `Session.unpickle_variables`."""
        async with self._turn():
            await self._in_thread(lambda: self._unpickle_variables(variables))

    async def save_as_image(self, name: str) -> Image:
        """Make the present state an image; see `Session.save_as_image`."""
        async with self._turn():
            return await self._in_thread(lambda: self._save_as_image(name))

    def _drop_answers(self) -> None:
        for answer in self._answers.values():
            if self._loop is not None and not self._loop.is_closed():  # this may be a thread of the sandbox's
                self._loop.call_soon_threadsafe(answer.cancel)
        self._answers.clear()

    async def close(self) -> None:
        """Give the sandbox back. Closing twice is harmless; anything else afterwards is SessionClosed."""
        self._check_not_calling_back()
        async with self._lock:
            if self._workspace is None and isinstance(self._executor, WasmExecutor):
                self._close()
            else:  # servers and processes take their time
                await self._in_thread(self._close)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
