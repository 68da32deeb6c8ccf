"""What sessions with and without `await` share: everything that is not waiting.

A session enters its executor, hands out the host calls that the code makes, and turns reports into results.
`Session` and `AsyncSession` differ only in how they wait.
"""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Self

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
    Suspend,
    TimeoutError,
)
from planaria.executors.wasm import TierNeeded, WasmExecutor
from planaria.files.layout import standard_layout
from planaria.limits import NOT_GIVEN, Guard, Limits, NotGiven, Stopped, StopReason
from planaria.machine.image import Recipe, load_image
from planaria.machine.wasi.clock import Clock
from planaria.machine.wasi.random import SeededRandom
from planaria.protocol import decode, encode
from planaria.runtime.library import library
from planaria.session.callbacks import Callback, CallbackRegistry, describe_exception
from planaria.session.collector import Collector, Listeners
from planaria.session.result import Result
from planaria.session.run import HostCall, Run
from planaria.session.threads import submit
from planaria.session.timeline import Budget, HistoryEntry, Point, Timeline
from planaria.snapshot.reading import read_state
from planaria.snapshot.record import Declaration
from planaria.snapshot.requirements import Lacking, Missing
from planaria.snapshot.reviving import ask, revive
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState, WaitingRun
from planaria.snapshot.writing import take

__all__ = ["BaseSession", "Flight"]

#: The sessions inside whose callbacks the present code runs; a session refuses to be entered again from there.
_calling_back: Final[contextvars.ContextVar[frozenset[int]]] = contextvars.ContextVar(
    "planaria_calling_back", default=frozenset()
)

Answer = tuple[Any, ...]


class Flight:
    """An execution together with what it printed so far, when it must end, and why it was stopped."""

    def __init__(self, run: Run, collector: Collector, timeout: float | None, limits: Limits) -> None:
        self.run = run
        self.collector = collector
        self.limits = limits
        self.started = time.monotonic()
        self.timeout = timeout
        self.deadline = None if timeout is None else self.started + timeout
        self.cpu_left = limits.cpu_time
        self.callbacks = 0
        self.reason: StopReason | None = None
        #: The error that ends the execution whatever the kernel reports (a limit, a listener's exception).
        self.failure: BaseException | None = None
        #: What the stop left of the session; see `errors._Stopped`.
        self.state = "kept"
        self.crash: str | None = None
        #: After a stop: when patience with code that does not come back ends.
        self.patience: float | None = None
        #: Stopped by Ctrl-C: KeyboardInterrupt is raised here once the guest has stopped.
        self.by_keyboard = False
        #: Calls whose callback raised Suspend, with its reason: somebody answers them later.
        self.suspended: dict[int, str] = {}

    def guard(self) -> Guard:
        """The bounds of the next entry."""
        return Guard(
            deadline=self.deadline if self.reason is None else None,
            cpu=self.cpu_left if self.reason is None else None,
            grace=self.limits.grace,
        )

    def stop(self, reason: StopReason) -> None:
        """Have the code interrupted where it waits."""
        self.reason = reason
        self.patience = time.monotonic() + self.limits.grace
        self.run.cancel("KeyboardInterrupt", "")

    def seconds_left(self) -> float | None:
        """How long the code may go on waiting, also for its own timers; None without a bound."""
        ends = [
            moment
            for moment in (
                self.run.wake_at,
                self.deadline if self.reason is None else self.patience,
            )
            if moment is not None
        ]
        return max(0.0, min(ends) - time.monotonic()) if ends else None


