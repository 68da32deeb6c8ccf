"""zip: make and change archives in the format of PKZIP, with the words of Info-ZIP."""

from __future__ import annotations

import io
import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Generator, Iterator

from planaria_shell.expand.patterns import translate
from planaria_shell.run.command import Status
from planaria_shell.toolkit.file_times import local_time
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.streams import reason

__all__ = ["DAMAGE", "matcher", "percent", "split_lists", "stamp"]

DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def matcher(patterns: list[str], fold: bool = False) -> re.Pattern[str] | None:
    """One expression for names that match any of some patterns, None without patterns."""
    if not patterns:
        return None
    flags = re.DOTALL | (re.IGNORECASE if fold else re.NOFLAG)
    return re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns), flags)


def split_lists(words: list[str], letters: str) -> tuple[list[str], dict[str, list[str]]]:
    """The words without the lists that `-x` and `-i` begin (up to `@` or an option), and those lists."""
    rest: list[str] = []
    lists: dict[str, list[str]] = {}
    current: list[str] | None = None
    for index, word in enumerate(words):
        if len(word) == 2 and word[0] == "-" and word[1] in letters:
            current = lists.setdefault(word[1], [])
        elif word == "@" and current is not None:
            current = None
        elif word.startswith("-") and len(word) > 1 and current is not None and index:
            current = None
            rest.append(word)
        elif current is not None:
            current.append(word)
        else:
            rest.append(word)
    return rest, lists


def stamp(moment: int, env: dict[str, str]) -> tuple[int, int, int, int, int, int]:
    """A time as zip keeps it: local, from 1980 on, in steps of two seconds."""
    when = local_time(moment, env)
    if when.year < 1980:
        return (1980, 1, 1, 0, 0, 0)
    return (when.year, when.month, when.day, when.hour, when.minute, when.second & ~1)


class _Zip:
    """One call of zip."""

    def __init__(self, call: Invocation) -> None:
        self.call = call
        letters = {key for key, _ in call.arguments}
        self.recurse = "r" in letters
        self.junk = "j" in letters
        self.quiet = "q" in letters
        self.links = "y" in letters
        self.move = "m" in letters
        self.no_directories = "D" in letters
        self.freshen = "f" in letters
        self.update = "u" in letters
        self.delete = "d" in letters
        self.level = 6
        for key, _ in call.arguments:
            if key.isdigit():
                self.level = int(key)
        self.failed = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.call.print(text)

    def warn(self, text: str) -> None:
        # Info-ZIP's warnings of zip go to standard output.
        self.call.print(f"\tzip warning: {text}")

    def fail(self, text: str, status: int) -> Status:
        self.call.print(f"\nzip error: {text}")
        return status

    def files(
        self, operands: list[str], chosen: re.Pattern[str] | None, left_out: re.Pattern[str] | None
    ) -> Iterator[str]:
        """Each file and directory to store, by the name it was given."""
        pending = list(reversed(operands))
        while pending:
            name = pending.pop()
            if name == "-":
                yield name
                continue
            path = self.call.path(name)
            if not os.path.lexists(path):
                self.warn(f"name not matched: {name}")
                self.failed = True
                continue
            shown = re.sub(r"^(\./+)+|^/+", "", name)
            directory = os.path.isdir(path) and not (self.links and os.path.islink(path))
            if directory and self.recurse:
                pending += [os.path.join(name, child) for child in reversed(os.listdir(path))]
            if directory and (self.no_directories or self.junk or name.rstrip("/") in (".", "")):
                continue
            if left_out and left_out.fullmatch(shown + ("/" if directory else "")):
                continue
            if chosen and not chosen.fullmatch(shown):
                continue
            yield name


def _zip_words(words: list[str]) -> list[str]:
    rest, lists = split_lists(words, "xi")
    for letter, names in lists.items():
        for name in names:
            rest += [f"-{letter}", name]
    return rest


