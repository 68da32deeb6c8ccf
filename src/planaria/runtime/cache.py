"""Where compiled modules are kept between processes, and the checks before one is loaded as native code.

**Threat model.** Loading a compiled module is running its code, so what counts is who may have written it.
- Another user must not be able to: the directory is made with mode 0700, must not be a symbolic link, must
  belong to this user (or root) and must not be writable by anyone else; so must each file. Otherwise
  nothing is loaded and `RuntimeSetupError` says what to change.
- Damage (a crash in the middle of writing, a full disk, a failing one, a careless tool) must be noticed:
  beside each module lies a record with its SHA-256. Hashing 75 or 270 MB at every start would cost 0.05 or
  0.2 s, so the record also holds the stamp of the file as it was when last hashed (device, inode, size,
  modification time, change time). While the stamp is the same the contents are; the change time cannot be
  set by programs. With another stamp the file is hashed again, and compiled again when it differs. So it
  is after a restart of the system when the file was not waited for until it was on the disk.
- This user, or root, can do anything to this process anyway; nothing here defends against them.
On Windows the profile directory's access rights take the place of modes and owners.

A file appears under its name only when it is complete, and its record after it, so a process that is killed
at any point leaves at worst a `.partial` file, which the next compile removes. A file lock, which the system
releases when its holder dies, lets one process write an entry at a time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from planaria.errors import RuntimeSetupError
from planaria.file_locks import file_lock

__all__ = [
    "CompileCache",
    "EntryRecord",
    "EntryWriter",
    "boot_id",
    "cache_directory",
    "cache_failure",
    "hash_file",
]

_POSIX: Final = os.name == "posix"
_SUFFIX: Final = ".cwasm"
_STAMP_FIELDS: Final = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")

_ELSEWHERE: Final = "free some, or set PLANARIA_CACHE to a directory elsewhere"
_ADVICE: Final = {
    errno.ENOSPC: f"space is needed: {_ELSEWHERE}",
    errno.EDQUOT: f"the quota is used up: {_ELSEWHERE}",
    errno.EFBIG: "raise the limit of this process for files (ulimit -f)",
    errno.EMFILE: "close files or sessions, or raise the limit of open files (ulimit -n)",
    errno.ENFILE: "the system has too many open files; close some and try again",
    errno.EROFS: "set PLANARIA_CACHE to a directory that can be written to",
    errno.EACCES: "set PLANARIA_CACHE to a directory of your own",
}

_log = logging.getLogger("planaria.runtime")

Stamp = tuple[int, ...]


def cache_directory() -> Path:
    """The directory of this user's cache: `$PLANARIA_CACHE`, or `planaria` under the platform's place."""
    chosen = os.environ.get("PLANARIA_CACHE")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("planaria", appauthor=False))


def cache_failure(what: object, done: str, error: OSError) -> RuntimeSetupError:
    """The error of something in the cache that cannot be "read" or "written", with what to do about it."""
    advice = _ADVICE.get(error.errno or 0)
    return RuntimeSetupError(
        f"{what} cannot be {done}: {error.strerror}" + ("" if advice is None else f"; {advice}")
    )


def stamp_of(status: os.stat_result) -> Stamp:
    """What identifies the contents of a file without reading them."""
    return tuple(getattr(status, field) for field in _STAMP_FIELDS)


def boot_id() -> str:
    """What the kernel calls this run of the system (random(4)); empty where it does not say (not Linux)."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def hash_file(path: Path) -> str:
    """SHA-256 of a file's contents, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """What is known about a compiled module: its digest, its stamp when last hashed, and how it was made."""

    sha256: str
    stamp: Stamp
    seconds: float
    """How long its compile took."""
    peak_memory: int
    """The most memory in bytes that the compiling process had."""
    origin: str = ""
    """Where it was taken from, if it was not compiled here."""
    boot: str = ""
    """While the system runs that has this boot ID the contents are known; empty once they are on the disk."""

    def to_json(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, text: str) -> EntryRecord:
        """Raises ValueError when it is not a record."""
        try:
            fields = json.loads(text)
            record = cls(
                str(fields["sha256"]),
                tuple(int(number) for number in fields["stamp"]),
                float(fields["seconds"]),
                int(fields["peak_memory"]),
                str(fields.get("origin", "")),
                str(fields.get("boot", "")),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a record: {error}") from None
        if len(record.stamp) != len(_STAMP_FIELDS) or len(record.sha256) != 64:
            raise ValueError("not a record: the stamp or the digest has the wrong length")
        return record


class EntryWriter:
    """A file being written; `write` it piece by piece, its digest is taken on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._hash.update(data)

    def sha256(self) -> str:
        return self._hash.hexdigest()


