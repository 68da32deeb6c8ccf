"""cpio: archives of the files whose names come on standard input."""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from collections.abc import Generator, Iterator

from planaria_shell.commands.archives.cpio.format import (
    DamagedArchiveError,
    Member,
    read_members,
    write_member,
)
from planaria_shell.commands.archives.member_names import safe_name
from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import FileInput, reason
from planaria_shell.toolkit.users import group_name, user_name

__all__: list[str] = []

_BLOCK = 512
_FORMATS = ("bin", "odc", "newc", "crc")


@command(
    "cpio",
    short="oiptABC:E:F:H:I:LMO:R:VacbdfklmnrsuSv0D:",
    long="create=o extract=i pass-through=p list=t append=A block-size: io-size=C: pattern-file=E: file=F: "
    "format=H: dereference=L reset-access-time=a make-directories=d nonmatching=f link=l "
    "preserve-modification-time=m numeric-uid-gid=n rename=r unconditional=u verbose=v dot=V null=0 "
    "quiet no-absolute-filenames absolute-filenames directory=D: owner=R: no-preserve-owner sparse "
    "renumber-inodes ignore-devno reproducible device-independent to-stdout",
    usage="-o [OPTION]... < NAMES > ARCHIVE\n  or:  cpio -i [OPTION]... [PATTERN]... < ARCHIVE\n"
    "  or:  cpio -p [OPTION]... DIRECTORY < NAMES",
    failure=2,
    hint="Try '{name} --help' or '{name} --usage' for more information.",
)
def cpio(call: Invocation) -> Generator[None, None, Status]:
    """Copy files to and from archives, or to another directory."""
    mode = {key for key, _ in call.arguments if key in ("o", "i", "p")}
    if not mode and call.arguments.has("t"):
        mode = {"i"}
    if len(mode) != 1:
        raise UsageError("You must specify one of -oipt options." if not mode else "Mode already defined")
    work = _Cpio(call)
    if mode == {"o"}:
        yield from work.create()
    elif mode == {"p"}:
        work.pass_through()
    else:
        yield from work.extract()
    return call.status


