"""What a snapshot is made of: its header, its tables, and the snapshots that it rests on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Self

from planaria.errors import SnapshotCorrupt, SnapshotMismatch
from planaria.machine.memory import MemoryFile
from planaria.snapshot.envelope import Envelope, Section, pack_envelope, read_json
from planaria.snapshot.header import Header
from planaria.snapshot.pages import KnownPage
from planaria.snapshot.record import Declaration, Record
from planaria.snapshot.state import SessionState

__all__ = ["Live", "Origin", "Packed", "SnapshotParts"]

#: Bytes of tables and of the description of the files, each, uncompressed.
_MAX_TABLES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Origin:
    """The memory that a snapshot was taken from: a file that never changes, but for the pages `touched`."""

    memory: weakref.ref[MemoryFile]
    touched: frozenset[int]
    differences: dict[int, KnownPage] = field(default_factory=dict, compare=False, repr=False)
    """By number, pages of its latest delta: the next one has many of them again."""


@dataclass(frozen=True, slots=True)
class Live:
    """The state that a snapshot was taken of, and the host functions that the session had."""

    state: SessionState
    declarations: tuple[Declaration, ...]
    tier: str
    owner: weakref.ref[Any]
    """The session."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What is made of a state: bytes, and what would be read from them."""

    data: bytes
    envelope: Envelope
    header: Header

    @classmethod
    def of(cls, header: Header, sections: list[Section], key: bytes | str | None = None) -> Self:
        """Pack sections; with `key` they are signed."""
        data, envelope = pack_envelope(header.to_json(), sections, key)
        return cls(data, envelope, header)


class SnapshotParts:
    """The parts of one snapshot, as restoring and comparing read them; `Snapshot` is what users have."""

    _pack: Callable[[], Packed] | None = None
    _parent: Self | None
    _origin: Origin | None
    live: Live | None
    """What `packed` was given, for a session that goes back to its own state."""

    @cached_property
    def _packed(self) -> Packed:
        """Of a state of this process, what is made when it is first asked for."""
        assert self._pack is not None
        packed, self._pack = self._pack(), None
        return packed

    @cached_property
    def _data(self) -> bytes:
        return self._packed.data

    @cached_property
    def _envelope(self) -> Envelope:
        return self._packed.envelope

    @cached_property
    def _header(self) -> Header:
        return self._packed.header

    @property
    def digest(self) -> str:
        """BLAKE2b-256 of the bytes, in hexadecimal."""
        return self._envelope.digest

    @property
    def container(self) -> Envelope:
        return self._envelope

    @property
    def header(self) -> Header:
        return self._header

    @property
    def live_bytes(self) -> int:
        """How much memory the session holds that this was taken of, besides its image, in bytes; 0 for one
        that was read.
        """
        return 0 if self.live is None else sum(self.live.state.parts.values())

    @cached_property
    def record(self) -> Record:
        """The tables. Raises SnapshotCorrupt."""
        return Record.decode(self._joined("state"))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The description of the files. Raises SnapshotCorrupt."""
        manifest = read_json(self._joined("files"), "the description of the files")
        if type(manifest) is not dict:
            raise SnapshotCorrupt("the description of the files is not an object")
        return manifest

    @cached_property
    def layers(self) -> Any:
        """The descriptions of the files that its image was made with, as they were written. Raises
        SnapshotCorrupt.
        """
        if not self._envelope.of_kind("layers"):
            return []
        return read_json(self._joined("layers"), "the description of the image's files")

    def _joined(self, kind: str) -> bytes:
        sections = self._envelope.of_kind(kind)
        size = sum(section.size for section in sections)
        if not sections or size > _MAX_TABLES:
            raise SnapshotCorrupt(f"this snapshot has {size} bytes in sections of kind {kind!r}")
        return b"".join([section.contents() for section in sections])

    def chain(self) -> list[Self]:
        """The complete snapshot that this one rests on, and each delta up to this one.

        Raises SnapshotMismatch when a parent is missing.
        """
        chain = list(self._ancestry())
        chain.reverse()
        return chain

    def _ancestry(self) -> Iterator[Self]:
        one = self
        while True:
            yield one
            if one._header.parent is None:
                return
            if one._parent is None:
                raise SnapshotMismatch(
                    f"snapshot {one.digest[:12]} is a delta of {one._header.parent[:12]}, which is not at "
                    "hand: give it, as in Snapshot.load(path, parent=…), or load both from a store"
                )
            one = one._parent

    def check_key(self, key: bytes | str | None) -> None:
        """Raises SnapshotKeyError unless it and all that it rests on were signed with this key, or nothing
        was.
        """
        for one in self.chain():
            one._envelope.check_key(key)
