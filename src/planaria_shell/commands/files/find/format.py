"""What `find -printf` and `find -ls` print."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from planaria_shell.toolkit.file_status import blocks_of
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.users import group_name, owner, user_name

if TYPE_CHECKING:
    from planaria_shell.commands.files.find.walk import Entry

__all__ = ["compile_format", "list_line", "type_letter"]

_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "0": 0}
_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\d*)(?:\.(\d+))?([ABCT].|[a-zA-Z%])", re.DOTALL)
_NUMBERS = frozenset("bdDGiknsU")


def type_letter(mode: int) -> str:
    """The letter of a file's type in `-type` and `%y`."""
    for test, letter in (
        (stat.S_ISREG, "f"),
        (stat.S_ISDIR, "d"),
        (stat.S_ISLNK, "l"),
        (stat.S_ISFIFO, "p"),
        (stat.S_ISSOCK, "s"),
        (stat.S_ISBLK, "b"),
        (stat.S_ISCHR, "c"),
    ):
        if test(mode):
            return letter
    return "U"


def _target_letter(entry: Entry) -> str:
    if not stat.S_ISLNK(entry.lstat().st_mode):
        return type_letter(entry.lstat().st_mode)
    try:
        return type_letter(os.stat(entry.full).st_mode)
    except FileNotFoundError:
        return "N"
    except OSError:
        return "L"


def _moment(nanoseconds: int, letter: str, env: dict[str, str]) -> str:
    """A time in the notation of `%Tk`; `letter` empty is `%t`."""
    fraction = f"{nanoseconds % 10**9:09d}0"
    if letter == "@":
        return f"{nanoseconds // 10**9}.{fraction}"
    if letter == "":
        return format_time(nanoseconds, f"%a %b %e %H:%M:%S.{fraction} %Y", env)
    if letter == "+":
        return format_time(nanoseconds, f"%Y-%m-%d+%H:%M:%S.{fraction}", env)
    if letter in "SXT":
        before = {"S": "%S", "X": "%H:%M:%S", "T": "%H:%M:%S"}[letter]
        return format_time(nanoseconds, f"{before}.{fraction}", env)
    if letter == "c":
        return format_time(nanoseconds, "%a %b %e %H:%M:%S %Y", env)
    if letter == "x":
        return format_time(nanoseconds, "%m/%d/%y", env)
    if letter == "D":
        return format_time(nanoseconds, "%m/%d/%y", env)
    if letter == "r":
        return format_time(nanoseconds, "%I:%M:%S %p", env)
    return format_time(nanoseconds, "%" + letter, env)


def _directory_part(entry: Entry) -> str:
    path = entry.path
    stripped = path.rstrip("/")
    if not stripped:
        return ""
    directory, slash, _ = stripped.rpartition("/")
    return directory if slash else "."


def _base_part(entry: Entry) -> str:
    path = entry.path
    base = path.rstrip("/").rpartition("/")[2]
    # A starting point keeps its slash.
    return base + "/" if base and path.endswith("/") else base or path


def _below(entry: Entry) -> str:
    rest = entry.path[len(entry.start) :]
    return rest.lstrip("/")


def _link_target(entry: Entry) -> str:
    return os.readlink(entry.full) if stat.S_ISLNK(entry.status().st_mode) else ""


def _owner_name(entry: Entry) -> str:
    number = owner(entry.status())[0]
    return user_name(number) or str(number)


def _group(entry: Entry) -> str:
    number = owner(entry.status())[1]
    return group_name(number) or str(number)


def _sparseness(entry: Entry) -> str:
    status = entry.status()
    return f"{blocks_of(status) * 512 / status.st_size:g}" if status.st_size else "1"


