"""Cutting a session: copies, checkpoints, going back, snapshots."""

from __future__ import annotations

import os
import time
from typing import Any, Self

from planaria.errors import CrashError, SessionBusy, SessionError, SnapshotError
from planaria.executors.variables import Variables
from planaria.executors.wasm import WasmExecutor
from planaria.images.image import Image
from planaria.limits import ShellLimits
from planaria.session.collector import Collector, Listeners
from planaria.session.flight import Flight
from planaria.session.host import SessionHost
from planaria.session.host_calls import HostCalls
from planaria.session.run import Run
from planaria.session.timeline import HistoryEntry, Point, Timeline
from planaria.snapshot.reading import read_state
from planaria.snapshot.record import WORKSPACE, Declaration
from planaria.snapshot.requirements import Lacking, Missing
from planaria.snapshot.reviving import ask, revive
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState, WaitingRun
from planaria.snapshot.writing import take
from planaria_kernel.protocol import encode

__all__ = ["Cutting"]


class Cutting(HostCalls):
    """A session as a state that can be kept, copied, and gone back to."""

    # -- copies ------------------------------------------------------------------------------------------

    def _fork(self, n: int, reseed: bool) -> list[Self]:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"fork({n!r}): a number of copies is wanted")
        self._executor.require("fork")
        state = self._state(shared=True)
        return [self._copy(state, reseed) for _ in range(n)]

    def _copy(self, state: SessionState, reseed: bool) -> Self:
        """A session like this one that goes on from `state`, which is this one's present."""
        other = type(self).__new__(type(self))
        other._callbacks = self._callbacks
        other._commands = self._commands
        other._limits = self._limits
        other._shell_limits = self._shell_limits
        other._listeners = self._listeners
        other._stdin = self._stdin
        other._environment = self._environment
        other._seed = self._seed
        other._argv = self._argv
        other._closed = False
        other._origin = self._origin
        other._lives, other._syncs = True, False
        other._workspace = None
        other._clean_slate()
        other._missing = dict(self._missing)
        other._prepare()
        other._timeline.points = list(self._timeline.points)
        other._timeline.past = self._timeline.past
        other._executor = self._executor.spawn(SessionHost(other), state.kernel, self._executor.files.fork())
        if self._workspace is not None:
            other._workspace = self._workspace.linked_to(other)
        other._adopt(state)
        if reseed and self._seed is None:
            other._executor.tell_later({"reseed": os.urandom(16)})
        other._register()
        return other

    # -- going back --------------------------------------------------------------------------------------

    @property
    def history(self) -> list[HistoryEntry]:
        """The executions so far, the oldest first."""
        return self._timeline.history

    def _checkpoint(self) -> None:
        """An automatic point before an execution, if the budget allows.

        Always on the core tier, where an import may need one.
        """
        if "rewind" not in self._executor.capabilities:
            return
        if self._changed and (self._budget.allows() or self._executor.tier == "core"):
            began = time.perf_counter()
            self._timeline.add(self._state())
            self._changed = False
            self._budget.spend(time.perf_counter() - began)

    def _state(self, *, complete: bool = False, shared: bool = False) -> SessionState:
        """The present state; the kernel must be at rest. For the options see `WasmExecutor.capture`."""
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
        kernel = self._executor.capture(known, complete=complete, shared=shared)
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
        self._executor.require("rewind")
        self._timeline.add(self._state(), label)

    def _go_to(self, point: Point) -> None:
        self._become(point.state)
        self._timeline.go_to(point)
        self._changed = False

    def _rewind(self, place: str | int) -> None:
        self._executor.require("rewind")
        self._go_to(self._timeline.find(place))
        self._timeline.undone.clear()

    def _undo(self, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"undo({n!r}): a number of executions, at least 1")
        self._executor.require("rewind")
        if n > self._count:
            raise SessionError(f"undo({n}): only {self._count} executions can be undone")
        timeline = self._timeline
        point = timeline.before(self._count - n)
        if point is None:
            raise SessionError(self._cannot_undo(n))
        left = [*timeline.between(point.state.count, self._count), Point(self._state(), None, timeline.past)]
        self._go_to(point)
        timeline.undone.extend(reversed(left))

    def _cannot_undo(self, n: int) -> str:
        """Why the state before the last `n` executions is not there, and which one is."""
        told = (
            f"undo({n}): the state after execution {self._count - n} was not kept, since executions came "
            "faster than checkpoints may be made (see docs/snapshots.md)"
        )
        older = self._timeline.newest(self._count - n)
        newer = [point.state.count for point in self._timeline.between(self._count - n, self._count)]
        ways = [] if not newer else [f"undo({self._count - newer[0]}) undoes less"]
        if older is not None:
            ways.append(f"undo({self._count - older.state.count}) undoes more")
        return f"{told}; {' and '.join(ways)}" if ways else f"{told}, nor was any other"

    def _redo(self) -> None:
        undone = self._timeline.undone
        if not undone:
            raise SessionError("there is nothing to redo")
        self._timeline.add(self._state())
        point = undone.pop()
        self._become(point.state)
        self._timeline.past = point.past
        self._changed = True

    # -- snapshots and images ----------------------------------------------------------------------------

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
        self._executor.require("snapshot")
        return take(
            self._state(complete=True),
            self._declarations(),
            self._executor.tier,
            self,
            parent=parent,
            key=key,
        )

    def _declarations(self) -> list[Declaration]:
        """The callbacks that the guest knows: this session's, and those that a snapshot had and it lacks."""
        return [*self._own_declarations(), *self._missing.values()]

    def _own_declarations(self) -> list[Declaration]:
        own: list[Declaration] = [callback.declaration() for callback in self._callbacks]
        if self._workspace is not None:
            own.append({"name": WORKSPACE, "description": ""})
        return own

    def _restore_snapshot(
        self, given: Snapshot | bytes, key: bytes | str | None, missing: Missing, reseed: bool
    ) -> None:
        self._executor.require("snapshot")
        snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
        # A state is left as it is unless this session has something to say to it.
        usual = not self._commands and self._shell_limits == ShellLimits()
        settings = {} if usual else self._shell_settings()
        declarations = self._own_declarations()
        live = snapshot.live
        absent: dict[str, Declaration] = {}
        if (
            live is not None
            and key is None
            and live.owner() is self
            and {one["name"] for one in live.declarations} <= {one["name"] for one in declarations}
        ):
            # A state of this very session lacks nothing here, and need not be read from its bytes.
            state, tier, known = live.state, live.tier, list(live.declarations)
        else:
            snapshot.check_key(key)
            lacking = Lacking.of(snapshot, declarations, self._executor.files)
            lacking.judge(missing)
            state = read_state(
                snapshot,
                self._executor.files,
                memory_limit=self._limits.memory,
                without_mounts=lacking.mounts,
            )
            absent = lacking.callbacks
            declarations += absent.values()
            tier, known = snapshot.header.tier, list(snapshot.record.declarations)
            if reseed:  # its kernel is told something anyway
                settings = self._shell_settings()
            if self._workspace is not None:
                settings |= self._workspace.settings()
        if encode(declarations) != encode(known):
            settings["callbacks"] = [one for one in declarations if one["name"] != WORKSPACE]
        if reseed and self._seed is None:
            settings["reseed"] = os.urandom(16)
        # Memory from elsewhere may turn out not to live; a state of this session's own does.
        own = live is not None and state is live.state
        before = None if own else self._executor.capture(shared=True)
        try:
            revive(self._executor, state.kernel, tier)
            if own and settings.keys() == {"reseed"}:
                self._executor.tell_later(settings)
            elif settings:
                ask(self._executor, ("configure", settings))
        except BaseException:
            if before is not None:
                self._executor.restore(before)
            raise
        self._drop_answers()
        self._missing = absent
        self._timeline = Timeline()
        self._changed = True
        self._adopt(state)

    # -- variables alone -----------------------------------------------------------------------------------

    def _pickle_variables(self) -> Variables:
        executor = self._executor
        executor.require("snapshot_pickle")
        self._check_at_rest()
        try:
            return Variables.of_answer(executor.name, executor.python_version, self._tell(("pickle",)))
        except ValueError as error:
            raise SnapshotError(str(error)) from None
        except SessionError as error:
            raise SnapshotError(f"the variables cannot be pickled: {error}") from error

    def _unpickle_variables(self, given: Variables | bytes) -> None:
        executor = self._executor
        executor.require("snapshot_pickle")
        self._check_at_rest()
        variables = given if isinstance(given, Variables) else Variables.from_bytes(given)
        variables.check(executor.name, executor.python_version)
        try:
            self._tell(("unpickle", variables.pickle))
        except CrashError:
            raise
        except SessionError as error:
            raise SnapshotError(f"the variables cannot be restored: {error}") from error
        self._changed = True

    def _save_as_image(self, name: str) -> Image:
        from planaria.images.saving import save_image

        self._check_at_rest()
        self._executor.require("snapshot")
        assert isinstance(self._executor, WasmExecutor), "images are of sandboxes"
        if self._pending:
            waits = ", ".join(f"{call.name}()" for call in self._pending.values())
            raise SessionBusy(f"tasks of this session wait for {waits}; an image is of a session at rest")
        return save_image(name, self._executor, self._executor.capture(complete=True))
