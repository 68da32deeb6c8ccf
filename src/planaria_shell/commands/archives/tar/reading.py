"""Reading archives: list, extract and compare their members."""

from __future__ import annotations

import errno
import io
import itertools
import os
import re
import stat
import tarfile
import time
from collections.abc import Generator, Iterator
from functools import partial

from planaria_shell.commands.archives.compression_formats import FORMATS, CorruptDataError, decompressed
from planaria_shell.commands.archives.member_names import safe_name
from planaria_shell.commands.archives.tar.settings import Lister, Tar
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import BLOCK, reason

__all__ = ["compare", "extract", "list_members"]


def forget(archive: tarfile.TarFile) -> None:
    """Let go of the members read so far: an archive may have more of them than memory."""
    archive.members = []  # type: ignore[attr-defined]


class _Pieces(io.RawIOBase):
    """Chunks as a stream that can only be read forward."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _open_archive(tar: Tar) -> tarfile.TarFile:
    call = tar.call
    try:
        source = call.keep_open(tar.file)
    except OSError as error:
        raise tar.fatal(f"{tar.file}: Cannot open: {reason(error)}") from None
    chunks = source.chunks()
    first = next(chunks, b"")
    while len(first) <= tarfile.BLOCKSIZE and (more := next(chunks, b"")):
        first += more

    def all_chunks() -> Iterator[bytes]:
        yield first
        yield from chunks

    stream: Iterator[bytes] = all_chunks()
    found = next((kind for kind in FORMATS.values() if first.startswith(kind.magic)), None)
    if tar.kind is not None and found is not tar.kind:
        if first:
            label = "stdin" if tar.kind.name == "gzip" else "(stdin)"
            words = {
                "gzip": "not in gzip format",
                "bzip2": "is not a bzip2 file.",
                "xz": "File format not recognized",
                "zstd": "unsupported format",
            }
            if tar.kind.name == "gzip":
                call.warn("")
            joint = " " if tar.kind.name == "bzip2" else ": "
            call.warn(f"{tar.kind.name}: {label}{joint}{words[tar.kind.name]}")
        call.error("Child returned status 1")
        raise CommandError("Error is not recoverable: exiting now", 2)
    if found is not None:
        stream = decompressed(stream, found)
    reader = io.BufferedReader(_Pieces(stream), BLOCK)
    try:
        block = reader.read(tarfile.BLOCKSIZE)
        if not _is_header(block):
            call.error("This does not look like a tar archive")
            if len(first) > tarfile.BLOCKSIZE:
                tar.problem("Skipping to next header")
            while not _is_header(block):
                if len(block) < tarfile.BLOCKSIZE:
                    raise CommandError("Exiting with failure status due to previous errors", 2)
                block = reader.read(tarfile.BLOCKSIZE)
        following = iter(partial(reader.read1, BLOCK), b"")
        reader = io.BufferedReader(_Pieces(itertools.chain([block], following)), BLOCK)
        return tarfile.open(fileobj=reader, mode="r|", errors="surrogateescape")
    except tarfile.ReadError:
        call.error("This does not look like a tar archive")
        raise CommandError("Exiting with failure status due to previous errors", 2) from None
    except CorruptDataError as error:
        raise tar.fatal(f"the compressed archive is {error}") from None


def _is_header(block: bytes) -> bool:
    """Does an archive begin, or end, with this block?"""
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
        return True
    except tarfile.HeaderError:
        return False
    return True


class _Selection:
    """Which members were named as operands; at the end, which of the names were not found."""

    def __init__(self, tar: Tar) -> None:
        arguments = tar.call.arguments
        self.names = [name.rstrip("/") or "/" for name, _ in tar.names()]
        wildcards = arguments.last(("wildcards", "no-wildcards")) == "wildcards"
        self.patterns = [compile_pattern(name) if wildcards else None for name in self.names]
        self.found = [False] * len(self.names)

    def __call__(self, name: str) -> bool:
        if not self.names:
            return True
        name = name.rstrip("/")
        chosen = False
        for index, (wanted, pattern) in enumerate(zip(self.names, self.patterns, strict=True)):
            if name == wanted or name.startswith(wanted + "/"):
                hit = True
            else:
                hit = pattern is not None and any(
                    pattern.fullmatch(name, 0, end)
                    for end in [*(i for i, c in enumerate(name) if c == "/"), len(name)]
                )
            if hit:
                self.found[index] = chosen = True
        return chosen

    def report(self, tar: Tar) -> None:
        for name, found in zip(self.names, self.found, strict=True):
            if not found:
                if tar.call.arguments.last(("wildcards", "no-wildcards")) is None and re.search(
                    r"[][*?]", name
                ):
                    tar.call.error("Pattern matching characters used in file names")
                    tar.call.error(
                        "Use --wildcards to enable pattern matching, or --no-wildcards to suppress this "
                        "warning"
                    )
                tar.problem(f"{name}: Not found in archive")


def _members(tar: Tar, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members of an archive; damage is reported in tar's words."""
    try:
        yield from archive
    except (tarfile.ReadError, EOFError) as error:
        if "unexpected end" in str(error):
            tar.call.error("Unexpected EOF in archive")
            raise CommandError("Error is not recoverable: exiting now", 2) from None
        tar.problem("Skipping to next header")
    except CorruptDataError as error:
        raise tar.fatal(f"the compressed archive is {error}") from None