_VALUES: dict[str, Callable[[Entry], str]] = {
    "b": lambda entry: str(blocks_of(entry.status())),
    "d": lambda entry: str(entry.depth),
    "D": lambda entry: str(entry.status().st_dev),
    "f": _base_part,
    "F": lambda entry: "unknown",
    "g": _group,
    "G": lambda entry: str(owner(entry.status())[1]),
    "h": _directory_part,
    "H": lambda entry: entry.start,
    "i": lambda entry: str(entry.status().st_ino),
    "k": lambda entry: str(-(-blocks_of(entry.status()) // 2)),
    "l": _link_target,
    "m": lambda entry: f"{stat.S_IMODE(entry.status().st_mode):o}",
    "M": lambda entry: stat.filemode(entry.status().st_mode),
    "n": lambda entry: str(entry.status().st_nlink),
    "p": lambda entry: entry.path,
    "P": _below,
    "s": lambda entry: str(entry.status().st_size),
    "S": _sparseness,
    "u": _owner_name,
    "U": lambda entry: str(owner(entry.status())[0]),
    "y": lambda entry: type_letter(entry.status().st_mode),
    "Y": _target_letter,
}


def _time_of(entry: Entry, kind: str) -> int:
    status = entry.status()
    return {"A": status.st_atime_ns, "C": status.st_ctime_ns}.get(kind, status.st_mtime_ns)


def _piece(match: re.Match[str], env: dict[str, str]) -> Callable[[Entry], str] | None:
    flags, width_text, precision_text, directive = match.groups()
    width = int(width_text or 0)
    letter = directive[0]
    value: Callable[[Entry], str]
    if len(directive) == 2:
        kind, form = directive[0], directive[1]
        value = lambda entry: _moment(_time_of(entry, kind), form, env)  # noqa: E731
    elif letter in "act":
        kind = {"a": "A", "c": "C", "t": "T"}[letter]
        value = lambda entry: _moment(_time_of(entry, kind), "", env)  # noqa: E731
    elif letter == "m" and "#" in flags:
        value = lambda entry: f"{stat.S_IMODE(entry.status().st_mode):#o}".replace("0o", "0")  # noqa: E731
    elif letter in _VALUES:
        value = _VALUES[letter]
    else:
        return None
    precision = int(precision_text) if precision_text else None
    # Only these are numbers to the format; the others are texts, for which zeros and signs mean nothing.
    zeros = "0" in flags and "-" not in flags and letter in "dm"
    sign = "" if letter != "d" else "+" if "+" in flags else " " if " " in flags else ""
    if not width and precision is None and not sign:
        return value

    def padded(entry: Entry) -> str:
        text = value(entry)
        if precision is not None and letter not in _NUMBERS:
            text = text[:precision]
        text = sign + text
        if zeros:
            return text.rjust(width, "0")
        return text.ljust(width) if "-" in flags else text.rjust(width)

    return padded


def compile_format(
    template: str, env: dict[str, str], warn: Callable[[str], None]
) -> tuple[Callable[[Entry], str], bool]:
    """A function that formats an entry, and whether the output ends there (`\\c`)."""
    parts: list[str | Callable[[Entry], str]] = []
    at = 0
    while at < len(template):
        c = template[at]
        if c == "\\":
            if at + 1 >= len(template):
                parts.append("\\")
                break
            letter = template[at + 1]
            octal = re.compile(r"[0-7]{1,3}").match(template, at + 1)
            if letter == "c":
                return _joined(parts), True
            if octal:
                parts.append(bytes([int(octal[0], 8) & 255]).decode("utf-8", "surrogateescape"))
                at = octal.end()
            elif letter in _ESCAPES:
                parts.append(chr(_ESCAPES[letter]))
                at += 2
            else:
                warn(f"warning: unrecognized escape `\\{letter}'")
                parts.append("\\" + letter)
                at += 2
            continue
        if c == "%":
            match = _DIRECTIVE.match(template, at)
            if match is None:
                raise ValueError("%" if at + 1 >= len(template) else template[at + 1])
            if match[4] == "%":
                parts.append("%")
            else:
                piece = _piece(match, env)
                if piece is None:
                    warn(f"warning: unrecognized format directive `%{match[4]}'")
                    parts.append(match[0])
                else:
                    parts.append(piece)
            at = match.end()
            continue
        parts.append(c)
        at += 1
    return _joined(parts), False


def _joined(parts: list[str | Callable[[Entry], str]]) -> Callable[[Entry], str]:
    merged: list[str | Callable[[Entry], str]] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return lambda entry: "".join([part if isinstance(part, str) else part(entry) for part in merged])


def _escaped(name: str) -> str:
    return "".join(
        "\\" + c if c in '\\ "' else c if c.isprintable() else f"\\{ord(c) & 255:03o}" for c in name
    )


def list_line(entry: Entry, env: dict[str, str], now: int) -> str:
    """The line of `-ls`."""
    status = entry.status()
    user, group = owner(status)
    recent = now - 15778476 * 10**9 < status.st_mtime_ns <= now
    moment = format_time(status.st_mtime_ns, "%b %e %H:%M" if recent else "%b %e  %Y", env)
    text = (
        f"{status.st_ino:>9} {-(-blocks_of(status) // 2):>6} {stat.filemode(status.st_mode)} "
        f"{status.st_nlink:>3} "
        f"{user_name(user) or user:<8} {group_name(group) or group:<8} {status.st_size:>8} {moment} "
        f"{_escaped(entry.path)}"
    )
    if stat.S_ISLNK(status.st_mode):
        text += f" -> {_escaped(os.readlink(entry.full))}"
    return text
