"""The session without `await`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import TracebackType
from typing import Any, Self, overload

from planaria.errors import SessionBusy, SessionClosed, Suspended
from planaria.executors.door import written
from planaria.executors.variables import Variables
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session.analysis import ScriptAnalysis
from planaria.session.arguments import as_input
from planaria.session.base import Answer
from planaria.session.callbacks import Callback, describe_exception
from planaria.session.execution import Execution
from planaria.session.flight import Flight
from planaria.session.result import Completions, Result
from planaria.session.run import HostCall
from planaria.session.threads import callback_loop
from planaria.session.workspace import WorkspaceSession
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.snapshot import Snapshot

__all__ = ["Session"]


class Session(WorkspaceSession):
    """Python in a sandbox, alive between calls.

    May be used from any thread; one execution at a time, others wait for their turn. Plain callbacks run on
    the thread that executes (see `Limits.callback_timeout`), asynchronous ones on one event loop, which all
    sessions of the process share.
    """

    def _prepare(self) -> None:
        self._lock = threading.Lock()
        #: The thread that holds the lock.
        self._owner: int | None = None
        #: Answers on their way, by the id of their call.
        self._answers: dict[int, Future[Answer]] = {}

    # -- executing ------------------------------------------------------------------------------------

    def run(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code`; what it raises is in the result's `error`.

        `timeout` is in seconds, None for no bound; not given, the session's limit holds. `name` is what
        tracebacks call the source, `<cell N>` unless given. Raises only for misuse (SessionClosed,
        SessionBusy,
        TypeError, ValueError), KeyboardInterrupt after Ctrl-C (with an `Interrupted` as its cause), and what
        an `on_stdout` function of yours raised.
        """
        with self._turn():
            flight = self._begin(code, timeout, name)
            return self._advance(flight, sleep=True)

    def execute(self, code: str, *, timeout: float | NotGiven | None = NOT_GIVEN) -> Result:
        """Execute `code` as `run` does, and raise its error: ExecutionError, TimeoutError, LimitError …"""
        result = self.run(code, timeout)
        if result.error is not None:
            raise result.error
        if result.suspended:
            names = ", ".join(f"{call.name}()" for call in result.suspended)
            raise Suspended(f"the execution waits for {names}; see session.run_in_progress", result.suspended)
        return result

    def bash(
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
        with self._turn():
            self._executor.require("shell")
            data = as_input(stdin)
            flight = self._begin(script, timeout, stdin=data)
            result = self._advance(flight, sleep=True)
        if result.error is not None:
            raise result.error
        return result

    def analyze(self, script: str) -> ScriptAnalysis:
        """Tell the commands, files and variables that a script for the shell names, without running it."""
        with self._turn():
            return self._analyze(script)

    @overload
    def start(self) -> None: ...

    @overload
    def start(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Execution: ...

    def start(
        self, code: str | None = None, timeout: float | NotGiven | None = NOT_GIVEN
    ) -> Execution | None:
        """Begin to execute `code` and return when it is over or waits.

        Without `code`, only make the session ready, which is done before the first execution anyway: its home
        is made, and with `sync_deps_on_start` its dependencies are installed.

        Callbacks are called as in `run`; one that raises `Suspend` leaves its call pending, for
        `Execution.resolve`. While the execution waits the session can be captured, forked and closed.
        """
        with self._turn():
            if code is None:
                return None
            flight = self._begin(code, timeout)
            self._advance(flight, sleep=False)
            return Execution(self, flight)

    @property
    def run_in_progress(self) -> Execution | None:
        """The execution that waits in this session, if one does."""
        return None if self._flight is None else Execution(self, self._flight)

    def _advance(self, flight: Flight, *, sleep: bool) -> Result:
        """Drive an execution as far as it goes; the result so far."""
        try:
            self._drive(flight, sleep)
        except BaseException as error:
            self._abandon(flight, error)
            raise
        return self._finish(flight) if flight.run.is_over else self._suspended_result(flight)

    def _go_on(self, flight: Flight, *, sleep: bool) -> None:
        with self._turn():
            self._check_in_flight(flight)
            flight.go_on()
            self._advance(flight, sleep=sleep)

    def _answer(self, flight: Flight, identifier: int, answer: Answer) -> None:
        with self._turn():
            self._take_answer(flight, identifier, answer)
            flight.go_on()
            self._advance(flight, sleep=False)

    def _cancel(self, flight: Flight) -> Result:
        with self._turn():
            self._check_in_flight(flight)
            flight.go_on()
            flight.stop("interrupt")
            return self._advance(flight, sleep=True)

    @contextlib.contextmanager
    def _turn(self, *, ready: bool = True) -> Iterator[None]:
        """Hold the session: from another thread wait for it, from its own callback be refused."""
        self._check_open()
        self._check_not_calling_back()
        here = threading.get_ident()
        if self._owner == here:
            raise SessionBusy(
                "this session waits for the very function that wants to use it (on_stdout, stdin, "
                "a signal handler); return from it first, or use another session"
            )
        with self._lock:
            self._owner = here
            try:
                if ready:
                    self._make_ready()
                    if not self._is_ready:
                        self._get_ready()
                yield
            finally:
                self._owner = None

    def _after_fork(self) -> None:
        here = threading.get_ident()
        if self._owner != here and (self._owner is not None or not self._executor.is_copied_by_fork):
            self._lose_flight()
            self._owner = None
        if self._owner is None:
            self._lock = threading.Lock()
        self._answers = {}

    def _drive(self, flight: Flight, sleep: bool) -> None:
        """Take the execution as far as it goes: to its end, or until only suspended calls could help.

        Without `sleep` also until only a timer could.
        """
        run = flight.run
        while not run.is_over:
            try:
                if run.can_step:
                    for call in self._enter(flight):
                        self._start_call(flight, call)
                elif self._parks(flight, sleep):
                    return
                else:
                    self._wait(flight)
                if self._answers:
                    self._collect(flight)
                if not run.is_over:
                    self._look_at_clock(flight)
            except KeyboardInterrupt:
                flight.by_keyboard = True
                flight.stop("interrupt")

    def _wait(self, flight: Flight) -> None:
        """Wait for an answer, a timer of the code's, or the end of the time."""
        seconds = flight.seconds_left()
        with flight.waking() as alarm:
            wait([alarm, *self._on_their_way(flight)], seconds, FIRST_COMPLETED)

    def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand at `cursor` (by default the end) in `text`, from the live session.

        Nothing of the user's is run for it.
        """
        with self._turn():
            return self._complete(text, cursor)

    # -- callbacks --------------------------------------------------------------------------------------

    def _start_function(self, flight: Flight, call: HostCall, callback: Callback) -> None:
        keywords = call.kwargs or {}
        if self._runs_here(callback):
            answer = self._call_here(callback, call.args, keywords)
            if answer[0] == "ok" and inspect.isawaitable(answer[1]):
                self._answers[call.id] = self._start(self._await(callback, answer[1]))
            else:
                self._settle(flight, call, answer)
        else:
            self._answers[call.id] = self._start(self._call_async(callback, call.args, keywords))

    @staticmethod
    def _start(coroutine: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        return asyncio.run_coroutine_threadsafe(coroutine, callback_loop())

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        """A call for which the guest blocks (see `executors.Host`)."""
        flight = self._flight
        assert flight is not None
        try:
            callback = self._admit(name, arguments, keywords)
        except Exception as error:
            return ("error", *describe_exception(error))
        called = written(name, arguments)
        if self._runs_here(callback):
            answer = self._call_here(callback, arguments, keywords)
            if answer[0] == "ok" and inspect.isawaitable(answer[1]):
                answer = self._block(flight, called, self._start(self._await(callback, answer[1])))
        else:
            answer = self._block(flight, called, self._start(self._call_async(callback, arguments, keywords)))
        if answer[0] == "suspend":
            return self._cannot_suspend(name, arguments)
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

    def fork(self, n: int = 1, *, reseed: bool = True) -> list[Self]:
        """`n` living copies of this session; memory and files are shared until they change.

        With `reseed`, `random`, numpy's global generator and temporary names do not repeat between copies.
        """
        with self._turn():
            return self._fork(n, reseed)

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

    def pickle_variables(self) -> Variables:
        """The user's variables, as far as `cloudpickle` can write them, where the whole state cannot be had.

        What could not be written is in `dropped`. Capability: snapshot_pickle. Raises SnapshotError.
        """
        with self._turn():
            return self._pickle_variables()

    def unpickle_variables(self, variables: Variables | bytes) -> None:
        """Take variables in place of the present ones; only the kernel opens the pickle, which is as good as
        running code.

        Raises SnapshotMismatch when they are from another kind of executor or version of Python,
        SnapshotCorrupt, and SnapshotError when the kernel cannot open them.
        """
        with self._turn():
            self._unpickle_variables(variables)

    def save_as_image(self, name: str) -> Image:
        """Make the present state an image that new sessions can begin from, registered as `name`.

        It has the variables, modules and files; not the callbacks, mounts, `vfs=` and history. Snapshots of
        sessions that begin from it can be restored only where the image is. Raises ImageError, and
        SessionBusy when an execution or a task waits.
        """
        with self._turn():
            return self._save_as_image(name)

    def close(self) -> None:
        """Give the sandbox back. Closing twice is harmless; anything else afterwards is SessionClosed."""
        self._check_not_calling_back()
        if self._closed:
            return
        with contextlib.suppress(SessionClosed), self._turn(ready=False):
            self._close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
