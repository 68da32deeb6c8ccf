"""The envelope of a snapshot: a header and compressed sections, sealed. It knows nothing of what they mean.

    magic        8 bytes
    version      uint16, of this format
    floor        uint16, the oldest reader that understands it
    flags        uint32: 1 when signed
    header size  uint32
    header       canonical JSON; its "sections" lists [kind, stored size, size] of each section
    sections     zstd frames, back to back
    signature    32 bytes of HMAC-SHA-256 over all that comes before, when signed
    checksum     32 bytes of BLAKE2b over all that comes before

Numbers are little-endian. Nothing may follow. See docs/internals/snapshot-format.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import threading
from dataclasses import dataclass
from typing import Any, Final

import zstandard

from planaria.errors import SnapshotCorrupt, SnapshotKeyError, SnapshotVersionError

__all__ = [
    "FLOOR",
    "MAX_SECTION",
    "VERSION",
    "Envelope",
    "Section",
    "canonical_json",
    "pack",
    "pack_envelope",
    "read_json",
]

MAGIC: Final = b"\x8aPLN\r\n\x1a\n"
#: The version that is written.
VERSION: Final = 1
#: The oldest reader that understands what is written.
FLOOR: Final = 1
#: The largest section, uncompressed, in bytes; what is longer is cut into several.
MAX_SECTION: Final = 64 << 20

_PREFIX: Final = struct.Struct("<8sHHII")
_SIGNED: Final = 1
_SEAL: Final = 32
_MAX_HEADER: Final = 16 << 20
_MAX_KIND: Final = 16
#: Fast, and the differences that are stored leave little for more.
_LEVEL: Final = 1
#: Frames that need a larger window than this are refused: the window is what decompressing allocates.
_MAX_WINDOW: Final = 128 << 20


def canonical_json(value: Any) -> bytes:
    """The one form in which a value is written."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read_json(data: bytes, what: str) -> Any:
    """The value of canonical JSON; SnapshotCorrupt for anything else."""
    try:
        value = json.loads(data)
        if canonical_json(value) == data:
            return value
    except (ValueError, RecursionError):
        pass
    raise SnapshotCorrupt(f"{what} is not JSON in its canonical form")


_of_thread: Final = threading.local()


def _compressor() -> zstandard.ZstdCompressor:
    """One for each thread: to make one takes longer than to compress a little."""
    found: zstandard.ZstdCompressor | None = getattr(_of_thread, "compressor", None)
    if found is None:
        found = _of_thread.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return found


@dataclass(frozen=True, slots=True)
class Section:
    """One zstd frame and what its header entry says of it."""

    kind: str
    frame: bytes | memoryview
    size: int
    """Of the contents, uncompressed."""

    @classmethod
    def of(cls, kind: str, contents: bytes) -> Section:
        assert 0 < len(contents) <= MAX_SECTION
        return cls(kind, _compressor().compress(contents), len(contents))

    def contents(self) -> bytes:
        """Decompress; never more than `size` bytes. Raises SnapshotCorrupt."""
        try:
            facts = zstandard.get_frame_parameters(self.frame)
            if facts.content_size != self.size or facts.window_size > _MAX_WINDOW or facts.dict_id:
                raise SnapshotCorrupt(
                    f"a section of kind {self.kind!r} is not of the size that the header says"
                )
            # The frame says its size, so no more than that is allocated.
            reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
            contents = reader.decompress(self.frame, max_output_size=self.size, allow_extra_data=False)
            if len(contents) == self.size:
                return contents
        except zstandard.ZstdError:
            pass
        raise SnapshotCorrupt(f"a section of kind {self.kind!r} is damaged")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A snapshot's bytes taken apart; the checksum was right."""

    version: int
    header: dict[str, Any]
    sections: tuple[Section, ...]
    digest: str
    """The checksum in hexadecimal: the name of this snapshot."""
    signature: bytes | None
    body: memoryview
    """What the signature is over."""

    @classmethod
    def read(cls, data: bytes) -> Envelope:
        """Take bytes apart. Raises SnapshotCorrupt, or SnapshotVersionError for a snapshot that needs a later
        reader.
        """
        if len(data) < _PREFIX.size or data[: len(MAGIC)] != MAGIC:
            raise SnapshotCorrupt("this is not a snapshot of a planaria session, or its beginning is missing")
        _, version, floor, flags, header_size = _PREFIX.unpack_from(data)
        if floor > VERSION:
            raise SnapshotVersionError(
                f"this snapshot is of format {version} and needs a planaria that reads format {floor}; "
                f"this one reads {VERSION}: update it"
            )
        view = memoryview(data)
        seals = 2 * _SEAL if flags & _SIGNED else _SEAL
        end = len(data) - seals
        if (
            flags & ~_SIGNED
            or not floor
            or floor > version
            or header_size > min(_MAX_HEADER, end - _PREFIX.size)
        ):
            raise SnapshotCorrupt("the beginning of this snapshot is damaged, or its end is missing")
        digest = bytes(view[-_SEAL:])
        if digest != hashlib.blake2b(view[:-_SEAL], digest_size=_SEAL).digest():
            raise SnapshotCorrupt("the checksum is wrong: this snapshot was cut off or altered")
        at = _PREFIX.size + header_size
        header = read_json(data[_PREFIX.size : at], "the header of this snapshot")
        if type(header) is not dict:
            raise SnapshotCorrupt("the header of this snapshot is not an object")
        sections: list[Section] = []
        for kind, stored, size in _entries(header):
            if stored > end - at:
                raise SnapshotCorrupt("the sections of this snapshot are longer than it is")
            sections.append(Section(kind, view[at : at + stored], size))
            at += stored
        if at != end:
            raise SnapshotCorrupt(f"{end - at} bytes follow the last section")
        signature = bytes(view[end : end + _SEAL]) if flags & _SIGNED else None
        return cls(version, header, tuple(sections), digest.hex(), signature, view[:end])

    @staticmethod
    def header_of(data: bytes) -> dict[str, Any]:
        """The header of bytes of which the end may be missing, and which are not checked.

        Raises SnapshotCorrupt.
        """
        if len(data) < _PREFIX.size:
            raise SnapshotCorrupt("the beginning of this snapshot is missing")
        size = _PREFIX.unpack_from(data)[-1]
        header = read_json(data[_PREFIX.size : _PREFIX.size + size], "the header of this snapshot")
        if type(header) is not dict:
            raise SnapshotCorrupt("the header of this snapshot is not an object")
        return header

    def of_kind(self, kind: str) -> list[Section]:
        return [section for section in self.sections if section.kind == kind]

    def check_key(self, key: bytes | str | None) -> None:
        """Raises SnapshotKeyError unless it was signed with this key, or neither is."""
        if key is None:
            if self.signature is not None:
                raise SnapshotKeyError("this snapshot is signed: give the key that it was signed with")
            return
        secret = key_bytes(key)
        if self.signature is None:
            raise SnapshotKeyError(
                "this snapshot is not signed, so a key proves nothing; restore it without one"
            )
        if not hmac.compare_digest(hmac.digest(secret, self.body, "sha256"), self.signature):
            raise SnapshotKeyError("this snapshot was signed with another key, or altered since")