def list_members(tar: Tar) -> Generator[None, None, Status]:
    archive = _open_archive(tar)
    selection = _Selection(tar)
    lister = Lister(tar)
    with archive:
        for member in _members(tar, archive):
            forget(archive)
            if tar.excluded(member.name) or not selection(member.name):
                continue
            name = tar.transform(member.name)
            tar.call.print(lister.line(member, name, tar.verbose > 0))
            if tar.call.stdout.full:
                yield
    selection.report(tar)
    return tar.finish()


class _Extractor:
    """Writes members to files below a directory and never outside of it."""

    def __init__(self, tar: Tar) -> None:
        arguments = tar.call.arguments
        self.tar = tar
        self.call = tar.call
        self.root = tar.directory()
        if (top := arguments.value("one-top-level")) is not None or arguments.has("one-top-level"):
            base = os.path.basename(tar.file)
            self.root = os.path.join(self.root, top or re.sub(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)$", "", base))
            os.makedirs(self.root, exist_ok=True)
        self.keep = arguments.has("k", "skip-old-files")
        self.quiet_keep = arguments.has("skip-old-files")
        self.newer = arguments.has("keep-newer-files")
        self.touch = arguments.has("m")
        preserve = arguments.last(("p", "no-same-permissions"))
        same = preserve == "p" or (preserve is None and hasattr(os, "geteuid") and os.geteuid() == 0)
        self.umask = 0 if same else self.call.umask
        #: Times and permissions of directories, set when all their files are there.
        self.directories: list[tuple[str, int, int]] = []
        #: Symbolic links that lead up or to the root are made last: no member is written through them.
        self.delayed: list[tuple[str, str, int]] = []

    def extract(self, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
        path = os.path.join(self.root, name)
        mode = member.mode & 0o7777 & ~self.umask
        if os.path.lexists(path) and not member.isdir():
            if self.keep:
                if not self.quiet_keep:
                    self.tar.problem(f"{name}: Cannot open: File exists")
                return
            if self.newer and os.lstat(path).st_mtime >= member.mtime:
                self.call.error(f"Current {quote(name)} is newer or same age")
                return
        self._make_parents(path)
        if member.isdir():
            if not os.path.isdir(path):
                if os.path.lexists(path):
                    os.unlink(path)
                os.mkdir(path, 0o700)
            self.directories.append((path, mode, int(member.mtime)))
            return
        if os.path.lexists(path):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        if member.issym():
            target = member.linkname
            if target.startswith("/") or ".." in target.split("/"):
                self.delayed.append((path, target, int(member.mtime)))
                return
            os.symlink(target, path)
            self._times(path, int(member.mtime))
        elif member.islnk():
            linked = (
                member.linkname
                if self.tar.absolute
                else safe_name(self.call, member.linkname, self.tar.reported, "hard link targets")
            )
            linked = _stripped(linked, self.tar.strip) or linked
            os.link(os.path.join(self.root, linked), path)
        elif member.isfifo():
            if not hasattr(os, "mkfifo"):
                raise OSError(errno.ENOSYS, "Function not implemented")
            os.mkfifo(path, mode)
        elif member.isreg():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode | 0o200), "wb") as file:
                for block in contents(archive, member):
                    file.write(block)
            os.chmod(path, mode)
            self._times(path, int(member.mtime))
        else:
            raise OSError(errno.EPERM, "Operation not permitted")

    def _make_parents(self, path: str) -> None:
        directory = os.path.dirname(path)
        missing: list[str] = []
        while directory and not os.path.isdir(directory):
            missing.append(directory)
            directory = os.path.dirname(directory)
        for name in reversed(missing):
            os.mkdir(name, 0o777 & ~self.call.umask)

    def _times(self, path: str, moment: int) -> None:
        if not self.touch:
            os.utime(path, ns=(time.time_ns(), moment * 10**9), follow_symlinks=False)

    def finish(self) -> None:
        for path, target, moment in self.delayed:
            try:
                os.symlink(target, path)
                self._times(path, moment)
            except OSError as error:
                self.tar.problem(f"{path}: Cannot create symlink to {quote(target)}: {reason(error)}")
        for path, mode, moment in reversed(self.directories):
            try:
                os.chmod(path, mode)
                self._times(path, moment)
            except OSError as error:
                self.tar.problem(f"{path}: Cannot change mode: {reason(error)}")


