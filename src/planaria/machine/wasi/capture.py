"""Open descriptors as plain values, and the way back over a filesystem that was forked or restored."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from planaria.files.filesystem import DirEntry, FileKind, FileSystem, Handle, OpenFlags, Stat
from planaria.machine.wasi.abi import FILE_TYPES, FileType, Rights
from planaria.machine.wasi.descriptors import Descriptor, DescriptorTable, Listing, standard_stream

__all__ = ["ORPHAN_LIMIT", "StaleHandle", "capture", "rebuild"]

#: The largest file without a name that is carried along, in bytes.
ORPHAN_LIMIT: Final = 1 << 30
#: Contents are carried in pieces of this many bytes; a piece of zeros is a hole.
_PIECE: Final = 1 << 16

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

    A file or directory is known by its path and inode. A regular file without a name (unlinked while open)
    is carried with its contents. Raises EFBIG when such a file is larger than `ORPHAN_LIMIT`.
    """
    first_of: dict[tuple[int, int], int] = {}
    return [_describe(number, table.open[number], first_of) for number in table]


def _describe(number: int, descriptor: Descriptor, first_of: dict[tuple[int, int], int]) -> DescriptorState:
    value: DescriptorState = {
        "number": number,
        "stream": descriptor.stream,
        "rights": descriptor.rights,
        "inheriting": descriptor.inheriting,
        "flags": descriptor.flags,
        "position": descriptor.position,
        "kind": 0,
    }
    if descriptor.listing is not None:
        value["listing"] = descriptor.listing.encoded
    if descriptor.stream >= 0:
        return value
    try:
        stat = descriptor.handle.stat()
    except OSError:  # it was stale already, and so it stays
        return value
    value["kind"] = stat.mode & 0o170000
    path = descriptor.handle.path()
    if path is not None:
        value["path"] = path
        value["inode"] = stat.inode
    elif value["kind"] == FileKind.REGULAR:
        first = first_of.setdefault((stat.device, stat.inode), number)
        if first == number:
            value["orphan"] = _contents(descriptor.handle, stat.size)
            value["size"] = stat.size
            value["mode"] = stat.mode & 0o7777
            value["times"] = (stat.atime, stat.mtime)
        else:
            value["twin_of"] = first
    return value


def _contents(handle: Handle, size: int) -> list[tuple[int, bytes]]:
    """The (offset, bytes) pieces of a file that are not zeros all over."""
    if size > ORPHAN_LIMIT:
        raise OSError(
            errno.EFBIG,
            f"a file of {size} bytes that was unlinked while open is too large to be carried "
            f"(limit {ORPHAN_LIMIT}); close it, or keep its name",
        )
    pieces = []
    for offset in range(0, size, _PIECE):
        data = handle.read(_PIECE, offset)
        if data.count(0) != len(data):
            pieces.append((offset, data))
    return pieces


def rebuild(table: DescriptorTable, state: Sequence[Mapping[str, Any]], *, same_inodes: bool = True) -> None:
    """Close what `table` holds and fill it with captured descriptors over `table.files`.

    With `same_inodes` a file at the captured path counts as the captured one only when its inode is the
    same too, which it is after `FileSystem.fork` and `FileSystem.restore`. A file that is not found becomes
    a `StaleHandle`: the guest sees ESTALE when it uses that descriptor, the others are not affected.
    """
    table.clear()
    files = table.files
    orphans: dict[int, list[Mapping[str, Any]]] = {}
    for value in state:
        if "orphan" in value:
            orphans[value["number"]] = [value]
        elif "twin_of" in value:
            orphans[value["twin_of"]].append(value)
    handles: dict[int, Handle] = {}
    for group in orphans.values():
        handles.update(_adopt(files, group))
    for value in state:
        table.put(value["number"], _descriptor(files, value, handles, same_inodes))


def _descriptor(
    files: FileSystem, value: Mapping[str, Any], handles: Mapping[int, Handle], same_inodes: bool
) -> Descriptor:
    if value["stream"] >= 0:
        descriptor = standard_stream(value["stream"])
        descriptor.set_flags(value["flags"])
        return descriptor
    handle = handles.get(value["number"]) or _reopen(files, value, same_inodes)
    descriptor = Descriptor(
        handle,
        value["rights"],
        value["inheriting"],
        value["flags"],
        file_type=FILE_TYPES.get(value["kind"], int(FileType.UNKNOWN)),
    )
    descriptor.position = value["position"]
    if "listing" in value:
        descriptor.listing = Listing.decode(value["listing"])
    return descriptor


def _access(value: Mapping[str, Any]) -> OpenFlags:
    flags = OpenFlags.WRITE if value["rights"] & Rights.FD_WRITE else OpenFlags(0)
    if value["rights"] & Rights.FD_READ or not flags:
        flags |= OpenFlags.READ
    return flags


def _reopen(files: FileSystem, value: Mapping[str, Any], same_inodes: bool) -> Handle:
    if "path" not in value:
        return StaleHandle()
    kind = value["kind"]
    flags = OpenFlags.READ | OpenFlags.DIRECTORY if kind == FileKind.DIRECTORY else _access(value)
    try:
        handle = files.open(value["path"], flags | OpenFlags.NO_FOLLOW)
    except OSError:
        return StaleHandle()
    stat = handle.stat()
    if stat.mode & 0o170000 != kind or (same_inodes and stat.inode != value["inode"]):
        handle.close()
        return StaleHandle()
    return handle


def _adopt(files: FileSystem, group: Sequence[Mapping[str, Any]]) -> dict[int, Handle]:
    """Make the unlinked file that the descriptors of `group` share; a handle by number for each of them."""
    file = group[0]
    for number in itertools.count():
        path = b"/.unlinked-%d" % number
        try:
            owner = files.open(path, OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.EXCLUSIVE, file["mode"])
            break
        except FileExistsError:
            continue
    handles: dict[int, Handle] = {}
    try:
        for offset, data in file["orphan"]:
            owner.write(data, offset)
        owner.truncate(file["size"])
        owner.utime(*file["times"])
        for value in group:  # while it has a name: each descriptor holds a handle of its own
            handles[value["number"]] = files.open(path, _access(value))
    except OSError:
        for handle in handles.values():
            handle.close()
        raise
    finally:
        files.unlink(path)
        owner.close()
    return handles