def _entries(header: dict[str, Any]) -> list[tuple[str, int, int]]:
    entries = header.get("sections")
    if type(entries) is not list:
        raise SnapshotCorrupt("the header of this snapshot has no list of sections")
    for entry in entries:
        match entry:
            case [str(kind), int(stored), int(size)] if (
                type(stored) is type(size) is int
                and 0 < len(kind) <= _MAX_KIND
                and stored > 0
                and 0 < size <= MAX_SECTION
            ):
                pass
            case _:
                raise SnapshotCorrupt("a section is not described by kind and sizes")
    return [(kind, stored, size) for kind, stored, size in entries]


def key_bytes(key: bytes | str) -> bytes:
    """A key as the user gave it; text is taken as UTF-8. Raises SnapshotKeyError when it is empty."""
    if not isinstance(key, (bytes, str)):
        raise TypeError(f"a key must be bytes or str, not {type(key).__name__}")
    secret = key.encode() if isinstance(key, str) else key
    if not secret:
        raise SnapshotKeyError("an empty key signs nothing; give key=None for a snapshot that is not signed")
    return secret


def pack(header: dict[str, Any], sections: list[Section], key: bytes | str | None = None) -> bytes:
    """The bytes of an envelope. `header` gets the entry "sections"; with `key` it is signed."""
    return pack_envelope(header, sections, key)[0]


def pack_envelope(
    header: dict[str, Any], sections: list[Section], key: bytes | str | None = None
) -> tuple[bytes, Envelope]:
    """As `pack`, with the envelope that would be read from the bytes."""
    secret = None if key is None else key_bytes(key)
    entries = [[section.kind, len(section.frame), section.size] for section in sections]
    whole = {**header, "sections": entries}
    reported = canonical_json(whole)
    prefix = _PREFIX.pack(MAGIC, VERSION, FLOOR, 0 if secret is None else _SIGNED, len(reported))
    pieces = [prefix, reported, *(section.frame for section in sections)]
    signature = None
    if secret is not None:
        sealed = hmac.new(secret, digestmod="sha256")
        for piece in pieces:
            sealed.update(piece)
        signature = sealed.digest()
        pieces.append(signature)
    checksum = hashlib.blake2b(digest_size=_SEAL)
    for piece in pieces:
        checksum.update(piece)
    digest = checksum.digest()
    data = b"".join([*pieces, digest])
    view, at, placed = memoryview(data), len(prefix) + len(reported), []
    for section in sections:
        end = at + len(section.frame)
        placed.append(Section(section.kind, view[at:end], section.size))
        at = end
    return data, Envelope(VERSION, whole, tuple(placed), digest.hex(), signature, view[:at])
