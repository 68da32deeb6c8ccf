"""Open descriptors as plain values, and the way back over a filesystem that was forked or restored."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from planaria.errors import SnapshotError
from planaria.files.filesystem import DirEntry, FileKind, FileSystem, Handle, OpenFlags, Stat
from planaria.machine.wasi.abi import FD_FLAGS, FILE_TYPES, OFFSET_LIMIT, U64_MASK
from planaria.machine.wasi.descriptors import (
    PREOPEN,
    STANDARD_STREAMS,
    Descriptor,
    DescriptorTable,
    Listing,
    access_flags,
    standard_stream,
)

__all__ = ["StaleHandle", "capture", "rebuild", "take_over"]

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
    first: dict[int, int] = {}
    return [
        _describe(number, table.open[number], first.setdefault(id(table.open[number]), number))
        for number in table
    ]


def _describe(number: int, descriptor: Descriptor, first: int) -> DescriptorState:
    """One descriptor; `first` is the lowest number that stands for it."""
    if first != number:
        return {"number": number, "duplicate": first}
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
            value["file"] = descriptor.handle.identity()
        except OSError:  # it was stale already, and so it stays
            pass
    return value


def rebuild(
    table: DescriptorTable,
    state: Sequence[Mapping[str, Any]],
    lost: Callable[[], Set[tuple[int, int]]] = frozenset,
) -> None:
    """Fill `table` with captured descriptors over `table.files`, in place of those it has.

    That filesystem is a fork of the one at the moment of the capture, or was restored to it. A file that it
    does not have becomes a `StaleHandle`: the guest sees ESTALE when it uses that descriptor, and only then.
    Once the state is found to be good, `lost` is called for device and inode of files that become stale, too.
    The state may come from anyone: raises `SnapshotError`, and leaves the table alone, when `capture` cannot
    have made it or when it holds more than the table's limit.
    """
    descriptors: dict[int, Descriptor] = {}
    try:
        lowest = 0
        for value in state:
            number = _integer(value, "number", lowest, table.limit - 1)
            if "duplicate" in value:
                first = descriptors.get(_integer(value, "duplicate", 0, lowest))
                if first is None:
                    raise SnapshotError("a captured descriptor duplicates one that is not there")
                first.shared += 1
                descriptors[number] = first
            else:
                descriptors[number] = _descriptor(table.files, value)
            lowest = number + 1
        if PREOPEN not in descriptors:
            raise SnapshotError("the captured descriptors lack the root directory")
    except BaseException:
        for descriptor in descriptors.values():
            descriptor.close()
        raise
    stale = lost()
    for descriptor in descriptors.values():
        if stale and descriptor.stream < 0 and _identity(descriptor) in stale:
            descriptor.handle.close()
            descriptor.handle = StaleHandle()
    table.clear()
    for number, descriptor in descriptors.items():
        table.put(number, descriptor)
    table.files.discard_orphans()


def take_over(table: DescriptorTable, state: Sequence[Mapping[str, Any]], before: DescriptorTable) -> None:
    """Go on with the files that `before` still has open, where `rebuild` could not open them again.

    Both are tables over the same files; `state` is what `table` was rebuilt from. Files of the host are known
    by no number, so that their handles are all there is.
    """
    for value in state:
        descriptor, old = table.get(value["number"]), before.get(value["number"])
        if descriptor is None or old is None or type(descriptor.handle) is not StaleHandle:
            continue
        try:
            is_same = old.handle is not None and old.handle.identity() == value.get("file")
        except OSError:  # stale, too
            continue
        if is_same:
            descriptor.handle, old.handle = old.handle, descriptor.handle


def _identity(descriptor: Descriptor) -> tuple[int, int] | None:
    try:
        device, inode, _ = descriptor.handle.identity()
    except OSError:  # stale already
        return None
    return device, inode


def _integer(value: Mapping[str, Any], name: str, low: int, high: int) -> int:
    number = value.get(name)
    if type(number) is not int or not low <= number <= high:
        raise SnapshotError(f"a captured descriptor has {number!r} for its {name} ({low} to {high} can be)")
    return number


def _descriptor(files: FileSystem, value: Mapping[str, Any]) -> Descriptor:
    stream = _integer(value, "stream", -1, STANDARD_STREAMS - 1)
    flags = _integer(value, "flags", 0, FD_FLAGS)
    if stream >= 0:
        descriptor = standard_stream(stream)
        descriptor.set_flags(flags)
        return descriptor
    rights = _integer(value, "rights", 0, U64_MASK)
    inheriting = _integer(value, "inheriting", 0, U64_MASK)
    position = _integer(value, "position", 0, OFFSET_LIMIT)
    listing = _listing(value["listing"]) if "listing" in value else None
    device, inode, kind = _file(value)
    descriptor = Descriptor(_reopen(files, device, inode, kind, rights), rights, inheriting, flags)
    descriptor.file_type = FILE_TYPES.get(kind, 0)
    descriptor.position = position
    descriptor.listing = listing
    return descriptor


def _listing(encoded: object) -> Listing:
    if isinstance(encoded, bytes):
        try:
            return Listing.decode(encoded)
        except ValueError:
            pass
    raise SnapshotError("the captured listing of a directory is damaged")


def _file(value: Mapping[str, Any]) -> tuple[int, int, int]:
    """Device, inode and kind; kind 0 for what was stale."""
    if "file" not in value:
        return 0, 0, 0
    file = value["file"]
    if not isinstance(file, (tuple, list)) or len(file) != 3 or any(type(part) is not int for part in file):
        raise SnapshotError(f"a captured descriptor has {file!r} for its file")
    return file[0], file[1], file[2]


def _reopen(files: FileSystem, device: int, inode: int, kind: int, rights: int) -> Handle:
    if not kind:
        return StaleHandle()
    flags = OpenFlags.READ | OpenFlags.DIRECTORY if kind == FileKind.DIRECTORY else access_flags(rights)
    try:
        return files.open_node(device, inode, flags)
    except OSError:
        return StaleHandle()