class BaseSession:
    """See `Session`; this class has everything but the waiting."""

    def __init__(
        self,
        *,
        callbacks: Iterable[Callback | Mapping[str, Any] | Callable[..., Any]] | CallbackRegistry = (),
        limits: Limits | None = None,
        execution_timeout_ms: float | None | NotGiven = NOT_GIVEN,
        env: Mapping[str, str] | None = None,
        stdin: str | Callable[[str], str | None] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_output: Callable[[str, Any], object] | None = None,
    ) -> None:
        """Make a session; the runtime is compiled first when this user has none yet (15 s, once).

        `callbacks` are functions, dicts with name, fn, description and schema, or a `CallbackRegistry`.
        `execution_timeout_ms` is `limits.timeout` in milliseconds. `env` are environment variables beside the
        usual ones; nothing comes from the host's. `stdin` feeds `input()`: a text, or a function of the prompt
        that gives a line or None. `clock` replaces the time (see `planaria.FrozenClock`), `seed` makes every
        random number repeatable. `on_stdout(text)`, `on_stderr(text)` and `on_output(stream, text or Output)` are
        called as output arrives.
        """
        self._callbacks = callbacks if isinstance(callbacks, CallbackRegistry) else CallbackRegistry(callbacks)
        self._limits = limits or Limits()
        if not isinstance(execution_timeout_ms, NotGiven):
            bound = None if execution_timeout_ms is None else execution_timeout_ms / 1e3
            self._limits = replace(self._limits, timeout=bound)
        self._listeners = Listeners(on_stdout, on_stderr, on_output)
        self._stdin = _line_reader(stdin)
        self._environment = dict(env or {})
        self._seed = seed
        self._clean_slate()
        self._closed = False
        tree = standard_layout(library=library(), clock=time.time_ns if clock is None else clock.realtime)
        self._files = tree
        self._executor = WasmExecutor(
            self,
            load_image(Recipe()),
            tree,
            memory_limit=self._limits.memory,
            clock=clock,
            random=None if seed is None else SeededRandom(seed),
        )
        self._configure()
        self._prepare()

    def _prepare(self) -> None:
        """What a kind of session needs to wait."""

    def _clean_slate(self) -> None:
        """Nothing has been executed yet."""
        self._count = 0
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
    def is_closed(self) -> bool:
        return self._closed

    def interrupt(self) -> None:
        """Stop the execution that runs now, from another thread: it ends with `Interrupted`."""
        flight = self._flight
        if flight is not None:
            flight.reason = flight.reason or "interrupt"
            self._executor.interrupt()

    # -- the host's side of the kernel (executors.executor.Host) -------------------------------------------

    def output(self, descriptor: int, data: bytes) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.output(descriptor, data)
        except BaseException as error:
            self._fail(flight, error)

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        flight = self._flight
        if flight is None:
            return
        try:
            flight.collector.display(kind, data, metadata)
        except BaseException as error:
            self._fail(flight, error)

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        raise NotImplementedError

    def input(self, prompt: str) -> str | None:
        return None if self._stdin is None else self._stdin(prompt)

    def _fail(self, flight: Flight, error: BaseException) -> None:
        """A function of the user's failed while the guest was running: stop, and raise it when it has stopped."""
        if flight.failure is None:
            flight.failure = error
        self._executor.interrupt()

    # -- one execution ----------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosed("this session is closed; make a new one")

    def _check_not_calling_back(self) -> None:
        if id(self) in _calling_back.get():
            raise SessionBusy(
                "this session waits for the very callback that wants to use it; "
                "return from the callback first, or use another session"
            )

    def _begin(self, code: str, timeout: float | None | NotGiven) -> Flight:
        if not isinstance(code, str):
            raise TypeError(f"code is a str, not a {type(code).__name__}")
        bound = self._limits.timeout if isinstance(timeout, NotGiven) else timeout
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, float)) or not bound > 0):
            raise ValueError(f"timeout={timeout!r}: seconds greater than 0, or None for no bound")
        if self._flight is not None:
            raise SessionBusy(
                "an execution waits in this session; resolve its pending calls or cancel it before the next one"
            )
        self._timeline.undone.clear()
        self._checkpoint()
        self._count += 1
        run = Run(code, self._count, self._executor.tier, self._pending)
        flight = Flight(run, self._new_collector(), bound, self._limits)
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
        finally:
            if flight.cpu_left is not None:
                flight.cpu_left = max(0.0, flight.cpu_left - (time.thread_time() - began))
        if entered.reason is not None and flight.reason is None:
            flight.reason = entered.reason
            flight.by_keyboard = entered.reason == "interrupt" and flight.failure is None
            flight.patience = time.monotonic() + self._limits.grace
        if entered.report[0] == "tier":
            # Nothing has been run: the source imports modules that only the full tier has.
            self._executor.move_up()
            run.begin_again(self._executor.tier)
            return []
        return run.report(entered.report)

    def _begin_again(self, flight: Flight, needed: TierNeeded) -> None:
        """Code on the core tier imported a module of the full tier by a way that nobody could foresee.

        Code cannot be swapped under a running call, so the execution is made again from its beginning on the
        full tier, unless somebody outside has seen something of it.
        """
        point = self._timeline.before(self._count - 1)
        assert point is not None, "on the core tier there is a point before every execution"
        self._executor.restore(point.state.kernel)
        self._executor.move_up()
        if not flight.callbacks and not (self._listeners.any and flight.collector.has_output):
            flight.collector = self._new_collector()
            flight.run.begin_again(self._executor.tier)
            return
        flight.failure = SessionError(
            f"this execution reached an import of {needed}, for which the session had to go back to the state "
            "before it and move to the full runtime; it had called the host already, so it was not run "
            "again by itself. Run it again if that is safe."
        )
        flight.run.report(("error", {"type": "SessionError", "message": str(flight.failure)}))

    def _new_collector(self) -> Collector:
        return Collector(self._limits.output, self._listeners)

    def _look_at_clock(self, flight: Flight) -> None:
        """After a wait: stop code whose time is over, give up code that does not heed it."""
        now = time.monotonic()
        if flight.reason is None:
            if flight.deadline is not None and now >= flight.deadline:
                flight.stop("timeout")
        elif flight.patience is not None and now >= flight.patience and not flight.run.can_step:
            self._crashed(flight, Stopped("it went on waiting after it was interrupted", flight.reason))

    def _crashed(self, flight: Flight, stopped: Stopped) -> None:
        """The kernel is gone: bring the session back to life and end the execution."""
        flight.reason = flight.reason or stopped.reason
        flight.crash = stopped.message
        flight.state = self._recover()
        flight.run.report(("error", {"type": "Stopped", "message": stopped.message}))
        flight.run.pending.clear()

    def _recover(self) -> str:
        """After a hard stop: "rewound" to the newest checkpoint, or "lost" when the session begins afresh."""
        points = [point for point in self._timeline.points if point.state.run is None]
        if not points:
            self._executor.reset()
            self._configure()
            return "lost"
        newest = max(points, key=lambda point: point.state.count)
        self._executor.restore(newest.state.kernel)
        return "rewound" if newest.state.count == self._count - 1 else f"rewound to {newest.state.count}"

    # -- going back -------------------------------------------------------------------------------------------

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first."""
        kept = {point.state.count: point.label or point.state.count for point in self._timeline.points}
        return [replace(entry, checkpoint=kept.get(entry.count - 1)) for entry in self._timeline.history]

    def _checkpoint(self) -> None:
        """An automatic point before an execution, if the budget allows.

        Always on the core tier, where an import may need one.
        """
        if self._changed and (self._budget.allows() or self._executor.tier == "core"):
            began = time.perf_counter()
            self._timeline.add(Point(self._state()))
            self._changed = False
            self._budget.spend(time.perf_counter() - began)

    def _state(self) -> SessionState:
        """The present state; the kernel must be at rest."""
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
        return SessionState(self._executor.capture(), self._count, tuple(self._pending.values()), run)

    def _become(self, state: SessionState) -> None:
        """Go on from `state`; on failure nothing has changed."""
        self._executor.restore(state.kernel)
        self._adopt(state)

    def _adopt(self, state: SessionState) -> None:
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
        self._timeline.add(Point(self._state(), label))

    def _go_to(self, point: Point) -> None:
        self._become(point.state)
        self._timeline.forget_after(point)
        self._changed = False

    def _rewind(self, place: str | int) -> None:
        self._go_to(self._timeline.find(place))

    def _undo(self, n: int) -> None:
        if n < 1 or n > self._count:
            raise SessionError(f"undo({n}): {self._count} executions can be undone")
        point = self._timeline.find(self._count - n)
        undone = self._timeline.undone
        present = self._state()
        between = [one.state for one in self._timeline.points if point.state.count < one.state.count < self._count]
        self._go_to(point)
        undone.append(present)
        undone.extend(reversed(between))

    def _redo(self) -> None:
        undone = self._timeline.undone
        if not undone:
            raise SessionError("there is nothing to redo")
        self._timeline.add(Point(self._state()))
        self._become(undone.pop())
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
        """A new session that goes on from a snapshot.

        `arguments` are the constructor's, the others `restore_state`'s, whose errors are raised.
        """
        session = cls(**arguments)
        try:
            session._restore_snapshot(snapshot, key, missing, reseed)
        except BaseException:
            session._close()
            raise
        return session

    def _snapshot(self, parent: Snapshot | None, key: bytes | str | None) -> Snapshot:
        return take(self._state(), self._declarations(), self._executor.tier, parent=parent, key=key)

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
        settings: dict[str, Any] = {}
        declarations = [*(callback.declaration() for callback in self._callbacks), *lacking.callbacks.values()]
        if encode(declarations) != encode(list(snapshot.record.declarations)):
            settings["callbacks"] = declarations
        if reseed and self._seed is None:
            settings["reseed"] = os.urandom(16)
        before = self._executor.capture()
        try:
            revive(self._executor, state.kernel, snapshot.header.tier)
            if settings:
                ask(self._executor, ("configure", settings))
        except BaseException:
            self._executor.restore(before)
            raise
        self._drop_answers()
        self._missing = lacking.callbacks
        self._timeline = Timeline()
        self._changed = True
        self._adopt(state)

    def _drop_answers(self) -> None:
        """Forget the answers on their way to the state that is replaced."""

    def _configure(self) -> None:
        """Tell a fresh kernel what this session is like."""
        settings: dict[str, Any] = {
            "callbacks": [callback.declaration() for callback in self._callbacks],
            "recursion_limit": self._limits.recursion,
        }
        if self._environment:
            settings["environ"] = self._environment
        settings["seed" if self._seed is not None else "reseed"] = (
            self._seed if self._seed is not None else os.urandom(16)
        )
        self._tell(("configure", settings))

    def _tell(self, command: tuple[Any, ...]) -> Any:
        """Give the kernel a command that runs no code of the user's; returns its answer."""
        entered = self._executor.enter(command, Guard(deadline=time.monotonic() + 60))
        match entered.report:
            case ("done", _):
                return None
            case ("answer", value):
                return value
            case ("error", dict(details)):
                raise SessionError(f"{command[0]}: {details.get('type')}: {details.get('message')}")
        raise ProtocolError(f"the kernel answered {command[0]!r} with {entered.report[0]!r}")

    def _clear(self) -> None:
        self._tell(("clear",))

        self._changed = True

    def _reset(self) -> None:
        self._executor.reset()
        self._clean_slate()
        self._configure()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._executor.close()

    def _finish(self, flight: Flight) -> Result:
        """Turn a run that is over into a result."""
        self._flight = None
        self._pending = flight.run.pending
        collector = flight.collector
        collector.finish()
        if flight.failure is not None and not isinstance(flight.failure, PlanariaError):
            raise flight.failure
        if flight.by_keyboard:
            raise KeyboardInterrupt
        outcome = flight.run.outcome
        assert outcome is not None
        details: dict[str, Any] = outcome[1]
        value = details.get("value")
        stdout_truncated, stderr_truncated = collector.truncated
        result = Result(
            value=None if value is None else decode(value),
            stdout_bytes=collector.stdout,
            stderr_bytes=collector.stderr,
            outputs=collector.outputs,
            execution_count=flight.run.count,
            duration_ms=(time.monotonic() - flight.started) * 1e3,
            callback_invocations=flight.callbacks,
            peak_memory_bytes=self._executor.memory_bytes,
            stdout_truncated=stdout_truncated,
            stderr_truncated=stderr_truncated,
            repr=details.get("repr"),
        )
        if outcome[0] == "error":
            result.value = result.repr = None
            result.error = self._error(flight, result, details)
        error = None if result.error is None else f"{result.error}"
        self._timeline.history.append(
            HistoryEntry(flight.run.count, flight.run.source, result.duration_ms, error, None)
        )
        return result

    def _error(self, flight: Flight, result: Result, details: dict[str, Any]) -> PlanariaError:
        printed = {"stdout": result.stdout, "stderr": result.stderr}
        if isinstance(flight.failure, SessionError):
            return flight.failure
        if flight.crash is not None or details.get("type") == "KeyboardInterrupt":
            state = flight.state
            left = _what_is_left(state)
            if isinstance(flight.failure, LimitError):
                return flight.failure
            if flight.reason == "timeout":
                return _placed(
                    TimeoutError(f"no end after {flight.timeout:g} s; {left}", state=state, **printed), details
                )
            if flight.reason == "cpu":
                message = f"the limit cpu_time of {self._limits.cpu_time:g} s is used up; {left}"
                return _placed(LimitError(message, limit="cpu_time", state=state, **printed), details)
            if flight.reason == "interrupt":
                return _placed(Interrupted(f"interrupted; {left}", state=state, **printed), details)
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
        callback = self._callbacks.get(name)
        if callback is None:
            if name in self._missing:
                raise NameError(f"the session that this snapshot was taken from had a callback {name!r}; this has not")
            raise NameError(f"there is no callback {name!r} in this session")
        limit = self._limits.callbacks
        if limit is not None and flight.callbacks >= limit:
            if flight.failure is None:
                flight.failure = LimitError(
                    f"the limit callbacks={limit} of one execution is reached at {name}()", limit="callbacks"
                )
                self._executor.interrupt()
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

    async def _call_async(self, callback: Callback, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Answer:
        """Call a function within its time, a plain one on a thread of its own; never raises but Suspend."""
        try:
            if callback.is_async:
                # A context variable set in a task stays in that task.
                _calling_back.set(_calling_back.get() | {id(self)})
                waiting = callback.function(*arguments, **keywords)
            else:
                waiting = asyncio.wrap_future(submit(lambda: self._call_plainly(callback, arguments, keywords)))
            try:
                async with asyncio.timeout(self._limits.callback_timeout) as timeout:
                    return ("ok", await waiting)
            except builtins.TimeoutError:
                if not timeout.expired():
                    raise
                bound = self._limits.callback_timeout
                return ("error", "TimeoutError", f"callback {callback.name}() took longer than {bound:g} s")
        except Suspend as suspend:
            return ("suspend", suspend.reason)
        except Exception as error:
            return ("error", *describe_exception(error))

    @staticmethod
    def _cannot_suspend(name: str) -> Answer:
        """A call that blocks has a stack, which cannot be put aside."""
        return ("error", "RuntimeError", f"{name}() wants to suspend; only an awaited call can: await {name}(...)")

    def _settle(self, flight: Flight, call: HostCall, answer: Answer) -> None:
        """Feed an answer to the run, unless nobody waits for it any more."""
        run = flight.run
        if call.id not in run.pending:
            return
        match answer:
            case ("ok", value):
                try:
                    run.resolve(call.id, value)
                except EncodeError as error:
                    run.reject(call.id, "TypeError", f"{call.name}() returned what cannot cross: {error}")
            case ("error", kind, message):
                run.reject(call.id, kind, message)
            case ("suspend", reason):
                flight.suspended[call.id] = reason


def _what_is_left(state: str) -> str:
    """In words, what a stop left of the session."""
    if state == "kept":
        return "it was stopped at a line and the session has the state reached there"
    if state == "rewound":
        return "it had to be stopped hard and the session went back to the state before this execution"
    if state == "lost":
        return "it had to be stopped hard and the session began afresh"
    return f"it had to be stopped hard and the session was {state}, its newest checkpoint"


def _placed(error: Any, details: dict[str, Any]) -> Any:
    """With the traceback and line at which the code was stopped."""
    error.traceback = details.get("traceback", "")
    error.lineno = details.get("lineno")
    return error


def _line_reader(stdin: str | Callable[[str], str | None] | None) -> Callable[[str], str | None] | None:
    """`stdin=` as a function of the prompt that gives lines without their newline, None at the end."""
    if stdin is None or callable(stdin):
        return stdin
    lines = iter(stdin.splitlines())
    return lambda _prompt: next(lines, None)
