"""unzip and zipinfo: read archives in the format of PKZIP, with the words of Info-ZIP."""

from __future__ import annotations

import datetime
import os
import stat
import time
import zipfile
from collections.abc import Generator, Iterator

from planaria_shell.commands.archives.zip.command import DAMAGE, matcher, percent, split_lists, stamp
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.run.command import Status
from planaria_shell.toolkit.file_times import local_time
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.streams import BLOCK, reason

__all__: list[str] = []


def _find_archive(call: Invocation, name: str) -> str | None:
    for candidate in (name, name + ".zip", name + ".ZIP"):
        if os.path.isfile(call.path(candidate)):
            return candidate
    return None


def _open_archive(call: Invocation, name: str) -> tuple[zipfile.ZipFile, str] | Status:
    program = call.name
    found = _find_archive(call, name)
    if found is None:
        call.warn(f"{program}:  cannot find or open {name}, {name}.zip or {name}.ZIP.")
        return 9
    try:
        return zipfile.ZipFile(call.path(found)), found
    except (*DAMAGE, OSError):
        if program != "zipinfo" and not call.arguments.has("q", "p", "Z", "l", "v"):
            call.print(f"Archive:  {found}")
        if call.arguments.has("l", "v"):
            call.print(f"Archive:  {found}")
        call.warn(
            "  End-of-central-directory signature not found.  Either this file is not\n"
            "  a zipfile, or it constitutes one disk of a multi-part archive.  In the\n"
            "  latter case the central directory and zipfile comment will be found on\n"
            "  the last disk(s) of this archive."
        )
        call.warn(
            f"{program}:  cannot find zipfile directory in one of {found} or\n        {found}.zip, and "
            f"cannot find {found}.ZIP, period."
        )
        return 9


def _unzip_words(words: list[str]) -> list[str]:
    rest, lists = split_lists(words, "x")
    for name in lists.get("x", []):
        rest += ["-x", name]
    return rest


@utility(
    "unzip",
    short="clpqtvnoujd:x:CaLDXZ1fzTP:bBKM:V",
    usage="[-OPTIONS] ARCHIVE [MEMBER]... [-x MEMBER...] [-d DIRECTORY]",
    failure=10,
    rewrite=_unzip_words,
)
def unzip(call: Invocation) -> Generator[None, None, Status]:
    """List, test, or extract files of a zip archive."""
    arguments = call.arguments
    if not call.operands:
        call.print("Usage: unzip [-Z] [-opts[modifiers]] file[.zip] [list] [-x xlist] [-d exdir]")
        return 10
    opened = _open_archive(call, call.operands[0])
    if isinstance(opened, int):
        return opened
    archive, name = opened
    fold = arguments.has("C")
    patterns = call.operands[1:]
    matchers = [compile_pattern(p, ignore_case=fold) for p in patterns]
    left_out = matcher(arguments.values("x"), fold)
    hits = [False] * len(matchers)
    chosen: list[zipfile.ZipInfo] = []
    for info in archive.infolist():
        if left_out and left_out.fullmatch(info.filename):
            continue
        if matchers:
            matched = [bool(m.fullmatch(info.filename)) for m in matchers]
            hits = [hit or new for hit, new in zip(hits, matched, strict=True)]
            if not any(matched):
                continue
        chosen.append(info)
    with archive:
        if arguments.has("Z"):
            _information(call, archive, name, chosen)
            return 0
        if arguments.has("l", "v"):
            _list(call, name, chosen, arguments.has("v"))
        else:
            yield from _Unzip(call, archive, name).run(chosen)
    status = call.status
    for pattern, hit in zip(patterns, hits, strict=True):
        if not hit:
            call.warn(f"caution: filename not matched:  {pattern}")
            status = 11
    return status


def _moment(info: zipfile.ZipInfo) -> str:
    year, month, day, hour, minute, _ = info.date_time
    return f"{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}"


