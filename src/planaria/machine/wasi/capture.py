"""Open descriptors as plain values, and the way back over a filesystem that was forked or restored."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import Any

from planaria.files.filesystem import DirEntry, FileKind, FileSystem, Handle, OpenFlags, Stat
from planaria.machine.wasi.abi import FILE_TYPES
from planaria.machine.wasi.descriptors import (
    Descriptor,
    DescriptorTable,
    Listing,
    access_flags,
    standard_stream,
)

__all__ = ["StaleHandle", "capture", "rebuild"]

DescriptorState = dict[str, Any]


class StaleHandle(Handle):
    """Stands for an open file that was not found again: every use is ESTALE."""

    __slots__ = ()

    def _stale(self) -> OSError:
        return OSError(errno.ESTALE, "the file that was open here is not in the restored filesystem")

    def stat(self) -> Stat:
        raise self._stale()

    def read(self, size: int, offset: int) -> bytes:
        raise self._stale()

    def read_into(self, buffer: memoryview, offset: int) -> int:
        raise self._stale()

    def write(self, data: bytes | memoryview, offset: int) -> int:
        raise self._stale()

    def append(self, data: bytes | memoryview) -> int:
        raise self._stale()

    def truncate(self, size: int) -> None:
        raise self._stale()

    def sync(self) -> None:
        raise self._stale()

    def utime(self, atime: int | None, mtime: int | None) -> None:
        raise self._stale()

    def chmod(self, mode: int) -> None:
        raise self._stale()

    def entries(self) -> list[DirEntry]:
        raise self._stale()

    def path(self) -> bytes | None:
        return None

    def close(self) -> None:
        pass


def capture(table: DescriptorTable) -> list[DescriptorState]:
    """Every descriptor as a dict of plain values, in the order of their numbers.

    A file is known by device and inode, so one that was renamed or unlinked while open is found again.
    """
    return [_describe(number, table.open[number]) for number in table]


def _describe(number: int, descriptor: Descriptor) -> DescriptorState:
    value: DescriptorState = {
        "number": number,
        "stream": descriptor.stream,
        "rights": descriptor.rights,
        "inheriting": descriptor.inheriting,
        "flags": descriptor.flags,
        "position": descriptor.position,
    }
    if descriptor.listing is not None:
        value["listing"] = descriptor.listing.encoded
    if descriptor.stream < 0:
        try:
            stat = descriptor.handle.stat()
        except OSError:  # it was stale already, and so it stays
            pass
        else:
            value["file"] = (stat.device, stat.inode, stat.mode & 0o170000)
    return value


def rebuild(table: DescriptorTable, state: Sequence[Mapping[str, Any]]) -> None:
    """Close what `table` holds and fill it with captured descriptors over `table.files`.

    That filesystem is a fork of the one at the moment of the capture, or was restored to it. A file that it
    does not have becomes a `StaleHandle`: the guest sees ESTALE when it uses that descriptor, and only then.
    """
    table.clear()
    for value in state:
        table.put(value["number"], _descriptor(table.files, value))
    table.files.discard_orphans()


def _descriptor(files: FileSystem, value: Mapping[str, Any]) -> Descriptor:
    if value["stream"] >= 0:
        descriptor = standard_stream(value["stream"])
        descriptor.set_flags(value["flags"])
        return descriptor
    descriptor = Descriptor(_reopen(files, value), value["rights"], value["inheriting"], value["flags"])
    descriptor.file_type = FILE_TYPES.get(value["file"][2], 0) if "file" in value else 0
    descriptor.position = value["position"]
    if "listing" in value:
        descriptor.listing = Listing.decode(value["listing"])
    return descriptor


def _reopen(files: FileSystem, value: Mapping[str, Any]) -> Handle:
    if "file" not in value:
        return StaleHandle()
    device, inode, kind = value["file"]
    flags = (
        OpenFlags.READ | OpenFlags.DIRECTORY if kind == FileKind.DIRECTORY else access_flags(value["rights"])
    )
    try:
        return files.open_node(device, inode, flags)
    except OSError:
        return StaleHandle()
