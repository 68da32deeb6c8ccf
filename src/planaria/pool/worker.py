"""A worker: executes steps, and saves the state that each leads to before it answers.

What makes it safe is one compare-and-swap in the store: the state after a step is saved only on top of the
state that it began with, together with the step's identifier and result. A step that is sent again finds its
own result there. A lease of the name keeps two workers from executing it at once. Live sessions are a cache.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from planaria import telemetry
from planaria.errors import (
    PlanariaError,
    SnapshotConflict,
    SnapshotNotFound,
    SnapshotVersionError,
    StorageError,
)
from planaria.pool.errors import NameInUse, PoolError, SaveUncertain, WorkerLost
from planaria.pool.idempotency import CountedCalls
from planaria.pool.outcomes import encoded_result
from planaria.pool.presence import Heartbeat
from planaria.pool.saved import SavedSteps
from planaria.pool.steps import Answer, Cancel, Execute, Reply, Step
from planaria.session._sync.session import Execution, Session
from planaria.session.callbacks import CallbackRegistry
from planaria.session.options import SessionOptions
from planaria.session.result import Result
from planaria.session.settings import SessionSettings
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.folding import Folding, is_beyond_folding
from planaria.stores.leases import Lease
from planaria.stores.opening import open_store
from planaria.stores.store import Store
from planaria.stores.versions import Version

__all__ = ["Worker", "WorkerSettings"]

_LOG: Final = logging.getLogger("planaria.pool")

#: Seconds for which a worker waits for a name that another one has, before it does something else.
_WAIT: Final = 1.0
#: Types whose repr is a literal.
_PLAIN: Final = (type(None), bool, int, str, bytes)


@dataclass(frozen=True)
class WorkerSettings:
    """What every worker of a pool has in common. It is sent to them, so it is pickled."""

    store: str | Store
    callbacks: Any = ()
    """As `Session` has them, or "module:name" of what is imported by the workers."""
    options: SessionOptions = field(default_factory=SessionOptions)
    """Other arguments of `Session`."""
    most_live: int = 16
    """How many sessions a worker keeps in memory."""
    most_live_memory: int = 1 << 30
    """How many bytes these may take together, besides their images."""
    setup: Callable[[], object] | str | None = None
    """Is called by each worker when it starts; a function, or "module:name"."""

    def check(self) -> None:
        """Raise TypeError, ValueError, CallbackError or PoolError for what no worker could use."""
        if not isinstance(self.store, (str, Store)):
            raise TypeError(
                f"the store of a pool is a URL, a path or a store, not {type(self.store).__name__}"
            )
        most_live: object = self.most_live
        if isinstance(most_live, bool) or not isinstance(most_live, int) or most_live < 1:
            raise ValueError(f"most_live={most_live!r}: must be a number of sessions greater than 0")
        for name, given in (("callbacks", self.callbacks), ("setup", self.setup)):
            if isinstance(given, str) and not re.fullmatch(r"[\w.]+:[\w.]+", given):
                raise PoolError(f"{name}={given!r}: write 'module:name'")
        setup: object = self.setup
        if setup is not None and not isinstance(setup, str) and not callable(setup):
            raise TypeError(f"setup= must be a function or 'module:name', not {type(setup).__name__}")
        # Raises what a session of these arguments would.
        SessionSettings(callbacks=() if isinstance(self.callbacks, str) else self.callbacks, **self.options)


@dataclass(slots=True)
class _Live:
    session: Session
    version: Version | None
    #: The whole snapshot that the next one is a delta of.
    base: Snapshot | None
    #: The steps that led to that version.
    steps: SavedSteps = field(default_factory=SavedSteps)
    #: Bytes that it holds in memory besides its image, after its last step.
    memory: int = 0


class Worker:
    """Executes steps, one at a time."""

    def __init__(self, settings: WorkerSettings, *, end: Callable[[], None] | None = None) -> None:
        """`end` ends the process, for a worker that is asked through the store to drain."""
        self._settings = settings
        self._end = end
        #: Held while a step is executed.
        self._turn = threading.Lock()
        if settings.setup is not None:
            _imported("setup", settings.setup)()
        self._steps = 0
        self._heartbeat: Heartbeat | None = None
        self._owns_store = isinstance(settings.store, str)
        self._store = open_store(settings.store) if isinstance(settings.store, str) else settings.store
        self._folding = Folding(self._store, self._adopt)
        self._calls = CountedCalls(CallbackRegistry.of(_imported("callbacks", settings.callbacks)))
        #: The one that was used last is at the end.
        self._live: dict[str, _Live] = {}
        self._running: Session | None = None

    def step(self, step: Step) -> Reply:
        """Execute a step, unless it was executed already.

        Raises SnapshotConflict when the session is not in the expected state, NameInUse while another worker
        executes that name, SaveUncertain when the store failed while the state was saved, WorkerLost when
        the lease of the name was lost, OutcomeUnknown, PoolError for a command that it cannot take,
        SnapshotError and StorageError.
        """
        with (
            self._turn,
            telemetry.span("step", parent=step.trace, name=step.name, attempt=step.attempt) as span,
        ):
            lease = self._store.leases.acquire(
                step.name, step.identifier, wait=_WAIT, on_lost=self._interrupt_running
            )
            if lease is None:
                raise NameInUse(f"{step.name!r} is executed by another worker")
            try:
                reply = self._step(step, lease)
            finally:
                lease.release()
            self._steps += 1
            span.add(version=reply.version.number, live=reply.was_live)
            _LOG.debug(
                "a step of %r led to version %d",
                *(step.name, reply.version.number),
                extra={
                    "name_of_session": step.name,
                    "step": step.identifier,
                    "attempt": step.attempt,
                    "version": reply.version.number,
                    "was_live": reply.was_live,
                },
            )
            return reply

    def _step(self, step: Step, lease: Lease) -> Reply:
        newest = self._store.newest(step.name)
        live = self._live.get(step.name)
        was_live = live is not None and live.version == newest and newest is not None
        saved = live.steps if live is not None and was_live else SavedSteps.of(newest)
        done = saved.reply(step, newest, os.getpid())
        if done is not None:
            return done
        if step.expected != "any" and newest != step.expected:
            raise SnapshotConflict(f"{step.name!r} is not in the state that this step expects")
        self._live.pop(step.name, None)
        if live is None or not was_live:
            if live is not None:
                live.session.close()
            live = self._opened(step.name, newest)
        self._calls.begin(step.identifier)
        try:
            self._running = live.session
            result = encoded_result(_executed(live.session, step))
            self._running = None
            if lease.is_lost:
                raise WorkerLost(f"the lease of {step.name!r} could not be renewed while its step executed")
            version = self._save(step, live, result)
        except SnapshotConflict:
            live.session.close()
            # Its own save, whose answer the store has lost, or another's.
            newest = self._store.newest(step.name)
            done = SavedSteps.of(newest).reply(step, newest, os.getpid())
            if done is None:
                raise
            return done
        except BaseException:
            self._running = None
            live.session.close()
            raise
        self._live[step.name] = live
        self._make_room()
        return Reply(result, version, os.getpid(), was_live)

    def drain(self) -> None:
        """Close the live sessions, all of which are saved."""
        with self._turn:
            self._close_live()

    def appear(self) -> None:
        """Keep an entry in the store, by which others see this worker and ask it to drain."""
        self._heartbeat = Heartbeat(self._store, lambda: (self._steps, len(self._live)), self._drain_for_good)

    def _drain_for_good(self) -> None:
        with self._turn:
            self._close_live()
            if self._end is not None and self._heartbeat is not None:
                self._store.presence.remove(self._heartbeat.worker)
                self._end()

    def _close_live(self) -> None:
        while self._live:
            self._live.popitem()[1].session.close()

    def close(self) -> None:
        """Drain, and release the store."""
        if self._heartbeat is not None:
            self._heartbeat.close()
        self.drain()
        self._folding.close()
        if self._owns_store:
            self._store.close()

    def _interrupt_running(self) -> None:
        """On another thread: end the execution under way, whose name another worker may take."""
        running = self._running
        if running is not None:
            running.interrupt()

    def _opened(self, name: str, newest: Version | None) -> _Live:
        while newest is not None:
            try:
                snapshot = self._store.load(name, newest.number)
            except SnapshotNotFound:
                newest = self._store.newest(name)  # another worker has saved a later state
                continue
            try:
                session = Session.from_snapshot(
                    snapshot, callbacks=self._calls.registry, **self._settings.options
                )
            except SnapshotVersionError as error:
                raise SnapshotVersionError(
                    f"{name!r} was saved by workers of another version: {error}. Run a pool of that version "
                    "on the same store until its sessions have ended; new ones begin with this version"
                ) from error
            return _Live(session, newest, _whole(snapshot), SavedSteps.of(newest))
        return _Live(Session(callbacks=self._calls.registry, **self._settings.options), None, None)

    def _save(self, step: Step, live: _Live, result: bytes) -> Version:
        base = live.base
        snapshot = live.session.snapshot_state(parent=base)
        if base is not None and is_beyond_folding(snapshot, base):
            base, snapshot = None, live.session.snapshot_state()
        steps = live.steps.followed_by(step, result, time.time())
        try:
            version = self._store.save(
                step.name, snapshot, expected=live.version, keep=1, note=steps.encoded()
            )
        except StorageError as error:
            raise SaveUncertain(f"a step of {step.name!r} may have been saved or not: {error}") from error
        live.steps = steps
        live.base = base or snapshot
        live.memory = snapshot.live_bytes
        live.version = version.without_note
        self._folding.add(step.name, version, snapshot)
        return live.version

    def _adopt(self, name: str, base: Snapshot, whole: Snapshot) -> None:
        """On the thread that folds: the next state is a delta of a new complete snapshot."""
        with self._turn:
            live = self._live.get(name)
            if live is not None and live.base is base:
                live.base = whole

    def _make_room(self) -> None:
        """Close the sessions that were not used for longest, but never the last one that was."""
        settings = self._settings
        memory = sum(one.memory for one in self._live.values())
        while len(self._live) > settings.most_live or (
            memory > settings.most_live_memory and len(self._live) > 1
        ):
            closed = self._live.pop(next(iter(self._live)))
            memory -= closed.memory
            closed.session.close()


def _whole(snapshot: Snapshot) -> Snapshot:
    """What a chain of deltas rests on: the next state is a delta of that, so that no chain grows."""
    while snapshot.parent is not None:
        snapshot = snapshot.parent
    return snapshot


def _executed(session: Session, step: Step) -> Result:
    """Do what a step says; the result is of the execution, which may wait."""
    command = step.command
    waiting = session.run_in_progress
    match command:
        case Execute():
            if waiting is not None:
                raise PoolError(f"{step.name!r} waits for {_names(waiting)}: resolve or cancel that first")
            if command.arguments:
                session.execute(_assignments(command.arguments), name="<arguments>")
            if command.is_script:
                return _checked(session.bash, command)
            return session.run(command.code, command.timeout)
        case Answer() | Cancel():
            if waiting is None:
                raise PoolError(f"{step.name!r} does not wait for a call")
            if isinstance(command, Cancel):
                return waiting.cancel()
            try:
                if command.error is None:
                    waiting.resolve(command.call, command.value)
                else:
                    waiting.reject(command.call, command.error)
            except KeyError:
                raise PoolError(
                    f"{step.name!r} does not wait for a call with id {command.call}; "
                    f"it waits for {_names(waiting)}"
                ) from None
            return _outcome(waiting)


def _checked(bash: Any, command: Execute) -> Result:
    try:
        result: Result = bash(command.code, command.timeout)
    except PlanariaError as error:
        return Result(error=error)
    return result


def _outcome(execution: Execution) -> Result:
    """Of an execution that was answered: it goes on until it is over or waits for other calls."""
    if execution.pending:
        return Result(suspended=execution.pending)
    return execution.result()


def _names(execution: Execution) -> str:
    return ", ".join(f"{call.name}() (id {call.id})" for call in execution.pending) or "a timer"


def _assignments(arguments: Mapping[str, object]) -> str:
    lines = []
    for name, value in arguments.items():
        if not name.isidentifier():
            raise PoolError(f"{name!r} is not a name for a variable")
        lines.append(f"{name} = {_literal(name, value)}")
    return "\n".join(lines)


def _literal(name: str, value: object) -> str:
    """An expression for a value of plain types."""
    if type(value) is float:  # also those that are not finite
        return f"float({str(value)!r})"
    if type(value) is complex:
        return f"complex({_literal(name, value.real)}, {_literal(name, value.imag)})"
    if type(value) in _PLAIN:
        return repr(value)
    if type(value) in (list, tuple, set):
        parts = [_literal(name, one) for one in value]  # type: ignore[attr-defined]
        if type(value) is list:
            return f"[{', '.join(parts)}]"
        return f"{type(value).__name__}(({''.join(part + ', ' for part in parts)}))"
    if type(value) is dict:
        pairs = [f"{_literal(name, key)}: {_literal(name, one)}" for key, one in value.items()]
        return f"{{{', '.join(pairs)}}}"
    raise PoolError(
        f"the argument {name!r} has a {type(value).__name__}: arguments are None, numbers, strings, bytes, "
        "and lists, tuples, sets and dicts of these"
    )


def _imported(parameter: str, given: Any) -> Any:
    """What "module:name" stands for."""
    if not isinstance(given, str):
        return given
    module, _, name = given.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PoolError(f"{parameter}={given!r}: {error}") from None
    return found
