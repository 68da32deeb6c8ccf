# Generated from ../_async/session.py by tools/generate_sync.py; change that one.
"""Sessions, which run Python and shell scripts and keep their state between calls; executions that wait."""

from __future__ import annotations

import builtins
import contextlib
import html
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import NoReturn, Self, TypeVar, overload

from planaria.errors import SessionClosed, Suspended
from planaria.executors.messages import HostCall, Ok, Raised
from planaria.executors.pickled_variables import Variables
from planaria.files.view import Files
from planaria.images.image import Image
from planaria.limits import NOT_GIVEN, Limits, NotGiven
from planaria.representation import Shown
from planaria.session import checkpoints, executing, kernel_queries, snapshots
from planaria.session._sync.constructors import SessionConstructors
from planaria.session._sync.turns import interruption
from planaria.session._sync.workspace import WorkspaceMethods
from planaria.session.analysis import ScriptAnalysis
from planaria.session.callbacks import raised
from planaria.session.collector import Listeners
from planaria.session.engine import SessionEngine
from planaria.session.error_mapping import with_traceback
from planaria.session.execution_state import ExecutionState, ExecutionStatus
from planaria.session.history import HistoryEntry, html_table
from planaria.session.phases import Phase, Step
from planaria.session.result import Completions, Result
from planaria.session.settings import bytes_of_stdin
from planaria.snapshot.compatibility import Missing
from planaria.snapshot.recording import Recording
from planaria.snapshot.snapshot import Snapshot

__all__ = ["Execution", "Session"]

T = TypeVar("T")


