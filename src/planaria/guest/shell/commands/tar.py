"""tar: make, list and extract archives."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import tarfile
import time
from collections.abc import Generator, Iterator
from typing import Literal

from ..command import Status
from .archive_names import Excluder, Transformer, safe_name
from .clock import format_time, parse_time
from .compression import FORMATS, CorruptDataError, Format, decompressed
from .file_modes import parse_mode
from .gnu_regex import glob_to_python
from .invocation import BLOCK, CommandError, FileInput, FileOutput, Invocation, Target, reason, utility
from .options import UsageError
from .quoting import quote
from .users import group_name, group_number, owner, user_name, user_number

__all__: list[str] = []

_RECORD = 10240
_OPERATIONS = {"c": "c", "x": "x", "t": "t", "r": "r", "u": "u", "A": "A", "d": "d", "delete": "delete"}
_TAKES_ARGUMENT = frozenset("fCTXbgHIKLNV")


def _misused(message: str) -> UsageError:
    return UsageError(message, status=2)


def _old_form(words: list[str]) -> list[str]:
    """`tar xvf FILE`: the first word holds options without a minus; their arguments follow in order."""
    if not words or words[0].startswith("-"):
        return words
    out: list[str] = []
    rest = list(words[1:])
    for letter in words[0]:
        out.append(f"-{letter}")
        if letter in _TAKES_ARGUMENT:
            if not rest:
                raise _misused(f"Old option '{letter}' requires an argument.")
            out.append(rest.pop(0))
    return out + rest


class _Tar:
    """One call of tar: its settings and where it works."""

    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        operations = [_OPERATIONS[key] for key, _ in arguments if key in _OPERATIONS]
        if not operations:
            raise _misused("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
        if len(set(operations)) > 1:
            raise _misused(
                "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option"
            )
        self.operation = operations[0]
        self.file = arguments.value("f") or "-"
        self.verbose = sum(1 for key, _ in arguments if key == "v")
        self.absolute = arguments.has("P")
        self.strip = 0
        if (text := arguments.value("strip-components")) is not None:
            if not text.isdigit():
                raise _misused(f"{text}: Invalid number of elements")
            self.strip = int(text)
        patterns = arguments.values("exclude")
        for name in arguments.values("X"):
            patterns += self._lines(name)
        self.excluded = Excluder(patterns, arguments.has("exclude-vcs", "exclude-vcs-ignores"))
        self.transform = Transformer(arguments.values("transform"))
        self.kind = self._compression()
        self.told: set[str] = set()
        self.failed = False
        self.report_to_stderr = (self.operation == "c" and self.file == "-") or arguments.has("O")

    def _lines(self, name: str) -> list[str]:
        try:
            with self.call.open(name) as source:
                data = source.read()
        except OSError as error:
            raise self.fatal(f"{name}: Cannot open: {reason(error)}") from None
        end = b"\0" if self.call.arguments.has("null") else b"\n"
        return [os.fsdecode(line) for line in data.split(end) if line]

    def _compression(self) -> Format | None:
        arguments = self.call.arguments
        for key, _ in arguments:
            if key in ("z", "j", "J"):
                return FORMATS[{"z": "gzip", "j": "bzip2", "J": "xz"}[key]]
            if key in ("zstd", "Z", "lzip", "lzma", "lzop"):
                raise CommandError(f"the compression --{key} is not supported", 2)
            if key == "I":
                program = (arguments.value("I") or "").split()[:1]
                if program and program[0] in FORMATS:
                    return FORMATS[program[0]]
                raise CommandError(
                    f"the compression program {quote(arguments.value('I') or '')} is not supported", 2
                )
        if arguments.has("a") and self.operation == "c":
            for kind in FORMATS.values():
                if any(self.file.endswith(suffix) for suffix in kind.suffixes):
                    return kind
        return None

    def fatal(self, message: str) -> CommandError:
        self.call.error(message)
        return CommandError("Error is not recoverable: exiting now", 2)

    def problem(self, message: str) -> None:
        """A failure after which the next file still comes; the exit status will be 2."""
        self.call.error(message)
        self.failed = True

    def tell(self, text: str) -> None:
        if self.report_to_stderr:
            self.call.warn(text)
        else:
            self.call.print(text)

    def finish(self) -> Status:
        if self.failed:
            self.call.error("Exiting with failure status due to previous errors")
            return 2
        return 0

    def names(self) -> Iterator[tuple[str, str]]:
        """Each operand with the directory it is in (`-C` holds from its place on)."""
        directory = self.call.cwd
        for key, value in self.call.arguments:
            if key == "C":
                path = os.path.join(directory, value or "")
                if not os.path.isdir(path):
                    raise self.fatal(f"{value}: Cannot open: No such file or directory")
                directory = path
            elif key == "":
                yield value or "", directory
            elif key == "T":
                for name in self._lines(value or ""):
                    yield name, directory
        for name in self.call.operands:
            yield name, directory

    def directory(self) -> str:
        """The directory that all `-C` lead to."""
        directory = self.call.cwd
        for value in self.call.arguments.values("C"):
            directory = os.path.join(directory, value)
            if not os.path.isdir(directory):
                raise self.fatal(f"{value}: Cannot open: No such file or directory")
        return directory


# -- listing ---------------------------------------------------------------------------------------


def _forget(archive: tarfile.TarFile) -> None:
    """Let go of the members read so far: an archive may have more of them than memory."""
    archive.members = []  # type: ignore[attr-defined]


class _Lister:
    """The lines of `-v`: columns grow with the longest owner and size so far."""

    def __init__(self, tar: _Tar) -> None:
        self.tar = tar
        self.width = 19

    def line(self, member: tarfile.TarInfo, name: str, long: bool) -> str:
        shown = _escaped(name + ("/" if member.isdir() and not name.endswith("/") else ""))
        if not long:
            return shown
        mode = stat.filemode(_type_bits(member) | member.mode)
        if member.islnk():
            mode = "h" + mode[1:]
        numeric = self.tar.call.arguments.has("numeric-owner")
        user = str(member.uid) if numeric or not member.uname else member.uname
        group = str(member.gid) if numeric or not member.gname else member.gname
        size = (
            f"{member.devmajor},{member.devminor}"
            if member.isdev() and not member.isfifo()
            else str(member.size)
        )
        if member.islnk() or member.issym():
            size = "0"
        used = len(user) + 1 + len(group) + 1 + len(size)
        self.width = max(self.width, used)
        form = "%Y-%m-%d %H:%M:%S" if self.tar.call.arguments.has("full-time") else "%Y-%m-%d %H:%M"
        env = {"TZ": "UTC"} if self.tar.call.arguments.has("utc") else self.tar.call.env
        moment = format_time(int(member.mtime) * 10**9, form, env)
        text = f"{mode} {user}/{group} {'':{self.width - used}}{size} {moment} {shown}"
        if member.issym():
            text += f" -> {_escaped(member.linkname)}"
        elif member.islnk():
            text += f" link to {_escaped(member.linkname)}"
        return text


def _escaped(name: str) -> str:
    if name.isprintable() and "\\" not in name:
        return name
    table = {
        "\n": "\\n",
        "\t": "\\t",
        "\\": "\\\\",
        "\r": "\\r",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\v": "\\v",
    }
    out = []
    for c in name:
        if c in table:
            out.append(table[c])
        elif c.isprintable():
            out.append(c)
        else:
            out += [f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogateescape")]
    return "".join(out)


def _type_bits(member: tarfile.TarInfo) -> int:
    for test, bits in (
        (member.isdir, stat.S_IFDIR),
        (member.issym, stat.S_IFLNK),
        (member.isfifo, stat.S_IFIFO),
        (member.ischr, stat.S_IFCHR),
        (member.isblk, stat.S_IFBLK),
    ):
        if test():
            return bits
    return stat.S_IFREG


# -- making ----------------------------------------------------------------------------------------


class _Writer:
    """Members as bytes, compressed on their way out."""

    def __init__(self, tar: _Tar, target: Target, kind: Format | None) -> None:
        self.tar = tar
        self.target = target
        level = kind.default_level if kind else 0
        self.compressor = kind.compressor(level, "", 0) if kind else None
        self.size = 0
        self.seen: dict[tuple[int, int], str] = {}
        self.lister = _Lister(tar)
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
            raise _misused(f"{wanted}: Invalid archive format")
        self.format = formats[wanted]

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.compressor:
            data = self.compressor.compress(data)
        if data:
            self.target.write(data)

    def close(self) -> None:
        self.write(bytes(1024))
        self.write(bytes(-self.size % _RECORD))
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
        if self.group is not None:
            text, _, number = self.group.partition(":")
            member.gname = "" if text.isdigit() else text
            member.gid = int(number or (text if text.isdigit() else group_number(text) or group))
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
        pending = [name]
        while pending:
            current = pending.pop()
            path = os.path.join(directory, current)
            if tar.excluded(current):
                continue
            try:
                status = os.stat(path) if arguments.has("h") else os.lstat(path)
            except OSError as error:
                tar.problem(f"{current}: Cannot stat: {reason(error)}")
                continue
            stored = tar.transform(current)
            if not tar.absolute:
                stored = safe_name(call, stored, tar.told)
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
            if tar.verbose:
                tar.tell(self.lister.line(member, shown, tar.verbose > 1))
            member.name = shown.rstrip("/") if member.isdir() else stored
            self.write(member.tobuf(self.format, "utf-8", "surrogateescape"))
            if source is not None:
                with source:
                    yield from self._contents(source, member.size, current)
            if arguments.has("remove-files") and not member.isdir():
                os.unlink(path)
            if self.target.full:
                yield

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


def _create(tar: _Tar) -> Generator[None, None, Status]:
    call = tar.call
    names = list(tar.names())
    if not names and not call.arguments.has("T"):
        raise _misused("Cowardly refusing to create an empty archive")
    try:
        target = call.create("/dev/stdout" if tar.file == "-" else tar.file)
    except OSError as error:
        raise tar.fatal(f"{tar.file}: Cannot open: {reason(error)}") from None
    writer = _Writer(tar, target, tar.kind)
    for name, directory in names:
        yield from writer.add(name, directory, None)
    writer.close()
    if call.arguments.has("totals"):
        call.warn(f"Total bytes written: {writer.size}")
    return tar.finish()


def _append(tar: _Tar) -> Generator[None, None, Status]:
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


# -- reading ---------------------------------------------------------------------------------------


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


def _open_archive(tar: _Tar) -> tarfile.TarFile:
    call = tar.call
    try:
        source = call.open(tar.file)
    except OSError as error:
        raise tar.fatal(f"{tar.file}: Cannot open: {reason(error)}") from None
    chunks = source.chunks()
    first = next(chunks, b"")
    while len(first) < 6 and (more := next(chunks, b"")):
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
    if not first:
        return tarfile.open(fileobj=io.BytesIO(bytes(1024)), mode="r|")
    try:
        return tarfile.open(fileobj=reader, mode="r|", errors="surrogateescape")
    except tarfile.ReadError:
        call.error("This does not look like a tar archive")
        raise CommandError("Exiting with failure status due to previous errors", 2) from None
    except CorruptDataError as error:
        raise tar.fatal(f"the compressed archive is {error}") from None


class _Selection:
    """Which members were named as operands; at the end, which of the names were not found."""

    def __init__(self, tar: _Tar) -> None:
        arguments = tar.call.arguments
        self.names = [name.rstrip("/") or "/" for name, _ in tar.names()]
        wildcards = arguments.last(("wildcards", "no-wildcards")) == "wildcards"
        self.patterns = [re.compile(glob_to_python(name)) if wildcards else None for name in self.names]
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

    def report(self, tar: _Tar) -> None:
        for name, found in zip(self.names, self.found, strict=True):
            if not found:
                tar.problem(f"{name}: Not found in archive")


def _members(tar: _Tar, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
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


def _list(tar: _Tar) -> Generator[None, None, Status]:
    archive = _open_archive(tar)
    selection = _Selection(tar)
    lister = _Lister(tar)
    with archive:
        for member in _members(tar, archive):
            _forget(archive)
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

    def __init__(self, tar: _Tar) -> None:
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
                else safe_name(self.call, member.linkname, self.tar.told, "hard link targets")
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


def _extract(tar: _Tar) -> Generator[None, None, Status]:
    call = tar.call
    archive = _open_archive(tar)
    selection = _Selection(tar)
    lister = _Lister(tar)
    to_stdout = call.arguments.has("O")
    extractor = _Extractor(tar)
    with archive:
        for member in _members(tar, archive):
            _forget(archive)
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
                name = safe_name(call, name, tar.told)
            if tar.verbose:
                shown = name if call.arguments.has("show-transformed-names") else member.name
                tar.tell(lister.line(member, shown, tar.verbose > 1))
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


def _compare(tar: _Tar) -> Status:
    """`-d`: what differs between the archive and the files."""
    archive = _open_archive(tar)
    selection = _Selection(tar)
    directory = tar.directory()
    differs = False
    with archive:
        for member in _members(tar, archive):
            _forget(archive)
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


_LONG = (
    "create=c extract=x get=x list=t append=r update=u catenate=A concatenate=A diff=d compare=d delete "
    "file=f: "
    "directory=C: verbose=v gzip=z gunzip=z ungzip=z bzip2=j xz=J zstd lzma lzip lzop compress=Z "
    "auto-compress=a use-compress-program=I: absolute-names=P preserve-permissions=p same-permissions=p "
    "no-same-permissions same-owner no-same-owner=o to-stdout=O files-from=T: exclude: exclude-from=X: "
    "exclude-vcs "
    "exclude-vcs-ignores exclude-backups strip-components: transform: xform=transform: keep-old-files=k "
    "skip-old-files keep-newer-files overwrite unlink-first=U touch=m null no-null no-recursion recursion "
    "dereference=h hard-dereference remove-files owner: group: mode: mtime: numeric-owner sort: "
    "format=format: "
    "wildcards no-wildcards anchored no-anchored ignore-case totals one-top-level:: full-time utc "
    "verify=W blocking-factor=b: warning: checkpoint:: ignore-failed-read no-overwrite-dir sparse=S "
    "one-file-system newer=N: index-file: quoting-style: show-transformed-names pax-option: no-auto-compress"
)


@utility(
    "tar",
    short="cxtruAdf:C:vzjJZaI:PpoOT:X:kUmhWb:SN:H:wiBV:",
    long=_LONG,
    usage="[OPTION...] [FILE]...",
    order="in order",
    failure=2,
    misuse=64,
    rewrite=_old_form,
    hint="Try '{0} --help' or '{0} --usage' for more information.",
)
def tar(call: Invocation) -> Generator[None, None, Status]:
    """Create, list, extract and change archives of files."""
    job = _Tar(call)
    if job.operation == "c":
        return (yield from _create(job))
    if job.operation in ("r", "u"):
        return (yield from _append(job))
    if job.operation == "t":
        return (yield from _list(job))
    if job.operation == "x":
        return (yield from _extract(job))
    if job.operation == "d":
        return _compare(job)
    raise CommandError(f"the operation -{job.operation} is not supported", 2)
