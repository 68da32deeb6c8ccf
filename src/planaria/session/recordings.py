"""Recordings of sessions: taking one, and what a session does with its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from planaria.errors import SessionError
from planaria.executors.journal import Keyframe, Recorder
from planaria.session.engine import SessionEngine
from planaria.session.history import HistoryEntry, Past, Point
from planaria.session.playback import Playback
from planaria.session.sandbox_setup import QUOTA
from planaria.session.settings import SessionSettings
from planaria.snapshot.recording import Ended, Recording, Remainder, recording_of
from planaria.snapshot.state import SessionState

__all__ = ["explain", "explained", "recall", "take_recording"]


def take_recording(engine: SessionEngine) -> Recording:
    """See `Session.recording`."""
    recorder = _recorder(engine)
    state = engine.state()
    items = list(recorder.items)
    if not recorder.is_complete:
        items.append(Keyframe(state.kernel, engine.executor.tier))
    suspended = {} if engine.execution is None else dict(engine.execution.suspended)
    rest = Remainder(engine.count, state.kernel.deferred, tuple(engine.pending.values()), suspended)
    return recording_of(_recorded_settings(engine.settings), items, rest, bool(recorder.dropped))


def _recorder(engine: SessionEngine) -> Recorder:
    if engine.recorder is None:
        raise SessionError("this session is not recorded: create it with record=True")
    return engine.recorder


def _recorded_settings(settings: SessionSettings) -> dict[str, Any]:
    """What a recording keeps of the settings of its session: what its code notices."""
    fixed = settings.deterministic
    return {
        "limits": asdict(settings.bounds),
        "shell_limits": asdict(settings.shell_bounds),
        "seed": settings.seed,
        "deterministic": None if fixed is None else (fixed.start, float(fixed.tick), fixed.sleep, fixed.seed),
        "quota": asdict(settings.quota or QUOTA),
        "mounts": [(one.guest_path, one.mode) for one in settings.mounts],
        "vfs": None if settings.vfs is None else settings.vfs_mount_path,
    }


def explain(engine: SessionEngine, name: str) -> HistoryEntry | None:
    """See `Session.explain`."""
    return explained(take_recording(engine), engine.history.entries, name)


def explained(recording: Recording, entries: Sequence[HistoryEntry], name: str) -> HistoryEntry | None:
    """The execution among `entries` that last changed a variable; the recording is done again for it."""
    with Playback(recording) as playback:
        found = playback.explain(name, [_ended(entry) for entry in entries])
    if found is None:
        return None
    return HistoryEntry(found.count, found.code, found.duration_ms, found.error, None)


def recall(engine: SessionEngine, count: int) -> Point | None:
    """The state of this branch after `count` executions, done again from the recording; None without it."""
    if engine.recorder is None:
        return None
    past = engine.history.past
    while past is not None and past.count > count:
        past = past.before
    recording = take_recording(engine)
    position = _position(recording, past)
    if position is None or (past is None and (count or recording.is_cut)):
        return None
    with Playback(recording) as playback:
        playback.go_to(position)
        state = playback.state()
    return Point(SessionState(state.kernel, count, state.pending), None, past)


def _position(recording: Recording, past: Past | None) -> int | None:
    """After how many executions of the recording the session was where `past` ends."""
    if past is None:
        return 0
    ended = _ended(past.entry)
    places = [place for place, one in enumerate(recording.executions, 1) if one == ended]
    return places[-1] if places else None


def _ended(entry: HistoryEntry) -> Ended:
    """An execution as it stands in the recording."""
    return Ended(entry.count, entry.code, entry.duration_ms, entry.error)
