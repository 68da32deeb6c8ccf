"""Playback: a recording is executed again without the outside, as far as wanted."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from planaria.errors import PlanariaError, ProtocolError, ReplayError, SessionError
from planaria.executors.executor import SandboxSetup
from planaria.executors.journal import Entry, Player, outcome_inside
from planaria.executors.messages import Done, Failed, HostCall, RunCode, RunScript, Waiting
from planaria.executors.wasm import WasmExecutor
from planaria.files.journaled import JournaledFileSystem
from planaria.files.layout import make_directories, standard_layout
from planaria.files.manifest import bytes_of
from planaria.files.overlay import OverlayFileSystem
from planaria.files.quota import Quota
from planaria.images.layers import image_of
from planaria.limits import Limits, ShellLimits, Stopped
from planaria.machine.recipe import Recipe
from planaria.machine.wasi.random import SeededRandom
from planaria.runtime.guest_files import library
from planaria.session import executing
from planaria.session.deterministic import Deterministic
from planaria.session.engine import SessionEngine
from planaria.session.execution_state import ExecutionState
from planaria.session.line_stops import Line, LineQuery, line_found, look_for
from planaria.session.phases import Phase
from planaria.session.result import Result
from planaria.session.settings import SessionSettings
from planaria.session.weak_host import WeakHost
from planaria.snapshot.decode import read_state
from planaria.snapshot.difference import fingerprint
from planaria.snapshot.digest import digest_of
from planaria.snapshot.recording import Began, Ended, Recording
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState
from planaria_kernel.protocol import Budget, decode
from planaria_kernel.protocol.commands import outline

__all__ = ["Playback"]

#: States between executions that a replay keeps to go back to.
_KEEP: Final = 64
#: Bytes that a decoded command may take.
_MOST: Final = 1 << 30
#: The commands that are part of an execution.
_EXECUTING: Final = frozenset({"run", "resume", "cancel", "bash", "bash_program"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Playback:
    """A recording that is executed again, one execution after the other, without the outside.

    It stands between two executions, or after `step_call` in one that waits; `position` says after how many.
    The code gets what it got when it was recorded: no callback is called, no server asked, no file of the
    host read.
    Raises ReplayError when it goes another way all the same, which a damaged recording can do.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._player = Player()
        try:
            settings = _settings(recording.settings)
            self._engine = engine = SessionEngine(settings)
            self._setup = _setup(recording.settings, settings, self._player)
        except (TypeError, ValueError, KeyError) as error:
            raise ReplayError(f"the settings of this recording are not well formed: {error}") from error
        engine.executor.start(WeakHost(engine), settings.bounds, self._setup)
        engine.phase = Phase.READY
        #: The item that comes next.
        self._next = 0
        self._position = 0
        self._points: dict[int, tuple[int, SessionState]] = {}
        self._results: list[Result] = []
        self._line: Line | None = None
        self._enter_first_state()

    def _enter_first_state(self) -> None:
        """Become the state in which the recording begins."""
        first = next((item for item in self.recording.items if isinstance(item, Snapshot)), None)
        if first is None:
            raise ReplayError("this recording has no state to begin with")
        self._become(first)
        began = next((item for item in self.recording.items if isinstance(item, Began)), None)
        self._engine.count = self.recording.last.count if began is None else began.count - 1
        self._keep_point()

    # -- where it stands -------------------------------------------------------------------------------------

    @property
    def executions(self) -> list[Ended]:
        """The executions of the recording, the oldest first."""
        return self.recording.executions

    @property
    def position(self) -> int:
        """How many executions have been done again."""
        return self._position

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do again."""
        return self._next >= len(self.recording.items)

    @property
    def results(self) -> list[Result]:
        """What the executions up to here gave."""
        return list(self._results)

    @property
    def pending(self) -> list[HostCall]:
        """The calls for which the execution waits in which it stands, if it stands in one."""
        execution = self._engine.execution
        return [] if execution is None else list(execution.pending.values())

    @property
    def line(self) -> Line | None:
        """The line of the next execution at which it stands; see `until`."""
        return self._line

    def state_digest(self) -> str:
        """The digest of the present state; at the end that of the session. See `Session.state_digest`."""
        return digest_of(self._engine.state())

    # -- going on and back -----------------------------------------------------------------------------------

    def step(self) -> Result | None:
        """Do the next execution again, or the rest of one; what it gave, None at the end.

        One that was stopped (by a time limit, Ctrl-C, a crash) is not done again: the replay takes the state
        that it left, and the result has a ReplayError that says so.
        """
        while not self.is_over:
            if (result := self._do_next()) is not None:
                return result
        return None

    def step_call(self) -> list[HostCall]:
        """Go on until the code awaits further calls or an execution ends; the calls that wait then, of which
        there are none at an end.
        """
        before = {call.id for call in self.pending}
        while not self.is_over:
            if self._do_next() is not None:
                break
            waits = self.pending
            if any(call.id not in before for call in waits):
                return waits
        return []

    def run(self) -> Self:
        """Do all the rest again."""
        while not self.is_over:
            self._do_next()
        return self

    def back(self) -> None:
        """Go back by one execution, or to the beginning of the one in which it stands."""
        inside = self._engine.execution is not None or self._line is not None
        self.go_to(self._position if inside else max(0, self._position - 1))

    def go_to(self, position: int) -> None:
        """Go to the state after so many executions, forwards or backwards. Raises ValueError."""
        if isinstance(position, bool) or not isinstance(position, int):
            raise TypeError(f"go_to(): a position is a number of executions, not {position!r}")
        if not 0 <= position <= len(self.executions):
            raise ValueError(f"go_to({position}): there are {len(self.executions)} executions")
        self._line = None
        if position < self._position or self._engine.execution is not None:
            start = max(one for one in self._points if one <= position)
            place, state = self._points[start]
            self._restore(state)
            self._next, self._position = place, start
            del self._results[start:]
        while self._position < position:
            self._do_next()

    # -- lines -----------------------------------------------------------------------------------------------

    def until(self, line: int, cell: int | None = None) -> Line | None:
        """Go on to where a line of the next execution is about to be executed; None if that does not happen.

        `line` counts from 1 within the code of that execution, or of the one whose number is `cell`, for a
        function that was defined there. Again, it goes on to where that line comes the next time. The
        execution itself is done in a copy: `position` is that before it, `evaluate` looks at the copy's names
        there, `step` does all of it and `back` returns to before it. Raises ValueError for what is not a
        number of a line, ReplayError for an execution that was stopped, which cannot be done again.
        """
        if isinstance(line, bool) or not isinstance(line, int) or line < 1:
            raise ValueError(f"until({line!r}): a line is a number from 1 on")
        began = self._next_execution()
        place = _cell_name(began) if cell is None else f"<cell {cell}>"
        return self._go_to_line(LineQuery(self._after_line(), place, line))

    def step_line(self) -> Line | None:
        """Go on by one line of a cell, also into a function and out of it; None at the execution's end."""
        return self._go_to_line(LineQuery(self._after_line()))

    def back_line(self) -> Line | None:
        """Go back by one line; None before the first, where it stands before the execution then."""
        if self._line is None or self._line.number == 0:
            self._line = None
            return None
        return self._go_to_line(LineQuery(self._line.number - 1))

    def _after_line(self) -> int:
        return 0 if self._line is None else self._line.number + 1

    def _go_to_line(self, query: LineQuery) -> Line | None:
        if (found := self._seek(query)) is None:
            return None
        self._line, _ = found
        return self._line

    def evaluate_at_line(self, code: str) -> Result:
        """What an expression gives where the replay stands at a line, with the names of its function."""
        assert self._line is not None
        found = self._seek(LineQuery(self._line.number, code=code))
        assert found is not None
        return found[1]

    def _next_execution(self) -> Began:
        """The execution that `step` would do. Raises ReplayError at the end."""
        if self._engine.execution is not None:
            self.back()
        for item in self.recording.items[self._next :]:
            if isinstance(item, Began):
                return item
        raise ReplayError("this is the end of the recording: no execution follows that has lines")

    def _seek(self, query: LineQuery) -> tuple[Line, Result] | None:
        """Do the next execution in a copy that looks for a line."""
        began = self._next_execution()
        if began.is_script:
            return None
        with self._scout() as scout:
            tool: int | None = None
            begun = 0
            found: tuple[Line, Result] | None = None
            failure: ReplayError | None = None
            while not scout.is_over:
                item = self.recording.items[scout._next]
                if isinstance(item, Entry) and scout._engine.execution is not None:
                    if not item.report and self._is_stopped_at(scout._next):
                        raise ReplayError("this execution was stopped, so that it has no lines to go to")
                    if tool is None:
                        tool = look_for(scout._executor, _cell_name(began), query, begun)
                elif isinstance(item, Snapshot) and tool is not None:
                    # The kernel is about to become another one, which does not look for it.
                    found, begun = line_found(scout._executor, tool)
                    tool = None
                    if found is not None:
                        return found
                try:
                    if scout._do_next() is not None:
                        break
                except ReplayError as error:
                    # Code that was evaluated at the line may have changed something: only what comes after
                    # that goes another way.
                    failure = error
                    break
            if tool is not None:
                found, _ = line_found(scout._executor, tool)
        if found is None and failure is not None:
            raise failure
        return found

    def _is_stopped_at(self, place: int) -> bool:
        """Whether an execution got no further than to this entry. One that needs the full runtime all of a
        sudden is stopped, too, and done again.
        """
        for item in self.recording.items[place + 1 :]:
            if isinstance(item, (Began, Ended)):
                return True
            if isinstance(item, Entry):
                return False
        return True

    def _scout(self) -> Playback:
        """Another replay, which stands where this one does."""
        scout = Playback.__new__(Playback)
        scout.recording, scout._player = self.recording, Player()
        scout._engine = self._engine.copy(
            self._engine.state(shared=True), reseed=False, journal=scout._player
        )
        scout._next, scout._position = self._next, self._position
        scout._points, scout._results, scout._line = {}, [], None
        return scout

    # -- looking ---------------------------------------------------------------------------------------------

    def explain(self, name: str, among: Collection[Ended] | None = None) -> Ended | None:
        """The execution that last changed the variable `name`, up to the end; None when none has it.

        Changed is what has another value or contents, also through another name. Only executions of `among`
        are looked at, if that is given. Goes to the end.
        """
        self.go_to(0)
        found: Ended | None = None
        for execution in self.executions:
            if among is not None and execution not in among:
                self.step()
                continue
            while not isinstance(self.recording.items[self._next], (Entry, Ended)):
                self._do_next()  # also the state from which it begins
            before = self._fingerprint(name)
            self.step()
            if self._fingerprint(name) != before:
                found = execution
        return found

    def _fingerprint(self, name: str) -> object:
        state = self._engine.state(shared=True)
        copy = self._engine.copy(SessionState(state.kernel, state.count), reseed=False)
        try:
            return fingerprint(copy.executor, name)
        finally:
            copy.close()

    def close(self) -> None:
        """Release the sandbox; closing twice is harmless."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._position} of {len(self.executions)} executions>"

    # -- items -----------------------------------------------------------------------------------------------

    def _do_next(self) -> Result | None:
        """Do what the next item says; the result of an execution that ends with it."""
        self._line = None
        item = self.recording.items[self._next]
        result = None
        if isinstance(item, Entry):
            self._enter(item)
        elif isinstance(item, Snapshot):
            self._become(item)
        elif isinstance(item, Began):
            self._begin(item)
        else:
            result = self._end(item)
        self._next += 1
        if self.is_over:
            self._finish()
        if result is not None:
            self._keep_point()
        return result

    def _begin(self, began: Began) -> None:
        engine = self._engine
        engine.count = began.count
        engine.execution = ExecutionState(
            RunScript(began.code) if began.is_script else RunCode(began.code, began.count, name=began.name),
            began.count,
            engine.settings.bounds,
            None,
            pending=engine.pending,
        )

    def _enter(self, entry: Entry) -> None:
        if not entry.report:
            return  # it was stopped; its state comes next
        executor, execution = self._executor, self._engine.execution
        frame = _frame_of(entry.command)
        try:
            report = executor.repeat(entry, self._player).report
        except Stopped as stopped:
            raise ReplayError(f"the kernel crashed where it had not ({stopped})") from stopped
        if execution is None or frame[0] not in _EXECUTING:
            return
        if frame[0] == "resume":
            for identifier, *_ in frame[1]:
                execution.pending.pop(identifier, None)
        if isinstance(report, (Done, Failed, Waiting)):
            execution.take(report)
            if isinstance(report, Waiting):
                execution.pause()

    def _end(self, ended: Ended) -> Result:
        engine, execution = self._engine, self._engine.execution
        if execution is None:
            raise ReplayError(f"execution {ended.count} ends without having begun")
        if execution.outcome is None:
            execution.stop.failure = SessionError("not repeated")
            execution.fail("ReplayError", "")
            result = executing.outcome_of(engine, execution)
            result.error = ReplayError(
                "it is not repeated: it had the host change its packages, or it got more from outside than "
                "Limits(recording=) allows"
                if ended.error is None
                else f"it was stopped, which is not repeated: {ended.error}"
            )
        else:
            result = executing.outcome_of(engine, execution)
        result.duration_ms = ended.duration_ms
        self._position += 1
        self._results.append(result)
        return result

    def _finish(self) -> None:
        """What the session had beyond its executions."""
        engine, last = self._engine, self.recording.last
        engine.count = last.count
        engine.pending = {call.id: call for call in last.pending}
        if engine.execution is not None:
            engine.execution.suspended = dict(last.suspended)
        if last.deferred:
            engine.executor.configure_later(last.deferred)

    def _become(self, snapshot: Snapshot) -> None:
        executor = self._executor
        try:
            state = read_state(snapshot, executor.files, memory_limit=self._engine.settings.bounds.memory)
            executor.restore(state.kernel)
            if snapshot.header.tier == "full":
                executor.move_up()
        except PlanariaError as error:
            raise ReplayError(f"a state of this recording cannot be restored here: {error}") from error

    @property
    def _executor(self) -> WasmExecutor:
        assert isinstance(self._engine.executor, WasmExecutor)
        return self._engine.executor

    def _keep_point(self) -> None:
        self._points[self._position] = (self._next, self._engine.state())
        if len(self._points) > _KEEP:
            for position in list(self._points)[1::2]:
                del self._points[position]

    def _restore(self, state: SessionState) -> None:
        self._executor.restore(state.kernel)
        self._engine.adopt(state)

    def state(self) -> SessionState:
        """The present state, as sessions of this process can go on from it."""
        return self._engine.state()


def _cell_name(began: Began) -> str:
    """What tracebacks call the code of an execution."""
    return began.name or f"<cell {began.count}>"


def _frame_of(command: bytes) -> tuple[Any, ...]:
    """A command without the settings that were changed before it, or the outline of one."""
    try:
        frame = outline(command)
    except ProtocolError as error:
        raise ReplayError(f"a command of this recording is not well formed: {error}") from None
    if frame is not None:
        return frame
    match decode(command, Budget(memory=_MOST)):
        case ("begin", _, (str(), *_) as frame):
            return tuple(frame)
        case (str(), *_) as frame:
            return tuple(frame)
    raise ReplayError("a command of this recording is not well formed")


def _settings(reported: dict[str, Any]) -> SessionSettings:
    fixed = reported["deterministic"]
    deterministic = None
    if fixed is not None:
        start, tick, sleep, seed = fixed
        begins = _EPOCH + timedelta(microseconds=start // 1000)
        deterministic = Deterministic(clock=begins, tick=tick, sleep=sleep, seed=seed)
    return SessionSettings(
        limits=Limits(**{**reported["limits"], "fuel": None}),  # what was not used up is not counted again
        shell_limits=ShellLimits(**reported["shell_limits"]),
        seed=reported["seed"] if deterministic is None else None,
        deterministic=deterministic,
    )


def _setup(reported: dict[str, Any], settings: SessionSettings, player: Player) -> SandboxSetup:
    quota = Quota(**reported["quota"])
    fixed = settings.deterministic
    clock = None if fixed is None else fixed.new_clock()
    files = standard_layout(library=library(), quota=quota)
    if reported["vfs"] is not None:
        place = bytes_of(reported["vfs"])
        make_directories(files, place)
        files.mount(place, JournaledFileSystem(None, outcome_inside), shared=True)
    for path, mode in reported["mounts"]:
        place = bytes_of(path)
        make_directories(files, place)
        recorded = JournaledFileSystem(None, outcome_inside, read_only=mode != "rw")
        files.mount(place, OverlayFileSystem(recorded, quota=quota) if mode == "overlay" else recorded)
    return SandboxSetup(
        image=image_of(Recipe()),
        files=files,
        clock=clock,
        random=None if settings.seed is None else SeededRandom(settings.seed),
        journal=player,
    )
