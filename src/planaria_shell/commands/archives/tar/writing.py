"""Making archives: headers and contents as a stream, and more members for an existing archive."""

from __future__ import annotations

import os
import stat
import tarfile
import time
from collections.abc import Generator
from typing import BinaryIO, Literal

from planaria_shell.commands.archives.compression_formats import Format
from planaria_shell.commands.archives.member_names import safe_name
from planaria_shell.commands.archives.tar.settings import Lister, Tar, misused
from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import parse_time
from planaria_shell.toolkit.invocation import CommandError
from planaria_shell.toolkit.streams import BLOCK, FileInput, FileOutput, Target, reason
from planaria_shell.toolkit.users import group_name, group_number, owner, user_name, user_number

__all__ = ["append", "concatenate", "create", "delete"]


class _Writer:
    """Members as bytes, compressed on their way out."""

    def __init__(self, tar: Tar, target: Target, kind: Format | None) -> None:
        self.tar = tar
        self.target = target
        level = kind.default_level if kind else 0
        self.compressor = kind.compressor(level, "", 0) if kind else None
        self.size = 0
        self.seen: dict[tuple[int, int], str] = {}
        #: The archive, which does not become a member of itself.
        self.archive: tuple[int, int] | None = None
        if tar.file != "-" and os.path.isfile(path := tar.call.path(tar.file)):
            found = os.stat(path)
            self.archive = found.st_dev, found.st_ino
        self.lister = Lister(tar)
        arguments = tar.call.arguments
        self.mode = arguments.value("mode")
        self.owner = arguments.value("owner")
        self.group = arguments.value("group")
        self.moment: int | None = None
        if (text := arguments.value("mtime")) is not None:
            self.moment = parse_time(text, tar.call.env, time.time_ns())
            if self.moment is None and os.path.exists(tar.call.path(text)):
                self.moment = os.stat(tar.call.path(text)).st_mtime_ns
            if self.moment is None:
                raise tar.fatal(f"Invalid date: {text}")
        wanted = (arguments.value("format") or "gnu").lower()
        formats: dict[str, Literal[0, 1, 2]] = {
            "gnu": tarfile.GNU_FORMAT,
            "oldgnu": tarfile.GNU_FORMAT,
            "v7": tarfile.USTAR_FORMAT,
            "ustar": tarfile.USTAR_FORMAT,
            "pax": tarfile.PAX_FORMAT,
            "posix": tarfile.PAX_FORMAT,
        }
        if wanted not in formats:
            raise misused(f"{wanted}: Invalid archive format")
        self.format = formats[wanted]

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.compressor:
            data = self.compressor.compress(data)
        if data:
            self.target.write(data)

    def close(self) -> None:
        self.write(bytes(1024))
        self.write(bytes(-self.size % self.tar.record))
        if self.compressor:
            self.target.write(self.compressor.flush())
        self.target.close()

    def member(self, path: str, name: str, status: os.stat_result) -> tarfile.TarInfo | None:
        """The header of a file, None for kinds that an archive cannot hold."""
        arguments = self.tar.call.arguments
        member = tarfile.TarInfo(name)
        mode = status.st_mode
        user, group = owner(status)
        member.mode = stat.S_IMODE(mode)
        if self.mode is not None:
            member.mode = parse_mode(self.mode, member.mode, stat.S_ISDIR(mode), 0) or 0
        member.uid, member.gid = user, group
        member.uname, member.gname = user_name(user) or "", group_name(group) or ""
        if self.owner is not None:
            text, _, number = self.owner.partition(":")
            member.uname = "" if text.isdigit() else text
            member.uid = int(number or (text if text.isdigit() else user_number(text) or user))
            member.uname = member.uname or user_name(member.uid) or ""
        if self.group is not None:
            text, _, number = self.group.partition(":")
            member.gname = "" if text.isdigit() else text
            member.gid = int(number or (text if text.isdigit() else group_number(text) or group))
            member.gname = member.gname or group_name(member.gid) or ""
        if arguments.has("numeric-owner"):
            member.uname = member.gname = ""
        member.mtime = (status.st_mtime_ns if self.moment is None else self.moment) // 10**9
        identity = (status.st_dev, status.st_ino)
        if stat.S_ISDIR(mode):
            member.type = tarfile.DIRTYPE
        elif stat.S_ISLNK(mode):
            member.type = tarfile.SYMTYPE
            member.linkname = os.readlink(path)
        elif stat.S_ISFIFO(mode):
            member.type = tarfile.FIFOTYPE
        elif not stat.S_ISREG(mode):
            return None
        elif status.st_nlink > 1 and identity in self.seen and not arguments.has("hard-dereference"):
            member.type = tarfile.LNKTYPE
            member.linkname = self.seen[identity]
        else:
            member.size = status.st_size
            self.seen[identity] = name
        return member

    def add(self, name: str, directory: str, kept: dict[str, int] | None) -> Generator[None, None, None]:
        """Add a file and what is below it. `kept`: only what is newer than these (`-u`)."""
        tar, call = self.tar, self.tar.call
        arguments = call.arguments
        pending = [name.rstrip("/") or "/"]
        #: Directories whose files `--remove-files` removes.
        emptied: list[str] = []
        while pending:
            current = pending.pop()
            path = os.path.join(directory, current)
            if tar.excluded(current):
                continue
            stored = tar.transform(current)
            if not tar.absolute:
                stored = safe_name(call, stored, tar.reported)
            try:
                status = os.stat(path) if arguments.has("h") else os.lstat(path)
            except OSError as error:
                tar.problem(f"{current}: Cannot stat: {reason(error)}")
                continue
            if (status.st_dev, status.st_ino) == self.archive:
                call.warn(f"{call.name}: {current}: file is the archive; not dumped")
                continue
            member = self.member(path, stored.rstrip("/") or "/", status)
            if member is None:
                tar.problem(f"{current}: Unknown file type; file ignored")
                continue
            if member.isdir() and not arguments.has("no-recursion"):
                try:
                    names = os.listdir(path)
                except OSError as error:
                    tar.problem(f"{current}: Cannot open: {reason(error)}")
                    names = []
                if arguments.value("sort") == "name":
                    names.sort(key=os.fsencode)
                prefix = current if current.endswith("/") else current + "/"
                pending += [prefix + child for child in reversed(names)]
            if kept is not None and not member.isdir() and kept.get(member.name, -1) >= member.mtime:
                continue
            shown = stored if not member.isdir() or stored.endswith("/") else stored + "/"
            source: FileInput | None = None
            if member.isreg():
                try:
                    source = FileInput(open(path, "rb", buffering=0))
                except OSError as error:
                    tar.problem(f"{current}: Cannot open: {reason(error)}")
                    continue
            member.name = shown.rstrip("/") if member.isdir() else stored
            try:
                header = member.tobuf(self.format, "utf-8", "surrogateescape")
            except ValueError:
                # The format has no place for such a name, or number.
                tar.problem(f"{current}: file name is too long (cannot be split); not dumped")
                if source is not None:
                    source.close()
                continue
            if tar.verbose:
                tar.report_line(self.lister.line(member, shown, tar.verbose > 1))
            self.write(header)
            if source is not None:
                with source:
                    yield from self._contents(source, member.size, current)
            if arguments.has("remove-files"):
                if member.isdir():
                    emptied.append(path)
                else:
                    os.unlink(path)
            if self.target.full:
                yield
        for path in reversed(emptied):
            try:
                os.rmdir(path)
            except OSError as error:
                tar.problem(f"{path}: Cannot rmdir: {reason(error)}")

    def _contents(self, source: FileInput, size: int, name: str) -> Generator[None, None, None]:
        left = size
        while left:
            block = source.read(min(left, BLOCK))
            if not block:
                self.tar.problem(f"{name}: File shrank by {left} bytes; padding with zeros")
                block = bytes(min(left, BLOCK))
            left -= len(block)
            self.write(block)
            if self.target.full:
                yield
        self.write(bytes(-size % 512))