class _Cpio:
    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        self.verbose = arguments.has("v")
        self.quiet = arguments.has("quiet")
        kind = "odc" if arguments.has("c") else arguments.value("H") or "bin"
        if kind not in _FORMATS:
            if kind in ("ustar", "tar", "hpbin", "hpodc"):
                raise CommandError(f"the format {kind} is not supported here; use newc, odc, crc or bin", 2)
            raise UsageError(f"invalid archive format `{kind}'; valid formats are:\ncrc newc odc bin")
        self.kind = kind
        self.size = 0
        self.base = arguments.value("D") or ""
        self.reported: set[str] = set()
        self.links: dict[tuple[int, int], str] = {}

    def _path(self, name: str) -> str:
        return self.call.path(os.path.join(self.base, name) if self.base else name)

    def _names(self) -> Iterator[str]:
        end = b"\0" if self.call.arguments.has("0") else b"\n"
        for name in self.call.stdin.read().split(end):
            if name:
                yield os.fsdecode(name)

    def _blocks(self) -> None:
        if not self.quiet:
            count = -(-self.size // _BLOCK)
            self.call.warn(f"{count} block{'s' if count != 1 else ''}")

    def _report(self, name: str) -> None:
        self.call.stdout.pass_on()
        if self.verbose:
            self.call.warn(name)
        elif self.call.arguments.has("V"):
            self.call.stderr.write(b".")

    def create(self) -> Generator[None, None, None]:
        """Write the members one after the other, then the one that ends the archive."""
        call = self.call
        target = call.arguments.value("O") or call.arguments.value("F")
        file = call.create(target) if target is not None else None
        out = file or call.stdout
        number = 0
        for name in self._names():
            try:
                status = (os.stat if call.arguments.has("L") else os.lstat)(self._path(name))
                data = self._contents(name, status)
            except OSError as error:
                call.complain(f"{name}: Cannot {'stat' if error.errno == 2 else 'open'}: {reason(error)}")
                continue
            number += 1
            shown = name[2:].lstrip("/") or "." if name.startswith("./") else name
            member = Member.of(shown, status, number, data)
            piece = write_member(member, self.kind)
            out.write(piece)
            self.size += len(piece)
            self._report(name)
            if out.full:
                yield
        piece = write_member(Member.trailer(), self.kind)
        self.size += len(piece)
        padding = -self.size % _BLOCK
        self.size += padding
        out.write(piece + bytes(padding))
        if file is not None:
            file.close()
        self._blocks()

    def _contents(self, name: str, status: os.stat_result) -> bytes:
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(self._path(name)))
        if not stat.S_ISREG(status.st_mode):
            return b""
        with open(self._path(name), "rb") as file:
            return file.read()

    def extract(self) -> Generator[None, None, None]:
        """Restore the members that the patterns name, or list them."""
        call = self.call
        source = call.open(call.arguments.value("I") or call.arguments.value("F") or "-")
        patterns = list(call.operands)
        if (listed := call.arguments.value("E")) is not None:
            with call.open(listed) as file:
                patterns += file.read().decode("utf-8", "surrogateescape").split("\n")[:-1]
        listing = call.arguments.has("t")
        with source:
            data = source.read()
            if not data and not isinstance(source, FileInput):
                raise CommandError("premature end of archive", 2)
        try:
            for member in read_members(data):
                self.size = member.end
                chosen = not patterns or any(fnmatch.fnmatchcase(member.name, one) for one in patterns)
                if chosen == call.arguments.has("f") and patterns:
                    continue
                if listing:
                    call.print(self._long(member) if self.verbose else member.name)
                elif call.arguments.has("to-stdout"):
                    call.stdout.write(member.data)
                    self._report(member.name)
                else:
                    self._restore(member)
                if call.stdout.full:
                    yield
        except DamagedArchiveError as problem:
            raise CommandError(str(problem), 2) from None
        self.size = len(data) if len(data) % _BLOCK == 0 else self.size
        self._blocks()

    def _long(self, member: Member) -> str:
        numeric = self.call.arguments.has("n")
        who = str(member.user) if numeric else user_name(member.user)
        group = str(member.group) if numeric else group_name(member.group)
        moment = format_time(member.modified * 10**9, "%b %e %Y", self.call.env)
        shown = member.name
        if stat.S_ISLNK(member.mode):
            shown += f" -> {os.fsdecode(member.data)}"
        mode = stat.filemode(member.mode)
        return f"{mode} {member.links:3} {who:<8} {group:<8} {len(member.data):>8} {moment} {shown}"

    def _restore(self, member: Member) -> None:
        call = self.call
        name = member.name
        if call.arguments.has("no-absolute-filenames"):
            name = safe_name(call, name, self.reported)
        self._place(name, self._path(name), member)

    def _place(self, name: str, path: str, member: Member) -> None:
        """Make one file as the member says, unless there is a newer one."""
        call = self.call
        arguments = call.arguments
        try:
            if os.path.lexists(path) and not stat.S_ISDIR(member.mode):
                if not arguments.has("u") and os.lstat(path).st_mtime >= member.modified:
                    call.error(f"{name} not created: newer or same age version exists")
                    return
                os.unlink(path)
            if arguments.has("d"):
                os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
            self._make(path, member)
        except OSError as error:
            call.complain(f"{name}: Cannot open: {reason(error)}")
            return
        self._report(name)

    def _make(self, path: str, member: Member) -> None:
        kind = stat.S_IFMT(member.mode)
        if kind == stat.S_IFLNK:
            os.symlink(os.fsdecode(member.data), path)
            return
        if kind == stat.S_IFDIR:
            os.makedirs(path, exist_ok=True)
        else:
            first = self.links.get(member.identity) if member.links > 1 else None
            if first is not None and not member.data:
                os.link(first, path)
            else:
                with open(path, "wb") as file:
                    file.write(member.data)
                if first is not None:  # newc keeps the contents with the last name
                    os.unlink(first)
                    os.link(path, first)
            self.links[member.identity] = path
        os.chmod(path, stat.S_IMODE(member.mode) & ~(0 if os.geteuid() == 0 else self.call.umask))
        if self.call.arguments.has("m"):
            os.utime(path, (member.modified, member.modified))

    def pass_through(self) -> None:
        """Copy the files to a directory, below which they keep their names."""
        call = self.call
        if len(call.operands) != 1:
            raise UsageError("Too many arguments" if call.operands else "Not enough arguments")
        goal = call.operands[0]
        for number, name in enumerate(self._names(), 1):
            try:
                status = (os.stat if call.arguments.has("L") else os.lstat)(self._path(name))
                data = self._contents(name, status)
            except OSError as error:
                call.complain(f"{name}: Cannot stat: {reason(error)}")
                continue
            target = os.path.join(goal, name.lstrip("/"))
            member = Member.of(name, status, number, data)
            if call.arguments.has("l") and stat.S_ISREG(status.st_mode):
                path = call.path(target)
                if call.arguments.has("d"):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                try:
                    os.link(self._path(name), path)
                except OSError:
                    shutil.copy2(self._path(name), path)
                continue
            self.size += len(data)
            self._place(target, call.path(target), member)
        self._blocks()
