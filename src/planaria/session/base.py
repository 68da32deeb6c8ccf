"""What sessions with and without `await` share: everything that is not waiting.

A session enters its executor, hands out the host calls that the code makes, and turns reports into results.
`Session` and `AsyncSession` differ only in how they wait.
"""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import inspect
import io
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict, replace
from functools import cache
from typing import Any, Final, Self, TypeVar

from planaria.errors import (
    CrashError,
    EncodeError,
    ExecutionError,
    Exited,
    Interrupted,
    LimitError,
    PlanariaError,
    ProtocolError,
    SessionBusy,
    SessionClosed,
    SessionError,
    SnapshotMismatch,
    Suspend,
    TimeoutError,
)
from planaria.executors.executor import Entered
from planaria.executors.wasm import TierNeeded, WasmExecutor
from planaria.files.layout import standard_layout
from planaria.files.mount import MountFileSystem
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.files.view import Files
from planaria.limits import NOT_GIVEN, Guard, Limits, NotGiven, ShellLimits, Stopped
from planaria.machine.image import Recipe, load_image
from planaria.machine.wasi.clock import Clock
from planaria.machine.wasi.random import SeededRandom
from planaria.protocol import decode, encode
from planaria.runtime.library import library
from planaria.session.analysis import ScriptAnalysis
from planaria.session.arguments import check_arguments
from planaria.session.callbacks import Callback, CallbackRegistry, describe_exception
from planaria.session.commands import as_command
from planaria.session.collector import Collector, Listeners
from planaria.session.flight import Flight
from planaria.session.result import Completions, Result
from planaria.session.run import HostCall, Run
from planaria.session.threads import submit
from planaria.session.timeline import Budget, HistoryEntry, Point, Timeline
from planaria.snapshot.reading import read_state
from planaria.snapshot.record import Declaration
from planaria.snapshot.requirements import Lacking, Missing
from planaria.snapshot.reviving import revive
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState, WaitingRun
from planaria.snapshot.writing import take

__all__ = ["BaseSession"]

#: The sessions that are alive, for a child of a fork to mend.
_sessions: Final[weakref.WeakSet[BaseSession]] = weakref.WeakSet()


def _after_fork() -> None:
    for session in list(_sessions):
        session._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

#: The sessions inside whose callbacks the present code runs; a session refuses to be entered again from there.
_calling_back: Final[contextvars.ContextVar[frozenset[int]]] = contextvars.ContextVar(
    "planaria_calling_back", default=frozenset()
)

#: Answers of fewer bytes are sent again when others did not fit the sandbox's memory.
_SMALL_ANSWER: Final = 65536
_HOME: Final = "/home/user"
#: What a session's own files may take unless `quota=` says otherwise.
_QUOTA: Final = Quota(bytes=1 << 30, nodes=1_000_000, handles=4096)

Answer = tuple[Any, ...]
_Placed = TypeVar("_Placed", TimeoutError, LimitError, Interrupted)


