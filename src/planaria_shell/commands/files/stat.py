"""stat: the status of files and filesystems."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable

from planaria_shell.run.command import Status
from planaria_shell.toolkit.file_status import blocks_of, device_parts
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.users import group_name, owner, user_name

__all__: list[str] = []

_DIRECTIVE = re.compile(r"%([-+ 0#']*)(\d*)(?:\.(\d*))?(H|L)?(.?)", re.DOTALL)
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "\\": "\\",
}


def _type(status: os.stat_result) -> str:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "regular file" if status.st_size else "regular empty file"
    names = {
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symbolic link",
        stat.S_IFCHR: "character special file",
        stat.S_IFBLK: "block special file",
        stat.S_IFIFO: "fifo",
        stat.S_IFSOCK: "socket",
    }
    return names.get(stat.S_IFMT(mode), "weird file")


class _File:
    """What the directives of a format stand for, for one file."""

    def __init__(self, call: Invocation, name: str, status: os.stat_result) -> None:
        self.call = call
        self.name = name
        self.status = status
        #: The default output shows names without quotes.
        self.plain = False

    def moment(self, nanoseconds: int) -> str:
        return format_time(nanoseconds, "%Y-%m-%d %H:%M:%S.%N %z", self.call.env)

    def seconds(self, nanoseconds: int, precision: str | None) -> str:
        if precision is None:
            return str(nanoseconds // 10**9)
        digits = int(precision) if precision else 9
        return f"{nanoseconds // 10**9}.{f'{nanoseconds % 10**9:09d}'[:digits].ljust(digits, '0')}"

    def quoted(self) -> str:
        shown = str if self.plain else shell_quote_always
        text = shown(self.name)
        if stat.S_ISLNK(self.status.st_mode):
            text += f" -> {shown(os.readlink(self.call.path(self.name)))}"
        return text

    def value(self, letter: str, part: str | None, precision: str | None) -> str | int | None:
        s = self.status
        user, group = owner(s)
        device = getattr(s, "st_rdev", 0)
        birth = getattr(s, "st_birthtime_ns", None)
        table: dict[str, Callable[[], str | int]] = {
            "a": lambda: f"{stat.S_IMODE(s.st_mode):o}",
            "A": lambda: stat.filemode(s.st_mode),
            "b": lambda: blocks_of(s),
            "B": lambda: 512,
            "C": lambda: "?",
            "d": lambda: _device(s.st_dev, part),
            "D": lambda: f"{s.st_dev:x}",
            "f": lambda: f"{s.st_mode:x}",
            "F": lambda: _type(s),
            "g": lambda: group,
            "G": lambda: group_name(group) or "UNKNOWN",
            "h": lambda: s.st_nlink,
            "i": lambda: s.st_ino,
            "m": lambda: _mount_point(self.call.path(self.name)),
            "n": lambda: self.name,
            "N": self.quoted,
            "o": lambda: getattr(s, "st_blksize", 4096) or 4096,
            "r": lambda: _device(device, part),
            "R": lambda: f"{device:x}",
            "s": lambda: s.st_size,
            "t": lambda: f"{device_parts(device)[0]:x}",
            "T": lambda: f"{device_parts(device)[1]:x}",
            "u": lambda: user,
            "U": lambda: user_name(user) or "UNKNOWN",
            "w": lambda: "-" if birth is None else self.moment(birth),
            "W": lambda: "0" if birth is None else self.seconds(birth, precision),
            "x": lambda: self.moment(s.st_atime_ns),
            "X": lambda: self.seconds(s.st_atime_ns, precision),
            "y": lambda: self.moment(s.st_mtime_ns),
            "Y": lambda: self.seconds(s.st_mtime_ns, precision),
            "z": lambda: self.moment(s.st_ctime_ns),
            "Z": lambda: self.seconds(s.st_ctime_ns, precision),
        }
        return table[letter]() if letter in table else None


def _device(number: int, part: str | None) -> int:
    if part is None:
        return number
    return device_parts(number)["HL".index(part)]


def _mount_point(path: str) -> str:
    path = os.path.realpath(path)
    while path != "/" and not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


class _Filesystem:
    """What the directives of a format stand for, for the filesystem of a file (`-f`)."""

    def __init__(self, name: str, status: os.statvfs_result) -> None:
        self.name = name
        self.status = status

    def value(self, letter: str, part: str | None, precision: str | None) -> str | int | None:
        s = self.status
        table: dict[str, str | int] = {
            "a": s.f_bavail,
            "b": s.f_blocks,
            "c": s.f_files,
            "d": s.f_ffree,
            "f": s.f_bfree,
            "i": f"{s.f_fsid:x}",
            "l": s.f_namemax,
            "n": self.name,
            "s": s.f_bsize,
            "S": s.f_frsize,
            "t": "0",
            "T": "UNKNOWN",
        }
        return table.get(letter)


def _format(template: str, subject: _File | _Filesystem, escapes: bool, warn: Callable[[str], None]) -> str:
    out: list[str] = []
    at = 0
    while at < len(template):
        c = template[at]
        if c == "\\" and escapes:
            if at + 1 >= len(template):
                warn("warning: backslash at end of format")
                out.append("\\")
                break
            octal = re.compile(r"[0-7]{1,3}").match(template, at + 1)
            hexadecimal = re.compile(r"x[0-9a-fA-F]{1,2}").match(template, at + 1)
            if octal:
                out.append(bytes([int(octal[0], 8) & 255]).decode("utf-8", "surrogateescape"))
                at = octal.end()
            elif hexadecimal:
                out.append(bytes([int(hexadecimal[0][1:], 16)]).decode("utf-8", "surrogateescape"))
                at = hexadecimal.end()
            elif template[at + 1] in _ESCAPES:
                out.append(_ESCAPES[template[at + 1]])
                at += 2
            else:
                warn(f"warning: unrecognized escape '\\{template[at + 1]}'")
                out.append(template[at + 1])
                at += 2
            continue
        if c != "%":
            out.append(c)
            at += 1
            continue
        match = _DIRECTIVE.match(template, at)
        assert match is not None
        at = match.end()
        flags, width_text, precision, part, letter = match.groups()
        if letter in ("%", ""):
            if len(match[0]) > 2:
                raise UsageError(f"{quote(match[0])}: invalid directive", hint=False)
            out.append("%")
            continue
        value = subject.value(letter, part, precision)
        if value is None:
            out.append("?")
            continue
        text = str(value)
        if "#" in flags and letter == "a" and not text.startswith("0"):
            text = "0" + text
        elif "#" in flags and letter in "DfRtT":
            text = "0x" + text
        if "+" in flags and isinstance(value, int):
            text = "+" + text
        width = int(width_text or 0)
        numeric = isinstance(value, int) or letter in "aDfRtTWXYZ"
        if "-" in flags:
            text = text.ljust(width)
        else:
            text = text.rjust(width, "0" if "0" in flags and numeric else " ")
        out.append(text)
    return "".join(out)


_TIMES = "Access: %x\nModify: %y\nChange: %z\n Birth: %w\n"
_OWNERS = "Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n"
_DEFAULT = (
    "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: %Hd,%Ld\tInode: %-11i Links: {}\n"
    + _OWNERS
    + _TIMES
)
_TERSE = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n"
_FILESYSTEM = (
    '  File: "%n"\n    ID: %-8i Namelen: %-7l Type: %T\nBlock size: %-10s Fundamental block size: %S\n'
    "Blocks: Total: %-10b Free: %-10f Available: %a\nInodes: Total: %-10c Free: %d\n"
)
_FILESYSTEM_TERSE = "%n %i %l %t %s %S %b %f %a %c %d\n"


@utility(
    "stat",
    short="Lfc:t",
    long="dereference=L file-system=f cached: format=c: printf: terse=t",
    usage="[OPTION]... FILE...",
)
def stat_command(call: Invocation) -> Status:
    """Display file or file system status."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    kind = arguments.last(("c", "printf"))
    template = arguments.value(kind) if kind else None
    filesystem = arguments.has("f")
    for name in call.operands:
        path = call.path(name)
        subject: _File | _Filesystem
        try:
            if filesystem:
                if not hasattr(os, "statvfs"):
                    call.complain(
                        f"cannot read file system information for {shell_quote_always(name)}: Function "
                        f"not implemented"
                    )
                    continue
                subject = _Filesystem(name, os.statvfs(path))
            else:
                subject = _File(call, name, os.stat(path) if arguments.has("L") else os.lstat(path))
        except OSError as error:
            what = "cannot read file system information for" if filesystem else "cannot statx"
            call.complain(f"{what} {shell_quote_always(name)}", error)
            continue
        if template is not None:
            text = _format(template, subject, kind == "printf", call.error) + ("\n" if kind == "c" else "")
        elif filesystem:
            text = _format(
                _FILESYSTEM_TERSE if arguments.has("t") else _FILESYSTEM, subject, False, call.error
            )
        elif arguments.has("t"):
            text = _format(_TERSE, subject, False, call.error)
        else:
            assert isinstance(subject, _File)
            subject.plain = True
            special = stat.S_IFMT(subject.status.st_mode) in (
                stat.S_IFCHR,
                stat.S_IFBLK,
            )
            links = "%-5h Device type: %Hr,%Lr" if special else "%h"
            text = _format(_DEFAULT.format(links), subject, False, call.error)
        call.print(text, "")
    return call.status
