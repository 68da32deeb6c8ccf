"""The `fd_*` functions: open files, directories and standard streams by number."""

from __future__ import annotations

import errno
import stat
from collections.abc import Sequence
from typing import Final

from planaria.files.filesystem import Handle
from planaria.files.interruption import is_due, was_raised
from planaria.machine.wasi.abi import (
    FD_FLAGS,
    FDSTAT,
    FILESTAT,
    OFFSET_LIMIT,
    U32,
    U64,
    Advice,
    Errno,
    filestat,
)
from planaria.machine.wasi.calls import Calls
from planaria.machine.wasi.descriptors import PREOPEN, Descriptor, Listing
from planaria.machine.wasi.paths import times_to_set

__all__ = ["STREAM_PIECE", "TRANSFER_LIMIT", "FileCalls"]

#: The most bytes that one read or write moves, as on Linux; the count that is returned says so.
TRANSFER_LIMIT: Final = 0x7FFFF000
#: The most bytes that one write gives to the host's end of a standard stream.
STREAM_PIECE: Final = 1 << 20
#: Bytes that are read or written at a time, however large a buffer the guest names; in between the transfer
#: may end early, with what was done so far, because the guest is to be interrupted.
_PIECE: Final = 1 << 22
#: Less than this is moved too soon to look for an interrupt.
_LONG: Final = 1 << 16
#: Scattered appends up to this size are joined, so that they reach the file in one piece.
_JOIN_LIMIT: Final = 1 << 20

_BADF: Final = int(Errno.BADF)
_FBIG: Final = int(Errno.FBIG)
_INTR: Final = int(Errno.INTR)
_INVAL: Final = int(Errno.INVAL)
_NOTDIR: Final = int(Errno.NOTDIR)
_SPIPE: Final = int(Errno.SPIPE)
_NOTSUP: Final = int(Errno.NOTSUP)


