"""The formats of cpio archives: binary, POSIX ("odc") and SVR4 ("newc", with sums "crc"). See cpio(5)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["DamagedArchiveError", "Member", "read_members", "write_member"]

_TRAILER = "TRAILER!!!"
_BINARY = struct.Struct("<13H")
_BINARY_MAGIC = 0o070707
_ODC_WIDTHS = (6, 6, 6, 6, 6, 6, 6, 11, 6, 11)


class DamagedArchiveError(ValueError):
    """The data is not an archive, or is truncated."""


@dataclass(slots=True)
class Member:
    """One file of an archive."""

    name: str
    mode: int
    user: int
    group: int
    links: int
    modified: int  # seconds
    number: int
    device: int
    data: bytes
    #: Where it ends in the archive that it was read from.
    end: int = 0

    @property
    def identity(self) -> tuple[int, int]:
        """What names of the same file have in common."""
        return self.device, self.number

    @classmethod
    def of(cls, name: str, status: os.stat_result, number: int, data: bytes) -> Member:
        """A file as it is; `number` distinguishes it from the others of the archive."""
        known = status.st_ino & 0xFFFF if status.st_nlink > 1 else number
        return cls(
            name,
            status.st_mode,
            status.st_uid,
            status.st_gid,
            status.st_nlink,
            int(status.st_mtime),
            known,
            status.st_dev & 0xFFFF,
            data,
        )

    @classmethod
    def trailer(cls) -> Member:
        """What ends an archive."""
        return cls(_TRAILER, 0, 0, 0, 1, 0, 0, 0, b"")


def write_member(member: Member, kind: str) -> bytes:
    """Header, name and contents in the format "bin", "odc", "newc" or "crc"."""
    name = os.fsencode(member.name) + b"\0"
    size = len(member.data)
    if kind == "bin":
        header = _BINARY.pack(
            _BINARY_MAGIC,
            member.device & 0xFFFF,
            member.number & 0xFFFF,
            member.mode & 0xFFFF,
            member.user & 0xFFFF,
            member.group & 0xFFFF,
            member.links & 0xFFFF,
            0,
            member.modified >> 16 & 0xFFFF,
            member.modified & 0xFFFF,
            len(name),
            size >> 16,
            size & 0xFFFF,
        )
        return header + name + b"\0" * (len(name) % 2) + member.data + b"\0" * (size % 2)
    if kind == "odc":
        values = (
            0o070707,
            member.device,
            member.number,
            member.mode,
            member.user,
            member.group,
            member.links,
            0,
        )
        fields = b"".join(b"%06o" % (value & 0o777777) for value in values)
        return fields + b"%011o%06o%011o" % (member.modified, len(name), size) + name + member.data
    checksum = sum(member.data) & 0xFFFFFFFF if kind == "crc" else 0
    numbers = (
        member.number,
        member.mode,
        member.user,
        member.group,
        member.links,
        member.modified,
        size,
        member.device >> 8,
        member.device & 0xFF,
        0,
        0,
        len(name),
        checksum,
    )
    header = (b"070702" if kind == "crc" else b"070701") + b"".join(b"%08X" % number for number in numbers)
    header += name
    return header + bytes(-len(header) % 4) + member.data + bytes(-size % 4)


def read_members(data: bytes) -> Iterator[Member]:
    """The files of an archive of any of the formats; raises DamagedArchiveError."""
    at = 0
    while True:
        member = _read(data, at)
        if member.name == _TRAILER:
            return
        yield member
        at = member.end


def _read(data: bytes, at: int) -> Member:
    magic = data[at : at + 6]
    if len(magic) < 6:
        raise DamagedArchiveError("premature end of archive")
    try:
        if magic in (b"070701", b"070702"):
            return _read_newc(data, at)
        if magic == b"070707":
            return _read_odc(data, at)
    except ValueError:
        raise DamagedArchiveError("Malformed number in a header") from None
    if struct.unpack("<H", magic[:2])[0] == _BINARY_MAGIC:
        return _read_binary(data, at)
    raise DamagedArchiveError("premature end of archive")


def _cut(data: bytes, start: int, size: int) -> bytes:
    if start + size > len(data):
        raise DamagedArchiveError("premature end of file")
    return data[start : start + size]


def _name(data: bytes) -> str:
    return os.fsdecode(data.rstrip(b"\0"))


def _read_newc(data: bytes, at: int) -> Member:
    header = _cut(data, at, 110)
    number, mode, user, group, links, modified, size, major, minor, _, _, length, _ = (
        int(header[place : place + 8], 16) for place in range(6, 110, 8)
    )
    name = _cut(data, at + 110, length)
    start = at + 110 + length
    start += -(start - at) % 4
    body = _cut(data, start, size)
    end = start + size + -size % 4
    return Member(_name(name), mode, user, group, links, modified, number, major << 8 | minor, body, end)


def _read_odc(data: bytes, at: int) -> Member:
    header = _cut(data, at, 76)
    values: list[int] = []
    place = 6
    for width in _ODC_WIDTHS:
        values.append(int(header[place : place + width], 8))
        place += width
    device, number, mode, user, group, links, _, modified, length, size = values
    name = _cut(data, at + 76, length)
    start = at + 76 + length
    body = _cut(data, start, size)
    return Member(_name(name), mode, user, group, links, modified, number, device, body, start + size)


def _read_binary(data: bytes, at: int) -> Member:
    values = _BINARY.unpack(_cut(data, at, _BINARY.size))
    _, device, number, mode, user, group, links, _, high, low, length, size_high, size_low = values
    size = size_high << 16 | size_low
    name = _cut(data, at + _BINARY.size, length)
    start = at + _BINARY.size + length + length % 2
    body = _cut(data, start, size)
    modified = high << 16 | low
    return Member(
        _name(name), mode, user, group, links, modified, number, device, body, start + size + size % 2
    )