def create(tar: Tar) -> Generator[None, None, Status]:
    call = tar.call
    if not call.operands and not any(key in ("", "T") for key, _ in call.arguments):
        raise misused("Cowardly refusing to create an empty archive")
    try:
        target = call.create("/dev/stdout" if tar.file == "-" else tar.file)
    except OSError as error:
        raise tar.fatal(f"{tar.file}: Cannot open: {reason(error)}") from None
    writer = _Writer(tar, target, tar.kind)
    for name, directory in tar.names():
        yield from writer.add(name, directory, None)
    writer.close()
    if call.arguments.has("totals"):
        call.warn(f"Total bytes written: {writer.size}")
    return tar.finish()


def append(tar: Tar) -> Generator[None, None, Status]:
    """`-r` and `-u`: more members at the end of an archive that is not compressed."""
    call = tar.call
    if tar.kind is not None:
        raise CommandError("Cannot update compressed archives", 2)
    path = call.path(tar.file)
    kept: dict[str, int] | None = {} if tar.operation == "u" else None
    end = 0
    if os.path.exists(path) and os.path.getsize(path):
        try:
            with tarfile.open(path, "r:", errors="surrogateescape") as archive:
                for member in archive:
                    if kept is not None:
                        kept[member.name] = int(member.mtime)
                end = archive.offset
        except tarfile.TarError as error:
            raise tar.fatal(f"This does not look like a tar archive: {error}") from None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666 & ~call.umask)
    file = os.fdopen(descriptor, "r+b")
    # The end-of-archive blocks are overwritten.
    file.seek(end)
    file.truncate()
    writer = _Writer(tar, FileOutput(file), None)
    writer.size = end
    for name, directory in tar.names():
        yield from writer.add(name, directory, kept)
    writer.close()
    return tar.finish()


