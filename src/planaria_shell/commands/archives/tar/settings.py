"""What one call of tar was asked to do, and the lines it prints about members."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator

from planaria_shell.commands.archives.compression_formats import FORMATS, Format
from planaria_shell.commands.archives.member_names import VERSION_CONTROL, Excluder, Transformer
from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import CommandError, Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.streams import reason

__all__ = ["Lister", "Tar", "misused"]

_OPERATIONS = {"c": "c", "x": "x", "t": "t", "r": "r", "u": "u", "A": "A", "d": "d", "delete": "delete"}

#: Options that affect only the operands behind them, and how they are shown.
_POSITIONAL = {
    "C": "-C", "X": "--exclude-from", "exclude": "--exclude", "exclude-vcs": "--exclude-vcs",
    "exclude-vcs-ignores": "--exclude-vcs-ignores", "exclude-backups": "--exclude-backups",
    "wildcards": "--wildcards", "no-wildcards": "--no-wildcards", "anchored": "--anchored",
    "no-anchored": "--no-anchored", "ignore-case": "--ignore-case", "no-recursion": "--no-recursion",
    "recursion": "--recursion",
}  # fmt: skip
_MISPLACED = "these options have no effect: only files behind them would be affected"


def misused(message: str) -> UsageError:
    return UsageError(message, status=2)


class Tar:
    """One call of tar: its settings and where it works."""

    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        operations = [_OPERATIONS[key] for key, _ in arguments if key in _OPERATIONS]
        if not operations:
            raise misused("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
        if len(set(operations)) > 1:
            raise misused(
                "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option"
            )
        self.operation = operations[0]
        self.file = arguments.value("f") or "-"
        self.verbose = sum(1 for key, _ in arguments if key == "v")
        self.absolute = arguments.has("P")
        self.record = self._record_size()
        self.strip = 0
        if (text := arguments.value("strip-components")) is not None:
            if not text.isdigit():
                raise misused(f"{text}: Invalid number of elements")
            self.strip = int(text)
        self.excluded = Excluder()
        #: What is left out holds from its place on where files are stored, else everywhere.
        self.in_order = self.operation in ("c", "r", "u")
        for key, value in () if self.in_order else arguments:
            self._exclude(key, value)
        self.transform = Transformer(arguments.values("transform"))
        self.kind = self._compression()
        self.reported: set[str] = set()
        self.failed = False
        self.report_to_stderr = (self.operation == "c" and self.file == "-") or arguments.has("O")

    def _record_size(self) -> int:
        """How many bytes an archive's length is a multiple of."""
        size = 20 * 512
        for key, value in self.call.arguments:
            if key not in ("b", "record-size"):
                continue
            if not (value or "").isdigit() or not int(value or ""):
                what = "blocking factor" if key == "b" else "record size"
                raise misused(f"{value}: Invalid {what}")
            size = int(value or "") * (512 if key == "b" else 1)
            if size % 512:
                raise misused("Record size must be a multiple of 512.")
        return size

    def _lines(self, name: str) -> list[str]:
        try:
            with self.call.open(name) as source:
                data = source.read()
        except OSError as error:
            raise self.fatal(f"{name}: Cannot open: {reason(error)}") from None
        end = b"\0" if self.call.arguments.has("null") else b"\n"
        return [os.fsdecode(line) for line in data.split(end) if line]

    def _exclude(self, key: str, value: str | None) -> bool:
        """Leave out what an option names; whether it is such an option."""
        if key == "exclude":
            self.excluded.add([value or ""])
        elif key == "X":
            self.excluded.add(self._lines(value or ""))
        elif key in ("exclude-vcs", "exclude-vcs-ignores"):
            self.excluded.add(VERSION_CONTROL)
        else:
            return False
        return True

    def _compression(self) -> Format | None:
        arguments = self.call.arguments
        for key, _ in arguments:
            if key in ("z", "j", "J"):
                return FORMATS[{"z": "gzip", "j": "bzip2", "J": "xz"}[key]]
            if key == "zstd":
                return FORMATS["zstd"]
            if key in ("Z", "lzip", "lzma", "lzop"):
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

    def report_line(self, text: str) -> None:
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
        """Each operand with the directory it is in (`-C` holds from its place on).

        Options that hold from their place on and have no operand behind them are reported.
        """
        directory = self.call.cwd
        unused: list[str] = []
        named = False
        for key, value in self.call.arguments:
            if key in ("", "T"):
                named = True
                unused.clear()
            elif named and key in _POSITIONAL:
                shown = f" {quote(value)}" if value is not None else ""
                unused.append(f"{_POSITIONAL[key]}{shown} has no effect")
            if self.in_order and self._exclude(key, value):
                continue
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
        if self.in_order and unused:
            self.problem(_MISPLACED)
            for text in unused:
                self.call.error(text)

    def directory(self) -> str:
        """The directory that all `-C` lead to."""
        directory = self.call.cwd
        for value in self.call.arguments.values("C"):
            directory = os.path.join(directory, value)
            if not os.path.isdir(directory):
                raise self.fatal(f"{value}: Cannot open: No such file or directory")
        return directory


class Lister:
    """The lines of `-v`: columns grow with the longest owner and size so far."""

    def __init__(self, tar: Tar) -> None:
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
