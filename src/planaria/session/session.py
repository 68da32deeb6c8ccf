"""The session without `await`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from types import TracebackType
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from planaria.errors import Suspend
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.base import Answer, BaseSession, Flight
from planaria.session.callbacks import Callback, describe_exception
from planaria.session.result import Result
from planaria.session.run import HostCall
from planaria.snapshot.requirements import Missing
from planaria.snapshot.snapshot import Snapshot

__all__ = ["Session"]


class Session(BaseSession):
    """Python in a sandbox, alive between calls.

    May be used from any thread; one execution at a time, others wait for their turn. Plain callbacks run on
    the thread that executes (see `Limits.callback_timeout`), asynchronous ones on an event loop that the session
    keeps for them.
    """

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._portal: BlockingPortal | None = None
        self._exit = contextlib.ExitStack()
        #: Answers on their way, by the id of their call.
        self._answers: dict[int, Future[Answer]] = {}

    # -- executing ------------------------------------------------------------------------------------

    def run(self, code: str, timeout: float | None | NotGiven = NOT_GIVEN) -> Result:
        """Execute `code`; what it raises is in the result's `error`.

        `timeout` is in seconds, None for no bound; not given, the session's limit holds. Raises only for
        misuse (SessionClosed, SessionBusy, TypeError, ValueError), KeyboardInterrupt after Ctrl-C, and what an
        `on_stdout` function of yours raised.
        """
        with self._turn():
            flight = self._begin(code, timeout)
            self._drive(flight)
            return self._finish(flight)

    def execute(self, code: str, *, timeout: float | None | NotGiven = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error: ExecutionError, TimeoutError, LimitError …"""
        result = self.run(code, timeout)
        if result.error is not None:
            raise result.error
        return result

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the session: from another thread wait for it, from its own callback be refused."""
        self._check_open()
        self._check_not_calling_back()
        with self._lock:
            self._check_open()
            yield

    def _drive(self, flight: Flight) -> None:
        """Take the execution as far as it goes: to its end, or until only suspended calls could help."""
        run = flight.run
        while not run.is_over:
            try:
                if run.can_step:
                    for call in self._enter(flight):
                        self._start_call(flight, call)
                elif flight.suspended and not self._on_their_way(flight):
                    return
                else:
                    self._wait(flight)
                self._collect(flight)
            except KeyboardInterrupt:
                flight.by_keyboard = True
                flight.stop("interrupt")
        if flight.reason is not None:
            for answer in self._answers.values():
                answer.cancel()
            self._answers.clear()

    def _on_their_way(self, flight: Flight) -> list[Future[Answer]]:
        return [answer for one, answer in self._answers.items() if one in flight.run.pending]

    def _wait(self, flight: Flight) -> None:
        """Wait for an answer, a timer of the code's, or the end of the time."""
        seconds = flight.seconds_left()
        if answers := self._on_their_way(flight):
            wait(answers, seconds, FIRST_COMPLETED)
        else:
            time.sleep(1.0 if seconds is None else seconds)
        self._look_at_clock(flight)

    def _collect(self, flight: Flight) -> None:
        for identifier in [one for one, answer in self._answers.items() if answer.done()]:
            answer = self._answers.pop(identifier)
            call = flight.run.pending.get(identifier)
            if call is not None:
                self._settle(flight, call, _outcome(answer))

    # -- callbacks --------------------------------------------------------------------------------------

    def _start_call(self, flight: Flight, call: HostCall) -> None:
        keywords = call.kwargs or {}
        try:
            callback = self._admit(call.name, call.args, keywords)
        except Exception as error:
            self._settle(flight, call, ("error", *describe_exception(error)))
            return
        if self._runs_here(callback):
            self._settle(flight, call, self._call_here(callback, call.args, keywords))
        else:
            self._answers[call.id] = self._start(callback, call.args, keywords)

    def _runs_here(self, callback: Callback) -> bool:
        return not callback.is_async and self._limits.callback_timeout is None

    def _call_here(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        try:
            return ("ok", self._call_plainly(callback, arguments, keywords))
        except Suspend as suspend:
            return ("suspend", suspend.reason)
        except Exception as error:
            return ("error", *describe_exception(error))

    def _start(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Future[Answer]:
        if self._portal is None:
            self._portal = self._exit.enter_context(start_blocking_portal("asyncio"))
        return self._portal.start_task_soon(self._call_async, callback, arguments, keywords)

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        """A call for which the guest blocks (see `executors.Host`)."""
        flight = self._flight
        assert flight is not None
        try:
            callback = self._admit(name, arguments, keywords)
        except Exception as error:
            return ("error", *describe_exception(error))
        if self._runs_here(callback):
            answer = self._call_here(callback, arguments, keywords)
        else:
            future = self._start(callback, arguments, keywords)
            try:
                answer = future.result(flight.seconds_left())
            except TimeoutError:
                future.cancel()
                answer = ("error", "TimeoutError", f"no time left for callback {name}()")
        if answer[0] == "suspend":
            return self._cannot_suspend(name)
        return answer

    # -- state ----------------------------------------------------------------------------------------

    def clear_state(self) -> None:
        """Forget all variables; modules, files and this instance stay."""
        with self._turn():
            self._clear()

    def reset(self) -> None:
        """Begin afresh with a new instance; files stay."""
        with self._turn():
            self._reset()

    def checkpoint(self, label: str) -> None:
        """Keep the present state under `label`, for `rewind`; an older one of that label is replaced."""
        with self._turn():
            self._mark(label)

    def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint by its label, or to the state after so many executions.

        Raises SessionError, and changes nothing, when that state was not kept.
        """
        with self._turn():
            self._rewind(place)

    def undo(self, n: int = 1) -> None:
        """Make the last `n` executions never have happened; `redo` takes it back."""
        with self._turn():
            self._undo(n)

    def redo(self) -> None:
        """Take back an `undo`, as long as nothing was executed since."""
        with self._turn():
            self._redo()

    # -- snapshots -------------------------------------------------------------------------------------

    def snapshot_state(self, *, parent: Snapshot | None = None, key: bytes | str | None = None) -> Snapshot:
        """The whole present state as a value: variables, modules, files, open descriptors, an execution
        that waits.

        With `parent`, an earlier snapshot, only what changed since is in it; restoring it takes both. With
        `key` it is signed, and can be restored with that key only. Raises SnapshotError when a waiting call
        has arguments that cannot be written, SnapshotKeyError when the key is empty or not the parent's,
        SnapshotMismatch when the parent is of another image.
        """
        with self._turn():
            return self._snapshot(parent, key)

    def restore_state(
        self,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
    ) -> None:
        """Become what a snapshot is, in place of the present state; checkpoints and history begin afresh.

        `missing` says what happens when the snapshot had callbacks or mounts that this session lacks or has
        differently: "error" refuses it, "warn" and "ignore" go on, and a missing callback raises when it is
        called. Unless this session has a seed, or `reseed` is False, random numbers and temporary names
        will be others than in other sessions that are restored from it.

        Raises SnapshotError (SnapshotCorrupt, SnapshotVersionError, SnapshotKeyError, SnapshotMismatch);
        the session is then as it was.
        """
        with self._turn():
            self._restore_snapshot(snapshot, key, missing, reseed)

    def _drop_answers(self) -> None:
        for answer in self._answers.values():
            answer.cancel()
        self._answers.clear()

    def close(self) -> None:
        """Give the sandbox back. Closing twice is harmless; anything else afterwards is SessionClosed."""
        self._check_not_calling_back()
        with self._lock:
            self._close()
            self._exit.close()
            self._portal = None

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _outcome(answer: Future[Answer]) -> Answer:
    try:
        return answer.result()
    except CancelledError:
        return ("error", "RuntimeError", "the call was cancelled on the host")