class FileCalls(Calls):
    """Everything that takes a descriptor."""

    def _file(self, fd: int) -> Descriptor:
        """The descriptor `fd` of something in the filesystem; EBADF when closed, EINVAL for a stream."""
        descriptor = self.table.get(fd)
        if descriptor is None:
            raise OSError(errno.EBADF, f"descriptor {fd} is not open")
        if descriptor.stream >= 0:
            raise OSError(errno.EINVAL, f"descriptor {fd} is a standard stream")
        return descriptor

    # -- reading and writing -----------------------------------------------------------------------

    def fd_read(self, fd: int, vectors: int, count: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None or not descriptor.readable:
            return _BADF
        memory = self.memory
        if result + 4 > memory.size:
            memory.require(result, 4)
        buffers = memory.vectors(vectors, count)
        if was_raised():
            return _INTR
        if descriptor.stream >= 0:
            done = self._read_stream(buffers)
        else:
            done = self._scatter(descriptor.handle, buffers, descriptor.position)
            descriptor.position += done
        U32.pack_into(memory.view, result, done)
        return 0

    def fd_pread(self, fd: int, vectors: int, count: int, offset: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None or not descriptor.readable:
            return _BADF
        if descriptor.stream >= 0:
            return _SPIPE
        if offset > OFFSET_LIMIT:
            return _INVAL
        memory = self.memory
        memory.require(result, 4)
        done = self._scatter(descriptor.handle, memory.vectors(vectors, count), offset)
        U32.pack_into(memory.view, result, done)
        return 0

    def _scatter(self, handle: Handle, buffers: Sequence[tuple[int, int]], offset: int) -> int:
        view = self.memory.view
        done = 0
        try:
            for at, length in buffers:
                length = min(length, TRANSFER_LIMIT - done)
                while length:
                    wanted = min(length, _PIECE)
                    got = handle.read_into(view[at : at + wanted], offset + done)
                    done += got
                    if got < wanted or (wanted >= _LONG and is_due()):
                        return done
                    at += got
                    length -= got
        except OSError:
            if not done:
                raise
        return done

    def _read_stream(self, buffers: Sequence[tuple[int, int]]) -> int:
        for at, length in buffers:
            if length:  # one piece is enough: a stream may give less than was asked for
                self.take_held_output()  # what was printed is seen before the question
                size = min(length, STREAM_PIECE)
                data = self.on_input(size)
                if len(data) > size:
                    raise ValueError(f"the source of standard input gave {len(data)} bytes for {size}")
                self.memory.write(at, data)
                return len(data)
        return 0

    def fd_write(self, fd: int, vectors: int, count: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None or not descriptor.writable:
            return _BADF
        memory = self.memory
        if result + 4 > memory.size:
            memory.require(result, 4)
        buffers = memory.vectors(vectors, count)
        if (fd == 1 or fd == 2 or descriptor.stream > 0) and self.held:
            done = self._write_held(fd, descriptor, buffers)
        else:
            done = self._write(descriptor, buffers)
        U32.pack_into(memory.view, result, done)
        return 0

    def _write(self, descriptor: Descriptor, buffers: Sequence[tuple[int, int]]) -> int:
        if descriptor.stream >= 0:
            return self._write_stream(descriptor.stream, buffers)
        if descriptor.append:
            return self._append(descriptor, buffers)
        done = self._gather(descriptor.handle, buffers, descriptor.position)
        descriptor.position += done
        return done

    def _write_held(self, fd: int, descriptor: Descriptor, buffers: Sequence[tuple[int, int]]) -> int:
        """Write what a standard stream may have held, of which the host may have taken a part."""
        memory, held = self.memory, self.held
        is_buffer = len(buffers) == 1 and held.is_all(memory, fd, *buffers[0])
        if is_buffer:
            taken = held.taken(fd)
        else:
            self.take_held_output()  # that was printed before
            taken = held.taken_before(memory, fd)
        skipped, rest = 0, []
        for at, length in buffers:
            part = min(taken - skipped, length)
            skipped += part
            if part < length:
                rest.append((at + part, length - part))
        done = skipped + (self._write(descriptor, rest) if rest else 0)
        if is_buffer and done == buffers[0][1]:
            held.written(memory, fd, done)
        else:
            held.wrote(fd, done if is_buffer else skipped)
        return done

    def fd_pwrite(self, fd: int, vectors: int, count: int, offset: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None or not descriptor.writable:
            return _BADF
        if descriptor.stream >= 0:
            return _SPIPE
        if offset > OFFSET_LIMIT:
            return _INVAL
        memory = self.memory
        memory.require(result, 4)
        buffers = memory.vectors(vectors, count)
        if descriptor.append:  # as Linux does, against POSIX
            position = descriptor.position
            done = self._append(descriptor, buffers)
            descriptor.position = position
        else:
            done = self._gather(descriptor.handle, buffers, offset)
        U32.pack_into(memory.view, result, done)
        return 0

    def _gather(self, handle: Handle, buffers: Sequence[tuple[int, int]], offset: int) -> int:
        view = self.memory.view
        done = 0
        try:
            for at, length in buffers:
                end = at + min(length, TRANSFER_LIMIT - done)
                while at < end:
                    size = min(end - at, _PIECE)
                    if offset + done + size > self.largest_file:
                        size = self._room(handle, offset + done, size)
                    handle.write(view[at : at + size], offset + done)
                    at += size
                    done += size
                    if size >= _LONG and is_due():
                        return done
        except OSError:
            if not done:
                raise
        return done

    def _room(self, handle: Handle, offset: int, length: int) -> int:
        """How much of `length` bytes may be written at `offset`; EFBIG for none at all."""
        largest = self.largest_file if stat.S_ISREG(handle.stat().mode) else OFFSET_LIMIT
        if offset >= largest:
            raise OSError(errno.EFBIG, f"a file of more than {largest} bytes")
        return min(length, largest - offset)

    def _append(self, descriptor: Descriptor, buffers: Sequence[tuple[int, int]]) -> int:
        """Write at the end of the file and move the position behind it; writing nothing moves nothing."""
        view = self.memory.view
        pieces = [
            view[start : min(start + _PIECE, at + length)]
            for at, length in buffers
            for start in range(at, at + length, _PIECE)
        ]
        if len(pieces) > 1 and sum(map(len, pieces)) <= _JOIN_LIMIT:
            pieces = [memoryview(b"".join(pieces))]
        done = 0
        try:
            for piece in pieces:
                piece = piece[: TRANSFER_LIMIT - done]
                if self.largest_file != OFFSET_LIMIT:
                    piece = piece[: self._room(descriptor.handle, descriptor.handle.stat().size, len(piece))]
                descriptor.position = descriptor.handle.append(piece)
                done += len(piece)
                if is_due():
                    break
        except OSError:
            if not done:
                raise
        return done

    def _write_stream(self, stream: int, buffers: Sequence[tuple[int, int]]) -> int:
        view = self.memory.view
        left = STREAM_PIECE
        pieces = []
        for at, length in buffers:
            pieces.append(view[at : at + min(length, left)])
            left -= len(pieces[-1])
        data = b"".join(pieces)
        if data:
            self.on_output(stream, data)
        return len(data)

    # -- position ----------------------------------------------------------------------------------

    def fd_seek(self, fd: int, offset: int, whence: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        if descriptor.stream >= 0:
            return _SPIPE
        memory = self.memory
        if result + 8 > memory.size:
            memory.require(result, 8)
        if whence == 0:
            position = offset
        elif whence == 1:
            position = descriptor.position + offset
        elif whence == 2:
            position = descriptor.handle.stat().size + offset
        else:
            return _INVAL
        if not 0 <= position <= OFFSET_LIMIT:
            return _INVAL
        descriptor.position = position
        U64.pack_into(memory.view, result, position)
        return 0

    def fd_tell(self, fd: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        if descriptor.stream >= 0:
            return _SPIPE
        memory = self.memory
        if result + 8 > memory.size:
            memory.require(result, 8)
        U64.pack_into(memory.view, result, descriptor.position)
        return 0

    # -- what a descriptor is ----------------------------------------------------------------------

    def fd_fdstat_get(self, fd: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        memory = self.memory
        if result + 24 > memory.size:
            memory.require(result, 24)
        FDSTAT.pack_into(
            memory.view,
            result,
            descriptor.look_up_type() if descriptor.file_type is None else descriptor.file_type,
            descriptor.flags,
            descriptor.rights,
            descriptor.inheriting,
        )
        return 0

    def fd_fdstat_set_flags(self, fd: int, flags: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        if flags & ~FD_FLAGS:
            return _INVAL
        descriptor.set_flags(flags)
        return 0

    def fd_fdstat_set_rights(self, fd: int, rights: int, inheriting: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        if rights & ~descriptor.rights or inheriting & ~descriptor.inheriting:
            return int(Errno.NOTCAPABLE)  # rights can only be dropped
        descriptor.set_rights(rights, inheriting)
        return 0

    def fd_filestat_get(self, fd: int, result: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        memory = self.memory
        if result + 64 > memory.size:
            memory.require(result, 64)
        if descriptor.stream >= 0:
            FILESTAT.pack_into(memory.view, result, 0o600 << 48, 0, descriptor.file_type or 0, 1, 0, 0, 0, 0)
        else:
            memory.view[result : result + 64] = descriptor.handle.stat_as(filestat)
        return 0

    def fd_filestat_set_size(self, fd: int, size: int) -> int:
        descriptor = self._file(fd)
        if not descriptor.writable or size > OFFSET_LIMIT:
            return _INVAL
        if size > self.largest_file:
            return _FBIG
        descriptor.handle.truncate(size)
        return 0

    def fd_filestat_set_times(self, fd: int, atime: int, mtime: int, flags: int) -> int:
        self._file(fd).handle.utime(*times_to_set(self.clock, atime, mtime, flags))
        return 0

    def fd_allocate(self, fd: int, offset: int, length: int) -> int:
        descriptor = self._file(fd)
        if not descriptor.writable:
            return _BADF
        if not length or offset > OFFSET_LIMIT:
            return _INVAL
        if offset + length > self.largest_file:
            return _FBIG
        if descriptor.handle.stat().size < offset + length:
            descriptor.handle.truncate(offset + length)
        return 0

    def fd_advise(self, fd: int, offset: int, length: int, advice: int) -> int:
        if fd not in self.table.open:
            return _BADF
        if self.table.open[fd].stream >= 0:
            return _SPIPE
        # Advice changes no behaviour: everything is in memory, or cached by the host.
        return 0 if advice <= Advice.NOREUSE and offset <= OFFSET_LIMIT else _INVAL

    def fd_sync(self, fd: int) -> int:
        self._file(fd).handle.sync()
        return 0

    def fd_datasync(self, fd: int) -> int:
        self._file(fd).handle.sync()
        return 0

    # -- numbers -----------------------------------------------------------------------------------

    def fd_close(self, fd: int) -> int:
        table = self.table
        if fd not in table.open:
            return _BADF
        if fd == PREOPEN:
            return _NOTSUP  # libc holds on to its number for good
        if fd in (1, 2):
            self.take_held_output()
        table.remove(fd).close()
        return 0

    def fd_renumber(self, fd: int, to: int) -> int:
        table = self.table
        if fd not in table.open or to not in table.open:
            return _BADF
        if PREOPEN in (fd, to):
            return _NOTSUP
        if fd != to:
            self.take_held_output()
            table.open[to].close()
            table.open[to] = table.remove(fd)
        return 0

    def fd_prestat_get(self, fd: int, result: int) -> int:
        if fd != PREOPEN:
            return _BADF  # this is how libc finds that there are no more
        memory = self.memory
        memory.require(result, 8)
        U64.pack_into(memory.view, result, 1 << 32)  # tag 0, a directory; its name is 1 byte long
        return 0

    def fd_prestat_dir_name(self, fd: int, path: int, path_length: int) -> int:
        if fd != PREOPEN:
            return _BADF
        if path_length < 1:
            return int(Errno.NAMETOOLONG)
        self.memory.write(path, b"/")
        return 0

    # -- directories -------------------------------------------------------------------------------

    def fd_readdir(self, fd: int, buffer: int, size: int, cookie: int, used: int) -> int:
        descriptor = self.table.get(fd)
        if descriptor is None:
            return _BADF
        if descriptor.stream >= 0:
            return _NOTDIR
        memory = self.memory
        memory.require(buffer, size)
        memory.require(used, 4)
        listing = descriptor.listing
        if listing is None or cookie == 0:
            listing = descriptor.listing = self._list(descriptor.handle)
        start = listing.offset(cookie)
        if start is None:
            return _INVAL
        data = listing.encoded[start : start + size]  # the last entry may be cut: libc asks again from it
        memory.view[buffer : buffer + len(data)] = data
        U32.pack_into(memory.view, used, len(data))
        return 0

    def _list(self, handle: Handle) -> Listing:
        columns = handle.columns()
        own = handle.stat().inode
        parent = self.files.stat(b"..", at=handle).inode
        return Listing.of(own, parent, columns)
