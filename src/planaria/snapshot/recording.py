"""Recordings: what a session executed and what it got from outside, as a value and as a file.

A file is a magic number, a zstd frame of the encoded value, and a BLAKE2b-256 of both. It may come from
anyone: what is read is checked here, and what is replayed runs in the sandbox.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

import zstandard

from planaria.errors import EncodeError, ProtocolError, ReplayError, SnapshotError
from planaria.executors.journal import Entry, Keyframe
from planaria.executors.messages import HostCall
from planaria.snapshot.encode import take
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState
from planaria.storage.atomic import write_atomically
from planaria_kernel.protocol import Budget, decode, encode

__all__ = ["Began", "Ended", "Item", "Recording", "Remainder", "can_begin", "recording_of"]

_MAGIC: Final = b"\x8aPLNREC1"
_SEAL: Final = 32
_LEVEL: Final = 3
#: Of a whole recording, uncompressed, in bytes.
_MOST: Final = 4 << 30


@dataclass(frozen=True, slots=True)
class Began:
    """An execution began."""

    count: int
    code: str
    name: str | None
    is_script: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """An execution ended."""

    count: int
    code: str
    duration_ms: float
    error: str | None


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a session has beyond the state that its items lead to."""

    count: int
    deferred: Mapping[str, object] | None
    pending: tuple[HostCall, ...]
    """Calls that tasks which outlived their execution wait for."""
    suspended: Mapping[int, str]
    """The calls of the execution that waits whose answer is up to a decision, with the reasons."""


Item = Entry | Snapshot | Began | Ended


def can_begin(items: Sequence[object], place: int) -> bool:
    """Whether a recording can begin with this item: an execution from a known state."""
    return (
        isinstance(items[place], Began)
        and place + 1 < len(items)
        and isinstance(items[place + 1], (Keyframe, Snapshot))
    )


def recording_of(
    settings: dict[str, Any], items: Sequence[object], last: Remainder, dropped: bool
) -> Recording:
    """The recording of what a `Recorder` has kept."""
    made: list[Item] = []
    parent: Snapshot | None = None
    for item in items:
        if isinstance(item, Keyframe):
            if parent is not None and parent.header.image != item.state.image.digest:
                parent = None
            state = SessionState(item.state, 0)
            item = parent = take(state, (), item.tier, item, parent=parent, with_free=True)
        assert isinstance(item, Item)
        made.append(item)
    return Recording(settings, tuple(made), last, dropped)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """What a session executed, with everything that came from outside; see `Session.recording`.

    `planaria.replay` does it again. It holds what the code has seen (arguments and answers of callbacks,
    answers of servers, files that it read) but no value of a `Secret`.
    """

    settings: dict[str, Any] = field(repr=False)
    """What the session was created with, as far as the code notices."""
    items: tuple[Item, ...]
    last: Remainder
    is_cut: bool
    """Whether the beginning was dropped, because `Limits(recording=...)` was reached."""

    def __bytes__(self) -> bytes:
        return self._bytes

    @cached_property
    def _bytes(self) -> bytes:
        try:
            value = encode(
                (
                    self.settings,
                    [_described(item) for item in self.items],
                    self.last.count,
                    self.last.deferred,
                    [(call.id, call.name, call.args, call.kwargs or {}) for call in self.last.pending],
                    list(self.last.suspended.items()),
                    self.is_cut,
                )
            )
        except EncodeError as error:
            raise ReplayError(f"a call that waits has arguments that cannot be written: {error}") from error
        if len(value) > _MOST:
            raise ReplayError(
                f"this recording has {len(value)} bytes, of which a file can have {_MOST}: set "
                "Limits(recording=) lower"
            )
        data = _MAGIC + zstandard.ZstdCompressor(level=_LEVEL).compress(value)
        return data + hashlib.blake2b(data, digest_size=_SEAL).digest()

    def __repr__(self) -> str:
        return f"<Recording of {len(self.executions)} executions{', cut' if self.is_cut else ''}>"

    @property
    def executions(self) -> list[Ended]:
        """The executions that ended, the oldest first."""
        return [item for item in self.items if isinstance(item, Ended)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which is there whole or as it was before. Raises OSError."""
        write_atomically(Path(path), (bytes(self),))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        """Read one that `save` wrote. Raises OSError and ReplayError."""
        return cls.from_bytes(Path(path).read_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Recording:
        """The inverse of `bytes(recording)`. Raises ReplayError for anything else."""
        body = data[:-_SEAL]
        if not data.startswith(_MAGIC) or hashlib.blake2b(body, digest_size=_SEAL).digest() != data[-_SEAL:]:
            raise ReplayError("this is not a recording of planaria, or it is damaged")
        try:
            size = zstandard.frame_content_size(body[len(_MAGIC) :])
            if not 0 <= size <= _MOST:
                raise _malformed()
            return cls._of(decode(_decompress(body[len(_MAGIC) :]), Budget(memory=_MOST)))
        except (ProtocolError, zstandard.ZstdError, SnapshotError) as error:
            raise ReplayError(f"this recording cannot be read: {error}") from error

    @classmethod
    def _of(cls, value: object) -> Recording:
        match value:
            case (
                dict(settings),
                list(items),
                int(count),
                (dict() | None) as deferred,
                list(calls),
                list(held),
                bool(cut),
            ):
                rest = Remainder(count, deferred, _calls(calls), _reasons(held))
                return cls(settings, tuple(_items(items)), rest, cut)
            case _:
                raise _malformed()


def _decompress(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data)


def _malformed() -> ReplayError:
    return ReplayError("this recording is not well formed")


def _described(item: Item) -> tuple[Any, ...]:
    match item:
        case Entry(command, slept, captured, outcomes, report):
            return ("entry", command, slept, captured, outcomes, report)
        case Began(count, code, name, is_script):
            return ("began", count, code, name, is_script)
        case Ended(count, code, duration, error):
            return ("ended", count, code, duration, error)
    assert isinstance(item, Snapshot)
    return ("state", bytes(item), item.parent is not None)


def _items(values: list[Any]) -> list[Item]:
    items: list[Item] = []
    parent: Snapshot | None = None
    for value in values:
        match value:
            case ("entry", bytes(command), float(slept), bool(captured), list(outcomes), bytes(report)):
                if not all(type(one) is tuple and len(one) == 2 and type(one[0]) is str for one in outcomes):
                    raise _malformed()
                items.append(Entry(command, slept, captured, outcomes, report))
            case ("began", int(count), str(code), (str() | None) as name, bool(is_script)):
                items.append(Began(count, code, name, is_script))
            case ("ended", int(count), str(code), float(duration), (str() | None) as error):
                items.append(Ended(count, code, duration, error))
            case ("state", bytes(data), bool(is_delta)):
                parent = Snapshot(data, parent=parent if is_delta else None)
                items.append(parent)
            case _:
                raise _malformed()
    return items


def _calls(values: list[Any]) -> tuple[HostCall, ...]:
    calls = []
    for value in values:
        match value:
            case (int(identifier), str(name), tuple(arguments), dict(keywords)):
                calls.append(HostCall(identifier, name, arguments, keywords))
            case _:
                raise _malformed()
    return tuple(calls)


def _reasons(values: list[Any]) -> dict[int, str]:
    reasons = {}
    for value in values:
        match value:
            case (int(identifier), str(reason)):
                reasons[identifier] = reason
            case _:
                raise _malformed()
    return reasons
