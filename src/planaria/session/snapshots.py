"""Snapshots and images of sessions, and their pickled variables."""

from __future__ import annotations

import os

from planaria import telemetry
from planaria.errors import CrashError, SessionBusy, SessionError, SnapshotError
from planaria.executors.messages import Configure
from planaria.executors.pickled_variables import Variables
from planaria.files.filesystem import FileSystem
from planaria.images.image import Image
from planaria.limits import ShellLimits
from planaria.session.engine import SessionEngine
from planaria.session.history import History
from planaria.session.kernel_settings import shell_settings
from planaria.session.log import log
from planaria.snapshot.compatibility import Lacking, Missing
from planaria.snapshot.decode import read_state
from planaria.snapshot.digest import digest_of
from planaria.snapshot.encode import take
from planaria.snapshot.record import WORKSPACE, Declaration
from planaria.snapshot.restore import ask, revive
from planaria.snapshot.snapshot import Snapshot, checked_parent
from planaria_kernel.protocol import encode

__all__ = [
    "pickle_variables",
    "restore_snapshot",
    "save_as_image",
    "state_digest",
    "take_snapshot",
    "unpickle_variables",
]


def take_snapshot(engine: SessionEngine, parent: Snapshot | None, key: bytes | str | None) -> Snapshot:
    """See `Session.snapshot_state`."""
    engine.executor.require("snapshot")
    checked_parent(parent)
    with telemetry.span("snapshot", session=f"{id(engine):#x}") as span:
        snapshot = _take(engine, parent, key)
        if span is not telemetry.NOTHING:
            span.add(size=len(snapshot), delta=parent is not None)
        return snapshot


def _take(engine: SessionEngine, parent: Snapshot | None, key: bytes | str | None) -> Snapshot:
    # The callbacks that the guest knows: this session's, and those that a snapshot had and it lacks.
    declarations = [*_declarations(engine), *engine.host_calls.admission.missing.values()]
    state = engine.state(complete=True)
    return take(state, declarations, engine.executor.tier, engine, parent=parent, key=key)


def state_digest(engine: SessionEngine) -> str:
    """See `Session.state_digest`."""
    engine.executor.require("snapshot")
    return digest_of(engine.state())


def _declarations(engine: SessionEngine) -> list[Declaration]:
    """What a session offers to its code."""
    own = [callback.declaration() for callback in engine.settings.registry]
    return own if engine.workspace is None else [*own, {"name": WORKSPACE, "description": ""}]


def restore_snapshot(
    engine: SessionEngine, given: Snapshot | bytes, key: bytes | str | None, missing: Missing, reseed: bool
) -> None:
    """See `Session.restore_state`."""
    with telemetry.span("restore", session=f"{id(engine):#x}"):
        _restore(engine, given, key, missing, reseed)


def _restore(
    engine: SessionEngine, given: Snapshot | bytes, key: bytes | str | None, missing: Missing, reseed: bool
) -> None:
    executor = engine.executor
    executor.require("snapshot")
    snapshots, files = executor.snapshots, executor.files
    assert snapshots is not None
    assert files is not None
    snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
    # A state is left as it is unless this session has other settings.
    is_usual = not engine.settings.shell_commands and engine.settings.shell_bounds == ShellLimits()
    settings = {} if is_usual else shell_settings(engine.settings)
    declarations = _declarations(engine)
    live = snapshot.live
    absent: dict[str, Declaration] = {}
    if (
        live is not None
        and key is None
        and live.owner() is engine
        and {one["name"] for one in live.declarations} <= {one["name"] for one in declarations}
    ):
        # A state of this very session lacks nothing here, and need not be read from its bytes.
        state, tier, known = live.state, live.tier, list(live.declarations)
    else:
        snapshot.check_key(key)
        lacking = Lacking.of(snapshot, declarations, files)
        lacking.judge(missing)
        limit = engine.settings.bounds.memory
        state = read_state(snapshot, files, memory_limit=limit, without_mounts=lacking.mounts)
        absent = lacking.callbacks
        declarations += absent.values()
        tier, known = snapshot.header.tier, list(snapshot.record.declarations)
        if reseed and engine.settings.seed is None:  # its kernel is configured anyway
            settings = shell_settings(engine.settings)
        if engine.workspace is not None:
            settings |= engine.workspace.settings()
        if engine.network is not None:
            settings |= engine.network.settings(None)
    if encode(declarations) != encode(known):
        settings["callbacks"] = [one for one in declarations if one["name"] != WORKSPACE]
    if reseed and engine.settings.seed is None:
        settings["reseed"] = os.urandom(16)
    # Memory from elsewhere may turn out not to work; a state of this session's own does.
    is_own = live is not None and state is live.state
    before = None if is_own else snapshots.capture(shared=True)
    try:
        revive(executor, state.kernel, tier)
        if is_own and settings.keys() == {"reseed"}:
            executor.configure_later(settings)
        elif settings:
            ask(executor, Configure(settings))
    except BaseException:
        if before is not None:
            snapshots.restore(before)
        raise
    engine.host_calls.admission.missing = absent
    engine.history = History.of(engine.settings.bounds)
    engine.adopt(state)
    log.debug("session %#x was restored to the state after execution %d", id(engine), state.count)


def pickle_variables(engine: SessionEngine) -> Variables:
    """See `Session.pickle_variables`."""
    version = _python_version(engine)
    try:
        return Variables.of_answer(engine.executor.name, version, engine.ask("pickle"))
    except ValueError as error:
        raise SnapshotError(str(error)) from None
    except SessionError as error:
        raise SnapshotError(f"the variables cannot be pickled: {error}") from error


def unpickle_variables(engine: SessionEngine, given: Variables | bytes) -> None:
    """See `Session.unpickle_variables`."""
    version = _python_version(engine)
    variables = given if isinstance(given, Variables) else Variables.from_bytes(given)
    variables.check(engine.executor.name, version)
    try:
        engine.ask("unpickle", variables.pickle)
    except CrashError:
        raise
    except SessionError as error:
        raise SnapshotError(f"the variables cannot be restored: {error}") from error
    engine.history.has_changed = True


def _python_version(engine: SessionEngine) -> str:
    engine.executor.require("snapshot_pickle")
    engine.check_at_rest()
    assert engine.executor.python_version is not None
    return engine.executor.python_version


def save_as_image(engine: SessionEngine, name: str) -> Image:
    """See `Session.save_as_image`."""
    from planaria.images.saving import save_image

    engine.check_at_rest()
    engine.executor.require("snapshot")
    snapshots, files = engine.executor.snapshots, engine.executor.files
    assert snapshots is not None
    assert isinstance(files, FileSystem)
    if engine.pending:
        waits = ", ".join(f"{call.name}()" for call in engine.pending.values())
        raise SessionBusy(
            f"tasks of this session are waiting for {waits}; only an idle session can be saved as an image"
        )
    return save_image(name, snapshots, files, snapshots.capture(complete=True))