class Session(SessionConstructors, WorkspaceMethods, Shown):
    """Python in a sandbox, stateful between calls, for any thread.

    One execution at a time, others wait for their turn. Plain callbacks run on threads (see
    `Callback.on_caller_thread`), asynchronous ones on one event loop that all sessions of the process share.
    """

    # -- executing ------------------------------------------------------------------------------------

    def run(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code`; what it raises is in the result's `error`.

        `timeout` is in seconds, None for no limit; not given, the session's limit applies. `name` is what
        tracebacks call the source, `<cell N>` unless given. Raises only for misuse (SessionClosed,
        SessionBusy, TypeError, ValueError), KeyboardInterrupt after Ctrl-C (with an `Interrupted` as its
        cause, unless the code handled it; the result is its `result`), and what an `on_stdout` function of
        yours raised.
        """
        with self._turns.held():
            execution = self._turns.begin(partial(executing.begin, self._engine, code, timeout, name))
            return self._advance(execution, sleep=True)

    def execute(
        self, code: str, timeout: float | NotGiven | None = NOT_GIVEN, *, name: str | None = None
    ) -> Result:
        """Execute `code` as `run` does, and raise its error: ExecutionError, TimeoutError, LimitError …

        The traceback of the code is a note of the exception (`__notes__`), so that Python shows both.
        """
        result = self.run(code, timeout, name=name)
        if result.error is not None:
            raise with_traceback(result.error)
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
        """Run a script in the session's shell, which keeps its state from one call to the next.

        An exit status that is not 0 is not an error: it is the result's `exit_code`. Raises TimeoutError and
        the other errors of a stopped execution, TypeError when `stdin` is neither a string nor bytes.
        """
        result = self._run_script(script, timeout, stdin)
        if result.error is not None:
            raise result.error
        return result

    def _run_script(
        self,
        script: str,
        timeout: float | NotGiven | None,
        stdin: str | bytes = b"",
        program: Listeners | None = None,
    ) -> Result:
        """Run a script; with `program` as one that leaves nothing in the shell, and whose output goes there
        as it comes instead of to the session's listeners.
        """
        with self._turns.held():
            engine = self._engine
            engine.executor.require("shell")
            given = bytes_of_stdin(stdin)
            execution = self._turns.begin(
                partial(executing.begin, engine, script, timeout, stdin=given, program=program)
            )
            return self._advance(execution, sleep=True)

    def analyze(self, script: str) -> ScriptAnalysis:
        """The commands, files and variables that a script for the shell names, without running it."""
        return self._ask(lambda engine: kernel_queries.analyze(engine, script))

    @overload
    def start(self) -> None: ...

    @overload
    def start(self, code: str, timeout: float | NotGiven | None = NOT_GIVEN) -> Execution: ...

    def start(
        self, code: str | None = None, timeout: float | NotGiven | None = NOT_GIVEN
    ) -> Execution | None:
        """Begin to execute `code` and return when it is over or waits.

        Without `code`, only make the session ready, which is done before the first execution anyway: its
        kernel is started, and with `sync_deps_on_start` its dependencies are installed.

        Callbacks are called as in `run`; one that raises `Suspend` leaves its call pending, for
        `Execution.resolve`. While the execution waits the session can be captured, forked and closed.
        """
        with self._turns.held():
            if code is None:
                return None
            execution = self._turns.begin(partial(executing.begin, self._engine, code, timeout))
            self._advance(execution, sleep=False)
            return Execution(self, execution)

    @property
    def run_in_progress(self) -> Execution | None:
        """The execution that waits in this session, if one does."""
        execution = self._engine.execution
        return None if execution is None else Execution(self, execution)

    def _advance(self, execution: ExecutionState, *, sleep: bool) -> Result:
        """Take an execution as far as it goes: to its end, or until only suspended calls could help; without
        `sleep` also until only a timer could. The result so far.
        """
        engine, turns = self._engine, self._turns
        try:
            while True:
                try:
                    step = executing.next_step(engine, execution, sleep)
                    if step is Step.ENTER:
                        turns.enter(execution)
                    elif step is Step.WAIT:
                        turns.wait(execution)
                    else:
                        break
                except interruption() as error:
                    execution.interrupted_by(error)
        except BaseException as error:
            executing.abandon(engine, execution, error)
            raise
        return executing.outcome_of(engine, execution)

    def _resume(
        self, execution: ExecutionState, prepare: Callable[[SessionEngine], None], *, sleep: bool
    ) -> Result:
        """Prepare the execution that waits, then take it as far as it goes."""
        with self._turns.held():
            self._engine.check_in_flight(execution)
            prepare(self._engine)
            execution.go_on()
            return self._advance(execution, sleep=sleep)

    def _ask(self, function: Callable[[SessionEngine], T]) -> T:
        """Hold the session and call a function of its engine, which may block."""
        with self._turns.held():
            return self._turns.call(lambda: function(self._engine))

    def complete(self, text: str, cursor: int | None = None) -> Completions:
        """What can stand at `cursor` (by default the end) in `text`, from the state of the session.

        No code of the user's is run for it.
        """
        return self._ask(lambda engine: kernel_queries.complete_code(engine, text, cursor))

    def interrupt(self) -> None:
        """Stop the execution that runs now, from another thread: it ends with `Interrupted`."""
        self._engine.interrupt()

    # -- variables ------------------------------------------------------------------------------------

    def set(self, **values: object) -> None:
        """Make values of this program variables of the session; no code is run for it.

        They cross as answers of callbacks do, by value. Raises TypeError for a value that cannot be sent,
        LimitError when they do not fit into the sandbox's memory, and SessionBusy while an execution waits.
        It is not an execution: `undo` takes it back with the execution before it.
        """
        self._ask(lambda engine: kernel_queries.assign(engine, values))

    def get(self, name: str) -> object:
        """The value of a variable, as the value of an execution would arrive.

        Raises NameError when there is no such variable, and SessionBusy while an execution waits.
        """
        return self._ask(lambda engine: kernel_queries.variable(engine, name))

    # -- state ----------------------------------------------------------------------------------------

    def clear_state(self) -> None:
        """Forget all variables; modules, files and this instance stay."""
        self._ask(lambda engine: engine.clear())

    def reset(self) -> None:
        """Start again with a new instance; files stay."""
        self._ask(lambda engine: engine.reset())

    def fork(self, n: int = 1, *, reseed: bool = True) -> list[Self]:
        """`n` running copies of this session; memory and files are shared until they change.

        With `reseed`, `random`, numpy's global generator and temporary names do not repeat between copies.
        """
        copies = self._ask(lambda engine: checkpoints.fork(engine, n, reseed))
        return [self._around(engine) for engine in copies]

    def checkpoint(self, label: str) -> None:
        """Keep the present state under `label`, for `rewind`; an older one of that label is replaced."""
        self._ask(lambda engine: checkpoints.checkpoint(engine, label))

    def rewind(self, place: str | int) -> None:
        """Go back to a checkpoint by its label, or to the state after so many executions.

        Raises SessionError, and changes nothing, when that state was not kept.
        """
        self._ask(lambda engine: checkpoints.rewind(engine, place))

    def undo(self, n: int = 1) -> None:
        """Take back the last `n` executions; `redo` takes that back.

        One that waits counts, and is not waited for any more: its calls are open again after `redo` only.
        """
        self._ask(lambda engine: checkpoints.undo(engine, n))

    def redo(self) -> None:
        """Take back an `undo`, as long as nothing was executed since."""
        self._ask(checkpoints.redo)

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first."""
        return self._engine.history.entries

    def state_digest(self) -> str:
        """What names the present state: BLAKE2b-256, in hexadecimal, over memory, files and open descriptors.

        Sessions with `deterministic=` that executed the same code with the same answers have the same one, on
        any machine. What lies on the host (mounts, a storage given as `vfs=`) and the host's time are not in
        it. Raises CapabilityError, and SnapshotError when a waiting call has arguments of no written form.
        """
        return self._ask(snapshots.state_digest)

    # -- recordings -------------------------------------------------------------------------------------

    def recording(self) -> Recording:
        """What was executed so far and came from outside, for `planaria.replay`; with `record=True` only.

        Everything that the code has seen is in it: arguments and answers of callbacks, answers of servers,
        files that it read. Values of secrets, which it has not seen, are not. Raises SessionError.
        """
        from planaria.session.recordings import take_recording

        return self._ask(take_recording)

    def explain(self, name: str) -> HistoryEntry | None:
        """The execution that last changed the variable `name`, with its value or contents; None if none did.

        The recording is done again for that, which takes as long as its executions took. Raises SessionError
        without `record=True`.
        """
        from planaria.session.recordings import explain

        return self._ask(lambda engine: explain(engine, name))

    # -- snapshots -------------------------------------------------------------------------------------

    def snapshot_state(self, *, parent: Snapshot | None = None, key: bytes | str | None = None) -> Snapshot:
        """The whole present state as a value: variables, modules, files, open descriptors, an execution
        that waits.

        With `parent`, an earlier snapshot, only what changed since is in it; restoring it takes both. With
        `key` it is signed, and can be restored with that key only. Raises SnapshotError when a waiting call
        has arguments that cannot be written, SnapshotKeyError when the key is empty or not the parent's,
        SnapshotMismatch when the parent is of another image.
        """
        return self._ask(lambda engine: snapshots.take_snapshot(engine, parent, key))

    def restore_state(
        self,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
    ) -> None:
        """Become what a snapshot is, in place of the present state; checkpoints and history restart.

        `missing` says what happens when the snapshot had callbacks or mounts that this session lacks or has
        differently: "error" refuses it, "warn" and "ignore" continue, and a missing callback raises when it
        is called. Unless this session has a seed, or `reseed` is False, random numbers and temporary names
        will differ from those in other sessions that are restored from it.

        Raises SnapshotError (SnapshotCorrupt, SnapshotVersionError, SnapshotKeyError, SnapshotMismatch);
        the session is then as it was.
        """
        self._ask(lambda engine: snapshots.restore_snapshot(engine, snapshot, key, missing, reseed))

    def pickle_variables(self) -> Variables:
        """The user's variables, as far as `cloudpickle` can write them, where the whole state cannot be had.

        What could not be written is in `dropped`. Capability: snapshot_pickle. Raises SnapshotError.
        """
        return self._ask(snapshots.pickle_variables)

    def unpickle_variables(self, variables: Variables | bytes) -> None:
        """Take variables in place of the present ones; only the kernel opens the pickle, which is as good as
        running code.

        Raises SnapshotMismatch when they are from another kind of executor or version of Python,
        SnapshotCorrupt, and SnapshotError when the kernel cannot open them.
        """
        self._ask(lambda engine: snapshots.unpickle_variables(engine, variables))

    def save_as_image(self, name: str) -> Image:
        """Make the present state an image that new sessions can begin from, registered as `name`.

        It has the variables, modules and files; not the callbacks, mounts, `vfs=` and history. Snapshots of
        sessions that begin from it can be restored only where the image is. Raises ImageError, and
        SessionBusy when an execution or a task waits.
        """
        return self._ask(lambda engine: snapshots.save_as_image(engine, name))

    # -- what it is made of ------------------------------------------------------------------------------

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._engine.count

    @property
    def limits(self) -> Limits:
        return self._engine.settings.bounds

    @property
    def files(self) -> Files:
        """The session's files, read and written from the host without running code.

        Names that are not absolute are below /home/user. Raises CapabilityError.
        """
        return self._engine.files

    def supports(self, capability: str) -> bool:
        """Whether this session's executor has a capability; see `supported_capabilities`."""
        return capability in self._engine.executor.capabilities

    def supported_capabilities(self) -> builtins.set[str]:
        """What the executor of this session supports, by name; see `planaria.Executor.capabilities`."""
        return set(self._engine.executor.capabilities)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled; use snapshot_state(), whose bytes can be stored, "
            "and from_snapshot()"
        )

    def __repr__(self) -> str:
        engine = self._engine
        if engine.phase is Phase.CLOSED:
            return f"<{type(self).__name__} closed>"
        count = engine.count
        plural = "" if count == 1 else "s"
        return f"<{type(self).__name__} {engine.executor.name}, {count} execution{plural}>"

    def _repr_html_(self) -> str:
        """For notebooks: the latest executions, as a table."""
        return f"<p>{html.escape(repr(self))}</p>{html_table(self.history[-20:])}"

    # -- closing -----------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._engine.phase is Phase.CLOSED

    def close(self) -> None:
        """Release the sandbox. Closing twice is harmless; anything else afterwards is SessionClosed.

        An execution that runs in another thread or task is interrupted: it ends with `Interrupted` there, and
        those that wait for their turn with SessionClosed.
        """
        with contextlib.suppress(SessionClosed), self._turns.closing():
            self._turns.call(self._engine.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Execution:
    """An execution of an `Session`; see `Session.start`."""

    def __init__(self, session: Session, state: ExecutionState) -> None:
        self.session = session
        self._state = state

    @property
    def code(self) -> str:
        return self._state.source

    @property
    def status(self) -> ExecutionStatus:
        """ "running" while it is being driven, "waiting", "done", or "failed" when it raised."""
        return self._state.status

    @property
    def pending(self) -> list[HostCall]:
        """The host calls that wait for an answer, in the order in which they were made."""
        return list(self._state.pending.values())

    @property
    def reasons(self) -> dict[int, str]:
        """Why calls were suspended, by their ids: what `Suspend` was raised with."""
        return dict(self._state.suspended)

    @property
    def next_timer(self) -> float | None:
        """Seconds until the code goes on by itself; None when only an answer helps."""
        return self._state.next_timer

    def __repr__(self) -> str:
        waits_for = f" for {self.pending}" if self.pending else ""
        return f"<{type(self).__name__} {self.status}{waits_for}>"

    def resolve(self, identifier: int, value: object = None) -> None:
        """Answer a pending call with a value, and go on as far as that leads.

        Raises KeyError when no such call is pending (it was answered already, or no task awaits it any more).
        """
        self._answer(identifier, Ok(value))

    def reject(self, identifier: int, error: BaseException | str) -> None:
        """Answer a pending call with an exception (a str is the message of a RuntimeError), and go on.

        Raises KeyError as `resolve` does.
        """
        answer = raised(error) if isinstance(error, BaseException) else Raised("RuntimeError", error)
        self._answer(identifier, answer)

    def _answer(self, identifier: int, answer: Ok | Raised) -> None:
        state = self._state
        self.session._resume(
            state,
            lambda engine: engine.host_calls.answer_from_outside(state, identifier, answer),
            sleep=False,
        )

    def step(self) -> ExecutionStatus:
        """Go on as far as possible without waiting: timers that are due fire."""
        self.session._resume(self._state, lambda _: None, sleep=False)
        return self.status

    def cancel(self) -> Result:
        """Raise KeyboardInterrupt where the code waits, and return what comes of it."""
        return self.session._resume(self._state, lambda _: self._state.interrupt("interrupt"), sleep=True)

    def result(self) -> Result:
        """Go on, sleeping for timers, until the execution is over.

        Raises SessionError when it waits for calls that only `resolve` or `reject` can answer.
        """
        if self._state.result is None:
            self.session._resume(self._state, lambda _: None, sleep=True)
        return self._state.final_result()