def _list(call: Invocation, name: str, members: list[zipfile.ZipInfo], verbose: bool) -> None:
    quiet = sum(1 for key, _ in call.arguments if key == "q")
    if not quiet:
        call.print(f"Archive:  {name}")
    plain = sum(info.file_size for info in members)
    packed = sum(info.compress_size for info in members)
    count = len(members)
    if verbose:
        if quiet < 2:
            call.print(" Length   Method    Size  Cmpr    Date    Time   CRC-32   Name")
            call.print("--------  ------  ------- ---- ---------- ----- --------  ----")
        for info in members:
            method = "Stored" if info.compress_type == zipfile.ZIP_STORED else "Defl:N"
            share = f"{percent(info.file_size, info.compress_size)}%"
            call.print(
                f"{info.file_size:>8}  {method:<6} {info.compress_size:>8} {share:>4} {_moment(info)} "
                f"{info.CRC:08x}  {info.filename}"
            )
        if quiet < 2:
            call.print("--------          -------  ---                            -------")
            share = f"{percent(plain, packed)}%"
            call.print(
                f"{plain:>8}         {packed:>8} {share:>4}                            {count} "
                f"file{'s' * (count != 1)}"
            )
        return
    if quiet < 2:
        call.print("  Length      Date    Time    Name")
        call.print("---------  ---------- -----   ----")
    for info in members:
        call.print(f"{info.file_size:>9}  {_moment(info)}   {info.filename}")
    if quiet < 2:
        call.print("---------                     -------")
        call.print(f"{plain:>9}                     {count} file{'s' * (count != 1)}")