class BaseSession:
    """See `Session`; this class has everything but the waiting."""

    def __init__(
        self,
        *,
        callbacks: Iterable[Callback | Mapping[str, Any] | Callable[..., Any]] | CallbackRegistry = (),
        limits: Limits | None = None,
        shell_limits: ShellLimits | None = None,
        execution_timeout_ms: float | NotGiven | None = NOT_GIVEN,
        vfs: VfsStorage | None = None,
        vfs_mount_path: str = "/data",
        mounts: Sequence[Mount] = (),
        quota: Quota | None = None,
        commands: Mapping[str, Callable[..., Any]] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, Any], object] | None = None,
        on_bytes: Callable[[int, bytes], object] | None = None,
        argv: Sequence[str] = ("",),
    ) -> None:
        """Make a session; the runtime is compiled first when this user has none yet (15 s, once).

        `callbacks` are functions, dicts with name, fn, description and schema, or a `CallbackRegistry`.
        `shell_limits` bounds scripts. `execution_timeout_ms` is `limits.timeout` in milliseconds. `vfs` is a storage to share and keep, seen at
        `vfs_mount_path`; `mounts` are directories of the host; `quota` bounds the session's own files (1 GiB and a
        million nodes unless given). `commands` are commands for the
        shell, functions of arguments (list of str), standard input (bytes) and environment that return text or
        bytes to print, an exit status, or a tuple (status, output, errors). `env` are environment variables beside the
        usual ones; nothing comes from the host's. `stdin` feeds `input()` and scripts: a text, or a function of the prompt
        that gives a line or None. `clock` replaces the time (see `planaria.FrozenClock`), `seed` makes every
        random number repeatable. `on_stdout(text)`, `on_stderr(text)` and `on_output(stream, text or Output)` are
        called as output arrives, `on_bytes(descriptor, bytes)` with exactly what is written to descriptor 1 or 2,
        also beyond `limits.output`. `argv` is the code's `sys.argv`,
        and `$0` and the positional parameters of the shell.
        """
        listeners = {"on_stdout": on_stdout, "on_stderr": on_stderr, "on_output": on_output}
        mounts = check_arguments(limits, vfs, mounts, quota, env, seed, listeners)
        self._callbacks = CallbackRegistry.of(callbacks)
        self._limits = limits or Limits()
        self._shell_limits = shell_limits or ShellLimits()
        if not isinstance(execution_timeout_ms, NotGiven):
            self._limits = replace(self._limits, timeout=_seconds(execution_timeout_ms))
        self._commands = {name: as_command(name, function) for name, function in (commands or {}).items()}
        self._listeners = Listeners(on_stdout, on_stderr, on_output, on_bytes)
        self._stdin = _line_reader(stdin)
        self._environment = dict(env or {})
        self._seed = seed
        self._argv = list(argv)
        self._clean_slate()
        self._prepare()
        self._closed = False
        seeded = None if seed is None else SeededRandom(seed)
        if vfs is None and clock is None and quota is None and not mounts:
            tree = _usual_tree().fork()  # a fifth of the time that making one takes
        else:
            tree = standard_layout(
                library=library(),
                storage=None if vfs is None else vfs.filesystem,
                storage_path=os.fsencode(vfs_mount_path),
                clock=time.time_ns if clock is None else clock.realtime,
                quota=quota or _QUOTA,
                mounts=mounts,
            )
        self._executor = WasmExecutor(
            self,
            load_image(Recipe()),
            tree,
            memory_limit=self._limits.memory,
            clock=clock,
            random=seeded,
        )
        self._configure()
        _sessions.add(self)

    #: Answers on their way, by the id of their call.
    _answers: dict[int, Any]

    def _prepare(self) -> None:
        """What a kind of session needs to wait."""

    def _clean_slate(self) -> None:
        """Nothing has been executed yet."""
        self._count = 0
        self._is_broken = False
        self._flight: Flight | None = None
        #: Declarations of callbacks that a restored snapshot had and this session does not.
        self._missing: dict[str, Declaration] = {}
        #: Calls that tasks which outlived their execution still wait for.
        self._pending: dict[int, HostCall] = {}
        self._timeline = Timeline()
        self._budget = Budget()
        #: Whether anything may have changed since the newest point.
        self._changed = True

    # -- what a user sees ------------------------------------------------------------------------------

    @property
    def execution_count(self) -> int:
        """How many executions there have been."""
        return self._count

    @property
    def limits(self) -> Limits:
        return self._limits

    @property
    def files(self) -> Files:
        """The session's files, read and written from the host without running code.

        Names that are not absolute are below /home/user.
        """
        self._check_open()
        self._changed = True
        return Files(self._executor.files, _HOME)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def interrupt(self) -> None:
        """Stop the execution that runs now, from another thread: it ends with `Interrupted`."""
        flight = self._flight
        if flight is not None and flight.inside:
            self._stop(flight)

    # -- the host's side of the kernel (executors.executor.Host) -------------------------------------------

    def output(self, descriptor: int, data: bytes) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.output(descriptor, data)
        except BaseException as error:
            flight.raises = flight.raises or error
            self._stop(flight)

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.display(kind, data, metadata)
        except BaseException as error:
            flight.raises = flight.raises or error
            self._stop(flight)

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        raise NotImplementedError

    def input(self, prompt: str) -> Answer:
        if self._stdin is None:
            return ("eof",)
        try:
            line = self._stdin(prompt)
        except Exception as error:
            return ("error", *describe_exception(error))
        if line is None:
            return ("eof",)
        if not isinstance(line, str):
            return ("error", "TypeError", f"stdin= gave a {type(line).__name__}, not a line of text or None")
        return ("ok", line.removesuffix("\n"))

    def _stop(self, flight: Flight) -> None:
        """Interrupt it, wherever it is."""
        flight.ask_to_stop()
        self._executor.interrupt()

    # -- one execution ----------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed("this session is closed; make a new one")

    def _make_ready(self) -> None:
        """With the session held, before anything is done with it."""
        self._check_open()
        if self._is_broken:
            self._mend()

    def _check_not_calling_back(self) -> None:
        if id(self) in _calling_back.get():
            raise SessionBusy(
                "this session waits for the very callback that wants to use it; "
                "return from the callback first, or use another session"
            )

    def _begin(
        self,
        code: str,
        timeout: float | NotGiven | None,
        name: str | None = None,
        stdin: bytes | None = None,
    ) -> Flight:
        if not isinstance(code, str):
            raise TypeError(f"code is a str, not a {type(code).__name__}")
        bound = self._limits.timeout if isinstance(timeout, NotGiven) else timeout
        if bound is not None and (
            isinstance(bound, bool) or not isinstance(bound, (int, float)) or not bound > 0
        ):
            raise ValueError(f"timeout={timeout!r}: seconds greater than 0, or None for no bound")
        if self._flight is not None:
            raise SessionBusy(
                "an execution waits in this session; resolve its pending calls or cancel it before the next one"
            )
        self._timeline.undone.clear()
        self._checkpoint()
        self._count += 1
        run = Run(code, self._count, self._executor.tier, self._pending, name, stdin)
        flight = Flight(run, self._new_collector(), bound, self._limits)
        flight.inside = True
        self._flight = flight
        return flight

    def _enter(self, flight: Flight) -> list[HostCall]:
        """Enter the kernel once; returns the host calls that are new. Blocks."""
        run = flight.run
        began = time.thread_time() if flight.cpu_left is not None else 0.0
        self._changed = True
        try:
            entered = self._executor.enter(run.command(), flight.guard())
        except Stopped as stopped:
            self._crashed(flight, stopped)
            return []
        except TierNeeded as needed:
            self._begin_again(flight, needed)
            return []
        except EncodeError:  # nothing was entered
            run.refuse_answers(_cannot_cross)
            return []
        except ProtocolError as error:
            self._crashed(flight, Stopped(str(error), None))
            return []
        finally:
            if flight.cpu_left is not None:
                flight.cpu_left = max(0.0, flight.cpu_left - (time.thread_time() - began))
        if entered.reason is not None and flight.reason is None:
            flight.by_keyboard = entered.reason == "interrupt" and not flight.asked
            interrupted = entered.reason
        else:
            interrupted = None
        if entered.report[0] == "refused":
            run.refuse_answers(_does_not_fit)
            return []
        if entered.report[0] == "tier":
            # Nothing has been run: the source imports modules that only the full tier has.
            self._executor.move_up()
            run.begin_again(self._executor.tier)
            if interrupted is not None:
                flight.stop(interrupted)
            return []
        try:
            new = run.report(entered.report)
        except ProtocolError as error:
            self._crashed(flight, Stopped(str(error), entered.reason))
            return []
        if flight.suspended:
            flight.suspended = {one: why for one, why in flight.suspended.items() if one in run.pending}
        if interrupted is not None:
            flight.stop(interrupted)
        return new

    def _begin_again(self, flight: Flight, needed: TierNeeded) -> None:
        """Code on the core tier imported a module of the full tier by a way that nobody could foresee.

        Code cannot be swapped under a running call, so the execution is made again from its beginning on the
        full tier, unless somebody outside has seen something of it.
        """
        point = self._timeline.before(self._count - 1)
        assert point is not None, "on the core tier there is a point before every execution"
        self._executor.restore(point.state.kernel)
        self._executor.move_up()
        self._drop_answers()
        pending = {call.id: call for call in point.state.pending}
        if not flight.callbacks and not (self._listeners.any and flight.collector.has_output):
            flight.collector = self._new_collector()
            flight.run.begin_again(self._executor.tier, pending)
            return
        flight.run.pending = pending
        flight.failure = SessionError(
            f"this execution reached an import of {needed}, for which the session had to go back to the state "
            "before it and move to the full runtime; it had called the host already, so it was not run "
            "again by itself. Run it again if that is safe."
        )
        flight.run.report(("error", {"type": "SessionError", "message": str(flight.failure)}))

    def _new_collector(self) -> Collector:
        return Collector(self._limits.output, self._listeners)

    def _look_at_clock(self, flight: Flight) -> None:
        """Between entries: stop code whose time is over, give up code that does not heed it."""
        now = time.monotonic()
        if flight.run.is_over:
            return
        if flight.reason is None:
            if flight.asked:
                flight.stop("interrupt")
            elif flight.deadline is not None and now >= flight.deadline:
                flight.stop("timeout")
        elif flight.patience is not None and now >= flight.patience and not flight.run.can_step:
            self._crashed(flight, Stopped("it went on waiting after it was interrupted", flight.reason))

    def _crashed(self, flight: Flight, stopped: Stopped) -> None:
        """The kernel is gone: bring the session back to life and end the execution."""
        if flight.reason is None:
            flight.reason = stopped.reason
            flight.by_keyboard = stopped.reason == "interrupt" and not flight.asked
        flight.crash = stopped.message
        flight.state, flight.run.pending = self._recover(self._count - 1)
        details = {"type": "Stopped", "message": stopped.message, "exit_code": stopped.exit_code}
        flight.run.report(("error", details))

    def _recover(self, most: int) -> tuple[str, dict[int, HostCall]]:
        """After a hard stop: go back to the newest checkpoint with at most `most` executions.

        Returns "rewound", or "lost" when there is none and the session begins afresh, and the pending calls.
        """
        self._drop_answers()
        newest = self._timeline.newest(most)
        if newest is None:
            self._executor.reset()
            self._configure()
            return "lost", {}
        self._executor.restore(newest.state.kernel)
        pending = {call.id: call for call in newest.state.pending}
        return ("rewound" if newest.state.count == most else f"rewound to {newest.state.count}"), pending

    # -- copies -----------------------------------------------------------------------------------------------

    def _fork(self, n: int, reseed: bool) -> list[Self]:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"fork({n!r}): a number of copies is wanted")
        state = self._state()
        return [self._copy(state, reseed) for _ in range(n)]

    def _copy(self, state: SessionState, reseed: bool) -> Self:
        """A session like this one that goes on from `state`, which is this one's present."""
        other = type(self).__new__(type(self))
        other._callbacks = self._callbacks
        other._commands = self._commands
        other._limits = self._limits
        other._listeners = self._listeners
        other._stdin = self._stdin
        other._environment = self._environment
        other._seed = self._seed
        other._argv = self._argv
        other._closed = False
        other._clean_slate()
        other._missing = dict(self._missing)
        other._prepare()
        other._timeline.points = list(self._timeline.points)
        other._timeline.past = self._timeline.past
        other._executor = self._executor.spawn(other, state.kernel, self._executor.files.fork())
        other._adopt(state)
        if reseed and self._seed is None:
            other._tell(("configure", {"reseed": os.urandom(16)}))
        _sessions.add(other)
        return other

    # -- going back -------------------------------------------------------------------------------------------

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first."""
        return self._timeline.history

    def _checkpoint(self) -> None:
        """An automatic point before an execution, if the budget allows.

        Always on the core tier, where an import may need one.
        """
        if self._changed and (self._budget.allows() or self._executor.tier == "core"):
            began = time.perf_counter()
            self._timeline.add(self._state())
            self._changed = False
            self._budget.spend(time.perf_counter() - began)

    def _state(self, *, complete: bool = False) -> SessionState:
        """The present state; the kernel must be at rest. For `complete` see `WasmExecutor.capture`."""
        flight = self._flight
        run = None
        if flight is not None:
            wake_at = flight.run.wake_at
            run = WaitingRun(
                flight.run.source,
                flight.run.count,
                tuple(flight.run.pending.values()),
                dict(flight.suspended),
                None if wake_at is None else wake_at - time.monotonic(),
                flight.collector.stdout,
                flight.collector.stderr,
            )
        points = self._timeline.points
        known = points[-1].state.kernel if points else None
        kernel = self._executor.capture(known, complete=complete)
        return SessionState(kernel, self._count, tuple(self._pending.values()), run)

    def _become(self, state: SessionState) -> None:
        """Go on from `state`; on failure nothing has changed."""
        self._executor.restore(state.kernel)
        self._adopt(state)

    def _adopt(self, state: SessionState) -> None:
        self._drop_answers()
        self._count = state.count
        self._pending = {call.id: call for call in state.pending}
        self._flight = None
        if state.run is not None:
            self._flight = self._waiting(state.run)

    def _waiting(self, waiting: WaitingRun) -> Flight:
        pending = {call.id: call for call in waiting.pending}
        run = Run(waiting.source, waiting.count, self._executor.tier, pending)
        run.waits(waiting.wake_in)
        flight = Flight(run, self._new_collector(), self._limits.timeout, self._limits)
        # What was printed before stays part of the result; listeners have seen it.
        flight.collector = Collector(self._limits.output, Listeners())
        flight.collector.output(1, waiting.stdout)
        flight.collector.output(2, waiting.stderr)
        flight.collector.listen(self._listeners)
        flight.suspended = dict(waiting.suspended)
        return flight

    def _mark(self, label: str) -> None:
        if not isinstance(label, str) or not label:
            raise TypeError("a checkpoint's label is a str that is not empty")
        self._timeline.add(self._state(), label)

    def _go_to(self, point: Point) -> None:
        self._become(point.state)
        self._timeline.go_to(point)
        self._changed = False

    def _rewind(self, place: str | int) -> None:
        self._go_to(self._timeline.find(place))
        self._timeline.undone.clear()

    def _undo(self, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"undo({n!r}): a number of executions, at least 1")
        if n > self._count:
            raise SessionError(f"undo({n}): only {self._count} executions can be undone")
        timeline = self._timeline
        point = timeline.find(self._count - n)
        left = [*timeline.between(point.state.count, self._count), Point(self._state(), None, timeline.past)]
        self._go_to(point)
        timeline.undone.extend(reversed(left))

    def _redo(self) -> None:
        undone = self._timeline.undone
        if not undone:
            raise SessionError("there is nothing to redo")
        self._timeline.add(self._state())
        point = undone.pop()
        self._become(point.state)
        self._timeline.past = point.past
        self._changed = True

    # -- snapshots -----------------------------------------------------------------------------------------

    @classmethod
    def from_snapshot(
        cls,
        snapshot: Snapshot | bytes,
        *,
        key: bytes | str | None = None,
        missing: Missing = "error",
        reseed: bool = True,
        **arguments: Any,
    ) -> Self:
        """A new session that goes on from a snapshot; `arguments` are the constructor's, the rest `restore_state`'s."""
        session = cls(**arguments)
        try:
            session._restore_snapshot(snapshot, key, missing, reseed)
        except BaseException:
            session._close()
            raise
        return session

    def _snapshot(self, parent: Snapshot | None, key: bytes | str | None) -> Snapshot:
        return take(self._state(complete=True), self._declarations(), self._executor.tier, parent=parent, key=key)

    def _declarations(self) -> list[Declaration]:
        """The callbacks that the guest knows: this session's, and those that a snapshot had and it lacks."""
        return [*(callback.declaration() for callback in self._callbacks), *self._missing.values()]

    def _restore_snapshot(
        self, given: Snapshot | bytes, key: bytes | str | None, missing: Missing, reseed: bool
    ) -> None:
        snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
        snapshot.check_key(key)
        lacking = Lacking.of(snapshot, self._callbacks, self._executor.files)
        lacking.judge(missing)
        state = read_state(
            snapshot, self._executor.files, memory_limit=self._limits.memory, without_mounts=lacking.mounts
        )
        settings = self._shell_settings()
        declarations = [*(callback.declaration() for callback in self._callbacks), *lacking.callbacks.values()]
        if encode(declarations) != encode(list(snapshot.record.declarations)):
            settings["callbacks"] = declarations
        if reseed and self._seed is None:
            settings["reseed"] = os.urandom(16)
        before = self._executor.capture()
        try:
            revive(self._executor, state.kernel, snapshot.header.tier)
            if settings:
                self._tell(("configure", settings))
        except BaseException as error:
            self._executor.restore(before)
            if isinstance(error, (Stopped, SessionError, ProtocolError)):
                raise SnapshotMismatch(f"this snapshot does not come to life: {error}") from error
            raise
        self._drop_answers()
        self._missing = lacking.callbacks
        self._timeline = Timeline()
        self._changed = True
        self._adopt(state)

    def _configure(self) -> None:
        """Tell a fresh kernel what this session is like."""
        settings: dict[str, Any] = {
            "callbacks": [callback.declaration() for callback in self._callbacks],
            "recursion_limit": self._limits.recursion,
            "argv": self._argv,
        }
        settings |= self._shell_settings()
        if self._limits.value is not None:
            settings["value_limit"] = self._limits.value
        if self._environment:
            settings["environ"] = self._environment
        settings["seed" if self._seed is not None else "reseed"] = (
            self._seed if self._seed is not None else os.urandom(16)
        )
        self._check_answer("configure", self._executor.tell(("configure", settings)))

    def _shell_settings(self) -> dict[str, Any]:
        return {"commands": list(self._commands), "shell_limits": asdict(self._shell_limits)}

    def _analyze(self, script: str) -> ScriptAnalysis:
        if not isinstance(script, str):
            raise TypeError(f"a script is a str, not a {type(script).__name__}")
        return ScriptAnalysis(**self._tell(("bash_analyze", script)))

    def _tell(self, command: tuple[Any, ...]) -> Any:
        """Give the kernel a command that runs no code of the user's; returns its answer."""
        guard = Guard(deadline=time.monotonic() + 60, grace=self._limits.grace)
        try:
            entered = self._executor.enter(command, guard)
        except (Stopped, ProtocolError) as stopped:
            state, self._pending = self._recover(self._count)
            reason = f"{command[0]}: the sandbox did not answer ({stopped}); {_what_is_left(state)}"
            raise CrashError(reason, state=state) from None
        answer = self._check_answer(command[0], entered)
        if entered.reason == "interrupt":
            raise KeyboardInterrupt
        return answer

    @staticmethod
    def _check_answer(name: str, entered: Entered) -> Any:
        match entered.report:
            case ("done", _):
                return None
            case ("answer", value):
                return value
            case ("error", dict(details)):
                raise SessionError(f"{name}: {details.get('type')}: {details.get('message')}")
        raise ProtocolError(f"the kernel answered {name!r} with {entered.report[0]!r}")

    def _complete(self, text: str, cursor: int | None) -> Completions:
        found = self._tell(("complete", text, len(text) if cursor is None else cursor))
        return Completions(found["matches"], found["start"], found["end"])

    def _clear(self) -> None:
        self._check_at_rest()
        self._tell(("clear",))
        self._changed = True

    def _reset(self) -> None:
        self._drop_answers()
        self._executor.reset()
        self._clean_slate()
        self._configure()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._drop_answers()
            self._flight = None
            self._executor.close()

    def _abandon(self, flight: Flight, error: BaseException) -> None:
        """Driving it failed in a way that nobody foresaw: the session goes back and stays usable."""
        if not flight.run.is_over:
            self._crashed(flight, Stopped(f"{type(error).__name__}: {error}", None))
        self._flight = None
        self._pending = flight.run.pending
        flight.inside = False

    def _lose_flight(self) -> None:
        """In a forked child: the thread that was inside this session does not exist here."""
        self._executor.abandon()
        self._flight = None
        self._is_broken = True

    def _mend(self) -> None:
        """In a forked child, before the session is used again: go back to the newest checkpoint."""
        self._is_broken = False
        _, self._pending = self._recover(self._count)
        self._changed = True

    def _after_fork(self) -> None:
        """Be usable in a child of this process, where only the forking thread exists."""
        raise NotImplementedError

    def _check_at_rest(self) -> None:
        if self._flight is not None:
            raise SessionBusy(
                "an execution waits in this session; resolve its pending calls or cancel it first"
            )

    def _drop_answers(self) -> None:
        """Nobody waits for the answers on their way any more."""
        for answer in self._answers.values():
            answer.cancel()
        self._answers.clear()

    def _on_their_way(self, flight: Flight) -> list[Any]:
        return [answer for one, answer in self._answers.items() if one in flight.run.pending]

    def _parks(self, flight: Flight, sleep: bool) -> bool:
        """Whether to leave a run that waits to itself, because only somebody else could get it further."""
        if flight.reason is not None or self._on_their_way(flight):
            return False
        return (
            not sleep or bool(flight.suspended) or (bool(flight.run.pending) and flight.run.wake_at is None)
        )

    def _collect(self, flight: Flight) -> None:
        """Take the answers that have come; cancel those that nobody awaits any more."""
        pending = flight.run.pending
        for identifier, answer in list(self._answers.items()):
            if identifier not in pending:
                answer.cancel()
            elif not answer.done():
                continue
            else:
                self._settle(flight, pending[identifier], _outcome(answer))
            del self._answers[identifier]

    def _check_in_flight(self, flight: Flight) -> None:
        if flight is not self._flight:
            raise SessionError("this execution is over, or the session was taken back to a state without it")

    def _take_answer(self, flight: Flight, identifier: int, answer: Answer) -> None:
        """An answer from outside to a call that waits."""
        self._check_in_flight(flight)
        call = flight.run.pending.get(identifier)
        if call is None:
            raise KeyError(f"no call {identifier} is pending; pending: {list(flight.run.pending.values())}")
        flight.suspended.pop(identifier, None)
        self._settle(flight, call, answer)

    def _suspended_result(self, flight: Flight) -> Result:
        """What there is of an execution that waits."""
        flight.pause()
        self._changed = True
        stdout_truncated, stderr_truncated = flight.collector.truncated
        return Result(
            stdout_bytes=flight.collector.stdout,
            stderr_bytes=flight.collector.stderr,
            outputs=list(flight.collector.outputs),
            execution_count=flight.run.count,
            duration_ms=(time.monotonic() - flight.started) * 1e3,
            callback_invocations=flight.callbacks,
            peak_memory_bytes=self._executor.memory_bytes,
            stdout_truncated=stdout_truncated,
            stderr_truncated=stderr_truncated,
            outputs_truncated=flight.collector.outputs_truncated,
            suspended=list(flight.run.pending.values()),
        )

    def _finish(self, flight: Flight) -> Result:
        """Turn a run that is over into a result."""
        self._flight = None
        flight.inside = False
        self._pending = flight.run.pending
        collector = flight.collector
        try:
            collector.finish()
        except BaseException as failure:  # a listener's
            flight.raises = flight.raises or failure
        outcome = flight.run.outcome
        assert outcome is not None
        details: dict[str, Any] = outcome[1]
        try:
            value = None if details.get("value") is None else decode(details["value"])
        except (ProtocolError, TypeError) as damage:
            outcome = ("error", {"type": "ProtocolError", "message": f"the value is damaged: {damage}"})
            details, value = outcome[1], None
        stdout_truncated, stderr_truncated = collector.truncated
        result = Result(
            value=value,
            stdout_bytes=collector.stdout,
            stderr_bytes=collector.stderr,
            outputs=collector.outputs,
            execution_count=flight.run.count,
            duration_ms=(time.monotonic() - flight.started) * 1e3,
            callback_invocations=flight.callbacks,
            peak_memory_bytes=self._executor.memory_bytes,
            stdout_truncated=stdout_truncated,
            stderr_truncated=stderr_truncated,
            outputs_truncated=collector.outputs_truncated,
            repr=details.get("repr"),
        )
        result.status = details.get("exit_code") if outcome[0] == "done" else None
        if outcome[0] == "error":
            result.value = result.repr = None
            result.error = self._error(flight, result, details)
        error = None if result.error is None else f"{result.error}"
        self._timeline.record(
            HistoryEntry(flight.run.count, flight.run.source, result.duration_ms, error, None)
        )
        flight.result = result
        if flight.raises is not None:
            raise flight.raises
        if flight.by_keyboard:
            # Its cause tells what was printed and where the code was stopped.
            raise KeyboardInterrupt from result.error
        return result

    def _error(self, flight: Flight, result: Result, details: dict[str, Any]) -> PlanariaError:
        printed: dict[str, Any] = {"stdout": result.stdout, "stderr": result.stderr}
        if isinstance(flight.failure, SessionError):
            return flight.failure
        if flight.crash is not None or details.get("type") == "KeyboardInterrupt":
            state = flight.state
            left = _what_is_left(state)
            if isinstance(flight.failure, LimitError):
                limit = flight.failure
                return _placed(
                    LimitError(f"{limit.message}; {left}", limit=limit.limit, state=state, **printed), details
                )
            if flight.reason == "timeout":
                return _placed(
                    TimeoutError(f"no end after {flight.timeout:g} s; {left}", state=state, **printed),
                    details,
                )
            if flight.reason == "cpu":
                message = f"the limit cpu_time of {self._limits.cpu_time:g} s is used up; {left}"
                return _placed(LimitError(message, limit="cpu_time", state=state, **printed), details)
            if flight.reason == "interrupt":
                return _placed(Interrupted(f"interrupted; {left}", state=state, **printed), details)
            if flight.crash is not None and details.get("exit_code") is not None:
                exited = Exited(f"{flight.crash}; {left}", type="SystemExit", **printed)
                exited.exit_code = details["exit_code"]
                return exited
            if flight.crash is not None:
                return CrashError(f"the sandbox crashed ({flight.crash}); {left}", state=state, **printed)
        kind = Exited if details.get("exit_code") is not None else ExecutionError
        error = kind(
            details.get("message", ""),
            type=details.get("type", "Exception"),
            traceback=details.get("traceback", ""),
            lineno=details.get("lineno"),
            details=details,
            **printed,
        )
        error.exit_code = details.get("exit_code")
        return error

    # -- host calls ---------------------------------------------------------------------------------------

    def _admit(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Callback:
        """The callback of that name, counted; raises what the guest shall see instead.

        The kernel has checked the arguments already; but the guest could send anything.
        """
        flight = self._flight
        assert flight is not None
        callback = self._commands.get(name[1:]) if name.startswith("!") else self._callbacks.get(name)
        if callback is None:
            if name in self._missing:
                raise NameError(f"the session that this snapshot was taken from had a callback {name!r}; this has not")
            raise NameError(f"there is no callback {name!r} in this session")
        limit = self._limits.callbacks
        if limit is not None and flight.callbacks >= limit:
            message = f"the limit callbacks={limit} of one execution is reached at {name}()"
            flight.failure = flight.failure or LimitError(message, limit="callbacks")
            self._stop(flight)
            raise RuntimeError(f"no more than {limit} callbacks in one execution")
        if callback.signature is not None:
            try:
                callback.signature.bind(*arguments, **keywords)
            except TypeError as error:
                raise TypeError(f"{callback.name}{callback.signature}: {error}") from None
        flight.callbacks += 1
        return callback

    def _call_plainly(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a plain function, marked as inside this session."""
        token = _calling_back.set(_calling_back.get() | {id(self)})
        try:
            return callback.function(*arguments, **keywords)
        finally:
            _calling_back.reset(token)

    async def _call_async(
        self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Answer:
        """Call a function within its time, a plain one on a thread of its own; never raises but Suspend."""
        try:
            if callback.is_async:
                # A context variable set in a task stays in that task.
                _calling_back.set(_calling_back.get() | {id(self)})
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

    def _block(self, flight: Flight, name: str, future: Future[Answer]) -> Answer:
        """Wait for an answer while the guest blocks."""
        with flight.waking() as alarm:
            ends: list[Future[Any]] = [alarm, future]
            wait(ends, flight.seconds_left(), FIRST_COMPLETED)
        if future.done():
            return _outcome(future)
        future.cancel()
        if flight.asked:
            return ("error", "RuntimeError", f"callback {name}() was interrupted")
        self._executor.interrupt("timeout")
        return ("error", "TimeoutError", f"no time left for callback {name}()")

    @staticmethod
    def _cannot_suspend(name: str) -> Answer:
        """A call that blocks has a stack, which cannot be put aside."""
        return (
            "error",
            "RuntimeError",
            f"{name}() wants to suspend; only an awaited call can: await {name}(...)",
        )

    def _settle(self, flight: Flight, call: HostCall, answer: Answer) -> None:
        """Feed an answer to the run, unless nobody waits for it any more."""
        run = flight.run
        if call.id not in run.pending:
            return
        match answer:
            case ("ok", value):
                run.resolve(call.id, value)
            case ("error", kind, message):
                run.reject(call.id, kind, message)
            case ("suspend", reason):
                flight.suspended[call.id] = reason


def _outcome(answer: Future[Answer] | asyncio.Task[Answer]) -> Answer:
    """The answer to a call that is no longer on its way."""
    if answer.cancelled():
        return ("error", "RuntimeError", "the call was cancelled on the host")
    return answer.result()


def _cannot_cross(value: Any) -> tuple[str, str] | None:
    """The exception that takes the place of a callback's result, if that cannot be sent."""
    try:
        encode(value)
    except EncodeError as error:
        return "TypeError", f"the callback returned what cannot cross: {error}"
    return None


def _does_not_fit(value: Any) -> tuple[str, str] | None:
    """As `_cannot_cross`, when the sandbox had no memory for the answers together."""
    size = len(encode(value))
    if size < _SMALL_ANSWER:
        return None
    return "MemoryError", f"the callback's result of {size} bytes does not fit the memory of this sandbox"


def _what_is_left(state: str) -> str:
    """In words, what a stop left of the session."""
    if state == "kept":
        return "it was stopped at a line and the session has the state reached there"
    if state == "rewound":
        return "it had to be stopped hard and the session went back to the state before this execution"
    if state == "lost":
        return "it had to be stopped hard and the session began afresh"
    return f"it had to be stopped hard and the session was {state}, its newest checkpoint"


def _placed(error: _Placed, details: dict[str, Any]) -> _Placed:
    """With the traceback and line at which the code was stopped."""
    error.traceback = details.get("traceback", "")
    error.lineno = details.get("lineno")
    return error


def _seconds(milliseconds: float | None) -> float | None:
    """`execution_timeout_ms` as `Limits.timeout` has it."""
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or not milliseconds > 0:
        raise ValueError(
            f"execution_timeout_ms={milliseconds!r}: milliseconds greater than 0, or None for no bound"
        )
    return milliseconds / 1e3


def _line_reader(stdin: str | Callable[[str], str | None] | None) -> Callable[[str], str | None] | None:
    """`stdin=` as a function of the prompt that gives lines without their newline, None at the end."""
    if stdin is None or callable(stdin):
        return stdin
    if not isinstance(stdin, str):
        raise TypeError(f"stdin= is a text or a function of the prompt, not a {type(stdin).__name__}")
    lines = iter(io.StringIO(stdin, newline=None))
    return lambda _prompt: next(lines, None)


@cache
def _usual_tree() -> MountFileSystem:
    """The tree of a session that asks for nothing special; never changed."""
    return standard_layout(library=library(), quota=_QUOTA)