def _positions(tar: Tar, path: str) -> tuple[list[tuple[tarfile.TarInfo, int, int]], int]:
    """The members of an archive, each with where it begins and ends, and where the last one does."""
    if tar.kind is not None:
        raise CommandError("Cannot update compressed archives", 2)
    members: list[tuple[tarfile.TarInfo, int, int]] = []
    begin = 0
    try:
        with tarfile.open(path, "r:", errors="surrogateescape") as archive:
            while (member := archive.next()) is not None:
                members.append((member, begin, archive.offset))
                begin = archive.offset
                archive.members = []  # type: ignore[attr-defined]
    except tarfile.TarError:
        tar.call.error("This does not look like a tar archive")
        raise CommandError("Exiting with failure status due to previous errors", 2) from None
    except OSError as error:
        raise tar.fatal(f"{path}: Cannot open: {reason(error)}") from None
    return members, begin


def delete(tar: Tar) -> Status:
    """`--delete`: take members out of an archive."""
    path = tar.call.path(tar.file)
    wanted = [name.rstrip("/") for name, _ in tar.names()]
    found: set[str] = set()
    members, _ = _positions(tar, path)
    with open(path, "r+b") as file:
        end = 0
        for member, begin, stop in members:
            name = member.name.rstrip("/")
            hits = [word for word in wanted if name == word or name.startswith(word + "/")]
            found.update(hits)
            if hits:
                continue
            end = _copy_within(file, begin, stop, file, end)
        _finish(tar, file, end)
    for word in wanted:
        if word not in found:
            tar.problem(f"{word}: Not found in archive")
    return tar.finish()


def concatenate(tar: Tar) -> Status:
    """`-A`: the members of other archives at the end of this one."""
    path = tar.call.path(tar.file)
    _, end = _positions(tar, path)
    with open(path, "r+b") as file:
        for name, directory in tar.names():
            other = os.path.join(directory, name)
            _, stop = _positions(tar, other)
            with open(other, "rb") as source:
                end = _copy_within(source, 0, stop, file, end)
        _finish(tar, file, end)
    return tar.finish()


def _copy_within(source: BinaryIO, begin: int, stop: int, target: BinaryIO, at: int) -> int:
    """Copy a part of a file to a place in one, in the same file not behind it; where the copy ends."""
    while begin < stop:
        source.seek(begin)
        block = source.read(min(BLOCK, stop - begin))
        if not block:
            break
        target.seek(at)
        target.write(block)
        begin += len(block)
        at += len(block)
    return at


def _finish(tar: Tar, file: BinaryIO, end: int) -> None:
    file.seek(end)
    file.truncate()
    file.write(bytes(1024 + -(end + 1024) % tar.record))