class CompileCache:
    """Compiled modules by key in one directory (see the module's text for what is checked)."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory: Final = directory if directory is not None else cache_directory()

    # -- names -------------------------------------------------------------------------------------

    def module_path(self, key: str) -> Path:
        return self.directory / f"{key}{_SUFFIX}"

    def record_path(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def log_path(self, key: str) -> Path:
        """Where the process that compiles this entry in the background writes its output."""
        return self.directory / f"{key}.log"

    def partial_paths(self, key: str = "*") -> list[Path]:
        """What killed compiles left behind (or a running one is writing)."""
        return sorted(self.directory.glob(f"{key}.*.partial"))

    # -- trust -------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the directory, private to this user, or check the one that is there.

        Raises `RuntimeSetupError` when it cannot be created, or another user could write to it.
        """
        try:
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            self.directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise RuntimeSetupError(
                f"the cache directory {self.directory} cannot be created ({error.strerror}); "
                "set PLANARIA_CACHE to a directory of your own"
            ) from error
        self.check()

    def check(self) -> None:
        """Raises `RuntimeSetupError` unless it is there and only this user or root can change it."""
        try:
            status = self.directory.lstat()
        except OSError as error:
            raise RuntimeSetupError(
                f"the cache directory {self.directory} cannot be used: {error.strerror}"
            ) from error
        if stat.S_ISLNK(status.st_mode):
            raise RuntimeSetupError(
                f"the cache directory {self.directory} is a symbolic link; "
                "set PLANARIA_CACHE to the directory itself"
            )
        if not stat.S_ISDIR(status.st_mode):
            raise RuntimeSetupError(f"the cache directory {self.directory} is not a directory; remove it")
        self._check_private(self.directory, status)

    @staticmethod
    def _check_private(path: Path, status: os.stat_result) -> None:
        if not _POSIX:
            return
        if status.st_uid not in (os.geteuid(), 0):
            raise RuntimeSetupError(
                f"{path} belongs to user {status.st_uid}, not to you: no code is loaded from it; "
                "remove it, or set PLANARIA_CACHE to a directory of your own"
            )
        if status.st_mode & 0o022:
            raise RuntimeSetupError(
                f"{path} can be written by other users (mode {stat.S_IMODE(status.st_mode):04o}): "
                f"no code is loaded from it; if you trust what is there, chmod go-w {path}"
            )

    def check_entry(self, key: str) -> None:
        """Raises `RuntimeSetupError` when another user could have written an entry's files."""
        self.check()
        for path in (self.record_path(key), self.module_path(key)):
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue
            if not stat.S_ISREG(status.st_mode):
                raise RuntimeSetupError(f"{path} is not a regular file: no code is loaded from it; remove it")
            self._check_private(path, status)

    # -- looking -----------------------------------------------------------------------------------

    def record(self, key: str) -> EntryRecord | None:
        """The record of an entry, or None when there is none or it is unreadable."""
        try:
            return EntryRecord.from_json(self.record_path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def find(self, key: str) -> Path | None:
        """The checked path of a compiled module, or None when it has to be compiled (again).

        Raises `RuntimeSetupError` when another user could have written it.
        """
        path, record_path = self.module_path(key), self.record_path(key)
        try:
            record_path.lstat()
            status = path.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RuntimeSetupError(f"{path} cannot be read: {error.strerror}") from error
        self.check_entry(key)
        # Nothing is removed here: without the lock it could be what another process has just written. An
        # entry of no use is overwritten by the next compile.
        record = self.record(key)
        if record is None:
            return None
        if record.stamp == stamp_of(status) and record.boot in ("", boot_id()):
            return path
        if status.st_size != record.stamp[2] or hash_file(path) != record.sha256:
            _log.warning("planaria: %s is damaged and will not be used", path)
            return None
        with contextlib.suppress(OSError):  # only saves time; a shared, read-only cache is hashed each time
            self._write_record(key, replace(record, stamp=stamp_of(status), boot=""))
        return path

    def remove(self, key: str) -> None:
        """Remove an entry (holding its lock); harmless when there is none."""
        self.record_path(key).unlink(missing_ok=True)
        self.module_path(key).unlink(missing_ok=True)

    def module_keys(self) -> list[str]:
        """The keys of all modules here, of any version."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.directory.glob(f"*{_SUFFIX}"))

    # -- writing -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, key: str, *, blocking: bool = True) -> Iterator[bool]:
        """Hold the lock of an entry, of an image or of something else in this directory.

        Yields False when `blocking` is False and another process has it.
        """
        place = self.directory / f"{key}.lock"
        with contextlib.ExitStack() as stack:
            try:
                held = stack.enter_context(file_lock(place, timeout=None if blocking else 0))
            except OSError as error:
                raise cache_failure(place, "written", error) from error
            yield held

    @contextlib.contextmanager
    def create(
        self,
        key: str,
        *,
        measure: Callable[[], int] | None = None,
        origin: str = "",
        is_at_hand: bool = False,
    ) -> Iterator[EntryWriter]:
        """Write an entry (holding its lock); it appears when the block ends without an error.

        `measure()` is asked at the end for the peak memory in bytes; `origin` is for its record. What
        `is_at_hand` elsewhere need not be on the disk before it is used: should the system crash, it is
        hashed and, when it is incomplete, written again. Raises `RuntimeSetupError` when the disk is full.
        """
        self.check()
        for leftover in self.partial_paths(key):
            leftover.unlink(missing_ok=True)
        partial = self.directory / f"{key}.{os.getpid()}.partial"
        begun = time.monotonic()
        try:
            descriptor = os.open(
                partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                writer = EntryWriter(file)
                yield writer
                file.flush()
                boot = boot_id() if is_at_hand else ""
                if not boot:
                    os.fsync(file.fileno())
            self.record_path(key).unlink(missing_ok=True)
            partial.replace(self.module_path(key))
            status = self.module_path(key).lstat()
            peak = measure() if measure is not None else 0
            record = EntryRecord(
                writer.sha256(), stamp_of(status), time.monotonic() - begun, peak, origin, boot
            )
            self._write_record(key, record)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise RuntimeSetupError(
                    f"no space is left in {self.directory} for the compiled runtime (up to 300 MB); "
                    f"{_ELSEWHERE}"
                ) from error
            raise cache_failure(error.filename or partial, "written", error) from error
        finally:
            partial.unlink(missing_ok=True)

    def _write_record(self, key: str, record: EntryRecord) -> None:
        partial = self.directory / f"{key}.json.{os.getpid()}.partial"
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(record.to_json())
            partial.replace(self.record_path(key))
        finally:
            partial.unlink(missing_ok=True)