def contents(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    """The data of a regular member in blocks."""
    source = archive.extractfile(member)
    if source is not None:
        while block := source.read(BLOCK):
            yield block


def _stripped(name: str, count: int) -> str:
    """A name without its first parts; empty when nothing is left."""
    parts = [part for part in name.split("/") if part]
    return "/".join(parts[count:]) if count else name


def extract(tar: Tar) -> Generator[None, None, Status]:
    call = tar.call
    archive = _open_archive(tar)
    selection = _Selection(tar)
    lister = Lister(tar)
    to_stdout = call.arguments.has("O")
    extractor = _Extractor(tar)
    with archive:
        for member in _members(tar, archive):
            forget(archive)
            if tar.excluded(member.name) or not selection(member.name):
                continue
            name = tar.transform(member.name)
            if tar.strip:
                name = _stripped(name, tar.strip)
                if not name:
                    continue
            if ".." in name.split("/") and not tar.absolute:
                tar.problem(f"{name}: Member name contains '..'")
                continue
            if not tar.absolute:
                name = safe_name(call, name, tar.reported)
            if tar.verbose:
                shown = name if call.arguments.has("show-transformed-names") else member.name
                tar.report_line(lister.line(member, shown, tar.verbose > 1))
            try:
                if to_stdout:
                    if member.isreg():
                        for block in contents(archive, member):
                            call.stdout.write(block)
                            if call.stdout.full:
                                yield
                else:
                    extractor.extract(archive, member, name)
            except BrokenPipeError:
                raise
            except OSError as error:
                what = "Cannot mkdir" if member.isdir() else "Cannot open"
                if member.islnk():
                    what = f"Cannot hard link to {quote(member.linkname)}"
                elif member.issym():
                    what = f"Cannot create symlink to {quote(member.linkname)}"
                tar.problem(f"{name}: {what}: {reason(error)}")
            except (tarfile.ReadError, EOFError):
                call.error("Unexpected EOF in archive")
                raise CommandError("Error is not recoverable: exiting now", 2) from None
            except CorruptDataError as error:
                raise tar.fatal(f"the compressed archive is {error}") from None
            if call.stdout.full:
                yield
    extractor.finish()
    selection.report(tar)
    return tar.finish()


def compare(tar: Tar) -> Status:
    """`-d`: what differs between the archive and the files."""
    archive = _open_archive(tar)
    selection = _Selection(tar)
    directory = tar.directory()
    differs = False
    with archive:
        for member in _members(tar, archive):
            forget(archive)
            if not selection(member.name):
                continue
            path = os.path.join(directory, member.name)
            try:
                status = os.lstat(path)
            except OSError as error:
                tar.call.error(f"{member.name}: Warning: Cannot stat: {reason(error)}")
                differs = True
                continue
            notes: list[str] = []
            if stat.S_IMODE(status.st_mode) != member.mode & 0o7777:
                notes.append("Mode differs")
            if not member.isdir() and not member.issym() and int(status.st_mtime) != int(member.mtime):
                notes.append("Mod time differs")
            if member.isreg():
                if status.st_size != member.size:
                    notes.append("Size differs")
                else:
                    with open(path, "rb") as file:
                        if any(file.read(len(block)) != block for block in contents(archive, member)):
                            notes.append("Contents differ")
            for note in notes:
                differs = True
                tar.call.print(f"{member.name}: {note}")
    return 1 if differs else 0