class _Unzip:
    """Extracts, prints or tests members."""

    def __init__(self, call: Invocation, archive: zipfile.ZipFile, name: str) -> None:
        arguments = call.arguments
        self.call = call
        self.archive = archive
        self.name = name
        self.pipe = arguments.has("p")
        self.to_stdout = arguments.has("p", "c")
        self.test = arguments.has("t")
        self.quiet = arguments.has("q") or self.pipe
        self.junk = arguments.has("j")
        self.directory = arguments.value("d") or ""
        self.overwrite = arguments.last(("o", "n"))
        self.update = arguments.has("u", "f")
        self.freshen = arguments.has("f")
        self.answer_all = ""
        self.bad = 0

    def run(self, members: list[zipfile.ZipInfo]) -> Generator[None, None, None]:
        call = self.call
        if not self.quiet:
            call.print(f"Archive:  {self.name}")
        directories: list[tuple[str, zipfile.ZipInfo]] = []
        for info in members:
            try:
                if self.test:
                    for _ in self._contents(info):
                        pass
                    if not self.quiet:
                        call.print(f"    testing: {info.filename:<22}   OK")
                elif self.to_stdout:
                    if not info.is_dir():
                        if not self.pipe and not self.quiet:
                            verb = (
                                " extracting" if info.compress_type == zipfile.ZIP_STORED else "  inflating"
                            )
                            call.print(f"{verb}: {info.filename:<22}  ")
                        for block in self._contents(info):
                            call.stdout.write(block)
                            if call.stdout.full:
                                yield
                        if not self.pipe:
                            call.print("")
                else:
                    self._extract(info, directories)
            except DAMAGE as error:
                self.bad += 1
                call.warn(f"  error:  {info.filename}: {error}")
                call.status = 2
            except OSError as error:
                call.warn(f"error:  cannot create {self._target(info)}\n        {reason(error)}")
                call.status = max(call.status, 50)
            if call.stdout.full:
                yield
        for path, info in reversed(directories):
            self._attributes(path, info)
        if self.test and not self.bad:
            count = len(members)
            if count == 1 and len(call.operands) > 1:
                return
            if not call.arguments.has("q") or sum(1 for key, _ in call.arguments if key == "q") < 2:
                call.print(f"No errors detected in compressed data of {self.name}.")

    def _contents(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        with self.archive.open(info) as source:
            while block := source.read(BLOCK):
                yield block

    def _safe(self, name: str) -> str:
        """A member's name without `..` and a leading `/`."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        safe = "/".join(part for part in parts if part != "..")
        if ".." in parts:
            self.call.warn(f'warning:  skipped "../" path component(s) in {name}')
            self.call.status = max(self.call.status, 1)
        if name.startswith("/"):
            self.call.warn(f"warning:  stripped absolute path spec from {name}")
            self.call.status = max(self.call.status, 1)
        return safe

    def _target(self, info: zipfile.ZipInfo) -> str:
        name = self._safe(info.filename)
        if self.junk:
            name = name.rpartition("/")[2]
        if self.call.arguments.has("L"):
            name = name.lower()
        return f"{self.directory.rstrip('/') or '/'}/{name}" if self.directory else name

    def _extract(self, info: zipfile.ZipInfo, directories: list[tuple[str, zipfile.ZipInfo]]) -> None:
        call = self.call
        if info.is_dir() and self.junk:
            return
        target = self._target(info)
        path = call.path(target)
        if info.is_dir():
            if not os.path.isdir(path):
                os.makedirs(path)
                if not self.quiet:
                    call.print(f"   creating: {target}/")
                directories.append((path, info))
            return
        exists = os.path.lexists(path)
        if self.freshen and not exists:
            return
        if exists and self.update and stamp(os.lstat(path).st_mtime_ns, call.env) >= info.date_time:
            return
        if exists and not self._may_overwrite(target):
            return
        os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
        mode = info.external_attr >> 16
        link = stat.S_ISLNK(mode) and info.create_system == 3
        if exists:
            os.unlink(path)
        if link:
            if not self.quiet:
                call.print(
                    f"    linking: {target:<22}  -> {self.archive.read(info).decode('utf-8', 'replace')} "
                )
            os.symlink(os.fsdecode(self.archive.read(info)), path)
            return
        permissions = stat.S_IMODE(mode) if info.create_system == 3 and mode else 0o666
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 & ~call.umask)
        with os.fdopen(descriptor, "wb") as file:
            for block in self._contents(info):
                file.write(block)
        verb = " extracting" if info.compress_type == zipfile.ZIP_STORED else "  inflating"
        if not self.quiet:
            call.print(f"{verb}: {target:<22}  ")
        if info.create_system == 3 and mode:
            os.chmod(path, permissions & 0o777)
        self._attributes(path, info)

    def _attributes(self, path: str, info: zipfile.ZipInfo) -> None:
        zone = local_time(0, self.call.env).tzinfo
        year, month, day, hour, minute, second = info.date_time
        try:
            when = datetime.datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
        except ValueError:
            return
        os.utime(path, (time.time(), when.timestamp()))
        if info.is_dir() and info.create_system == 3 and info.external_attr >> 16:
            os.chmod(path, stat.S_IMODE(info.external_attr >> 16) & 0o777)

    def _may_overwrite(self, target: str) -> bool:
        if self.overwrite == "o" or self.answer_all == "A" or self.update:
            return True
        if self.overwrite == "n" or self.answer_all == "N":
            return False
        call = self.call
        call.stdout.pass_on()
        question = f"replace {target}? [y]es, [n]o, [A]ll, [N]one, [r]ename: "
        call.stderr.write(question.encode("utf-8", "surrogateescape"))
        answer = call.stdin.readline().strip().decode("utf-8", "replace")
        if not answer:
            call.warn(' NULL\n(EOF or read error, treating as "[N]one" ...)')
            self.answer_all = "N"
            call.status = max(call.status, 1)
            return False
        if answer[0] in "AN":
            self.answer_all = answer[0]
        return answer[0] in "yYA"


@utility("zipinfo", short="12smlvhtTzC", usage="[-OPTIONS] ARCHIVE [MEMBER]...", failure=10)
def zipinfo(call: Invocation) -> Status:
    """List detailed information about a zip archive."""
    if not call.operands:
        call.print("Usage: zipinfo [-12smlvhtTzC] file[.zip] [list...]")
        return 10
    opened = _open_archive(call, call.operands[0])
    if isinstance(opened, int):
        return opened
    archive, name = opened
    pattern = matcher(call.operands[1:])
    with archive:
        chosen = [info for info in archive.infolist() if not pattern or pattern.fullmatch(info.filename)]
        _information(call, archive, name, chosen)
    if not chosen and pattern:
        return 11
    return 0


def _information(
    call: Invocation, archive: zipfile.ZipFile, name: str, members: list[zipfile.ZipInfo]
) -> None:
    if call.arguments.has("1", "2"):
        for info in members:
            call.print(info.filename)
        return
    size = os.path.getsize(call.path(name))
    whole = len(members) == len(archive.infolist())
    if whole:
        call.print(f"Archive:  {name}")
        call.print(f"Zip file size: {size} bytes, number of entries: {len(members)}")
    for info in members:
        mode = info.external_attr >> 16
        text_kind = "t" if info.internal_attr & 1 else "b"
        extra = "x" if info.extra else "-"
        method = "stor" if info.compress_type == zipfile.ZIP_STORED else "defN"
        version = f"{info.create_version // 10}.{info.create_version % 10}"
        system = "unx" if info.create_system == 3 else "fat"
        year, month, day, hour, minute, _ = info.date_time
        months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
        when = f"{year % 100:02d}-{months[month - 1]}-{day:02d} {hour:02d}:{minute:02d}"
        call.print(
            f"{stat.filemode(mode):<10}  {version} {system} {info.file_size:>8} {text_kind}{extra} "
            f"{method} {when} "
            f"{info.filename}"
        )
    if whole:
        plain = sum(info.file_size for info in members)
        packed = sum(info.compress_size for info in members)
        share = (plain - packed) / plain * 100 if plain else 0.0
        count = len(members)
        call.print(
            f"{count} file{'s' * (count != 1)}, {plain} bytes uncompressed, {packed} bytes compressed:  "
            f"{share:.1f}%"
        )