@utility(
    "zip",
    short="0123456789rjqymDfudx:i:XoTveglkncb:t:@",
    long="recurse-paths=r junk-paths=j quiet=q symlinks=y move=m no-dir-entries=D freshen=f update=u "
    "delete=d "
    "exclude=x: include=i: no-extra=X latest-time=o test=T verbose=v",
    usage="[OPTION]... ARCHIVE [FILE]...",
    failure=16,
    rewrite=_zip_words,
)
def zip_command(call: Invocation) -> Generator[None, None, Status]:
    """Package and compress files into a zip archive."""
    job = _Zip(call)
    if not call.operands:
        return job.fail("Nothing to do!", 16)
    archive_name, operands = call.operands[0], call.operands[1:]
    if archive_name != "-" and "." not in os.path.basename(archive_name):
        archive_name += ".zip"
    if call.arguments.has("@"):
        operands += [os.fsdecode(line.rstrip(b"\n")) for line in call.stdin]
    chosen, left_out = matcher(call.arguments.values("i")), matcher(call.arguments.values("x"))
    path = call.path(archive_name)
    old: list[tuple[zipfile.ZipInfo, bytes]] = []
    if archive_name != "-" and os.path.exists(path):
        try:
            with zipfile.ZipFile(path) as archive:
                old = [(info, archive.read(info)) for info in archive.infolist()]
        except DAMAGE:
            return job.fail(f"Zip file structure invalid ({archive_name})", 3)
    if job.delete:
        return _delete(job, archive_name, path, old, operands)
    stored: dict[str, str] = {}
    for name in job.files(operands, chosen, left_out):
        inner = os.path.basename(name.rstrip("/")) if job.junk else re.sub(r"^(\./+)+|^/+", "", name)
        if os.path.isdir(call.path(name)) and not (job.links and os.path.islink(call.path(name))):
            inner = inner.rstrip("/") + "/"
        stored[inner] = name
    if job.update and not old and stored:
        job.warn(f"{archive_name} not found or empty")
    if not stored and call.arguments.has("T") and old:
        job.say(f"test of {archive_name} OK")
        return 0
    if not stored:
        return job.fail(f"Nothing to do! ({archive_name})", 12)
    known = {info.filename: info for info, _ in old}
    if (job.update or job.freshen) and not any(
        _is_older(job, known[inner], call.path(name)) if inner in known else job.update
        for inner, name in stored.items()
    ):
        return 12
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for info, data in old:
            given = stored.get(info.filename)
            if given is not None and not _is_older(job, info, call.path(given)):
                del stored[info.filename]
                given = None
            if given is None:
                archive.writestr(info, data, info.compress_type, job.level)
            else:
                _store(job, archive, info.filename, given, "updating")
                yield
        for inner, name in stored.items():
            if inner not in known and not job.freshen:
                _store(job, archive, inner, name, "adding")
                yield
    if archive_name == "-":
        call.stdout.write(buffer.getvalue())
    else:
        try:
            target = call.create(archive_name)
        except OSError as error:
            call.print(f"zip I/O error: {reason(error)}")
            return job.fail(f"Could not create output file ({archive_name})", 15)
        target.write(buffer.getvalue())
        target.close()
        if call.arguments.has("T"):
            job.say(f"test of {archive_name} OK")
    if job.move:
        for name in stored.values():
            if name != "-" and not os.path.isdir(call.path(name)):
                os.unlink(call.path(name))
    return 0


def _is_older(job: _Zip, info: zipfile.ZipInfo, path: str) -> bool:
    """Should the member be replaced by the file? Only when it is older, for `-u` and `-f`."""
    if not (job.update or job.freshen) or path.endswith("/-"):
        return True
    return stamp(os.stat(path).st_mtime_ns, job.call.env) > info.date_time


def _store(job: _Zip, archive: zipfile.ZipFile, inner: str, name: str, verb: str) -> None:
    call = job.call
    path = call.path(name)
    given = name == "-"
    link = job.links and not given and os.path.islink(path)
    if given:
        moment, mode = time.time_ns(), stat.S_IFIFO | 0o600
    else:
        status = os.lstat(path) if link else os.stat(path)
        moment, mode = status.st_mtime_ns, status.st_mode
    info = zipfile.ZipInfo(inner, stamp(moment, call.env))
    info.create_system = 3
    info.external_attr = mode << 16
    if given:
        data = call.stdin.read()
    elif inner.endswith("/"):
        info.external_attr |= 0x10
        data = b""
    elif link:
        data = os.fsencode(os.readlink(path))
    else:
        with open(path, "rb") as file:
            data = file.read()
    packed = data
    info.compress_type = zipfile.ZIP_STORED
    if data and job.level:
        compressor = zlib.compressobj(job.level, zlib.DEFLATED, -15, 9)
        packed = compressor.compress(data) + compressor.flush()
        if len(packed) < len(data):
            info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data, info.compress_type, job.level)
    saved = 0
    kind = "stored"
    if info.compress_type == zipfile.ZIP_DEFLATED:
        kind = "deflated"
        saved = percent(len(data), len(packed))
    job.say(
        f"{verb:>8}: {inner} ({kind} {saved}%)"
        if verb == "updating"
        else f"  {verb}: {inner} ({kind} {saved}%)"
    )


def percent(plain: int, packed: int) -> int:
    """How much smaller, in whole percent, rounded as Info-ZIP does."""
    if not plain:
        return 0
    thousandths = (plain - packed) * 1000 // plain
    return (thousandths + 5) // 10 if thousandths >= 0 else -((-thousandths + 5) // 10)


def _delete(
    job: _Zip, archive_name: str, path: str, old: list[tuple[zipfile.ZipInfo, bytes]], patterns: list[str]
) -> Status:
    pattern = matcher(patterns)
    gone = {info.filename for info, _ in old if pattern and pattern.fullmatch(info.filename)}
    if not gone:
        for name in patterns:
            job.warn(f"name not matched: {name}")
        return job.fail(f"Nothing to do! ({archive_name})", 12)
    for info, _ in old:
        if info.filename in gone:
            job.say(f"deleting: {info.filename}")
    left = [(info, data) for info, data in old if info.filename not in gone]
    if not left:
        os.unlink(path)
        job.warn("zip file empty")
        return 0
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in left:
            archive.writestr(info, data, info.compress_type)
    return 0
