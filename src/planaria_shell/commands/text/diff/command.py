"""The `diff` command (GNU diffutils)."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from planaria_shell.commands.text.diff import styles
from planaria_shell.commands.text.diff.formats import Formats, formatted
from planaria_shell.commands.text.diff.hunks import Change, Comparison, compare, split_lines
from planaria_shell.commands.text.diff.presentation import COLORS, Presentation, palette
from planaria_shell.state.command import Process
from planaria_shell.toolkit.dates.zones import local_zone
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import Arguments, UsageError
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import read_input, reason


@dataclass(slots=True)
class Settings:
    """What was asked for."""

    how: Comparison
    #: Empty for the normal one, which was not asked for.
    style: str = ""
    context: int = 3
    brief: bool = False
    report_same: bool = False
    recursive: bool = False
    new_file: bool = False
    new_file_first: bool = False
    text: bool = False
    width: int = 130
    left_column: bool = False
    suppress_common: bool = False
    shown: Presentation = field(default_factory=Presentation)
    formats: Formats = field(default_factory=Formats)
    links: bool = True
    starting: str = ""
    labels: list[str] = field(default_factory=list)
    function: re.Pattern[bytes] | None = None
    exclude: list[str] = field(default_factory=list)
    options: str = ""


def _settings(arguments: Arguments, words: list[str], process: Process) -> Settings:
    settings = Settings(Comparison())
    how = settings.how
    colors, colored, shows_function = COLORS, False, False
    for name, value in arguments.given:
        if name in ("c", "C", "u", "U"):
            _choose(settings, "context" if name in "cC" else "unified")
            if name in "CU" and value:
                if not value.isdigit():
                    raise UsageError(f"invalid context length '{value}'")
                settings.context = int(value)
        elif name in _STYLES:
            _choose(settings, _STYLES[name])
        elif name == "D":
            _choose(settings, "formats")
            settings.formats.define(value)
        elif name == "line-format":
            _choose(settings, "formats")
            settings.formats.lines |= dict.fromkeys(("old", "new", "unchanged"), value)
        elif name.endswith(("-line-format", "-group-format")):
            _choose(settings, "formats")
            kind, what, _ = name.split("-")
            formats = settings.formats.lines if what == "line" else settings.formats.groups
            if formats.get(kind, value) != value:
                raise UsageError(f"conflicting --{name} option value '{value}'")
            formats[kind] = value
        elif name == "i":
            how.ignore_case = True
        elif name == "w":
            how.ignore_all_space = True
        elif name == "E":
            how.expand_tabs = True
        elif name == "b":
            how.ignore_space_change = True
        elif name == "Z":
            how.ignore_trailing_space = True
        elif name == "B":
            how.ignore_blank_lines = True
        elif name == "I":
            how.ignore_matching.append(re.compile(value.encode("utf-8", "surrogateescape")))
        elif name == "strip-trailing-cr":
            how.strip_trailing_cr = True
        elif name == "q":
            settings.brief = True
        elif name == "s":
            settings.report_same = True
        elif name == "r":
            settings.recursive = True
        elif name == "N":
            settings.new_file = True
        elif name == "P":
            settings.new_file_first = True
        elif name == "a":
            settings.text = True
        elif name == "W":
            settings.width = _positive(value, "width")
        elif name == "tabsize":
            settings.shown.tab_size = how.tab_size = _positive(value, "tabsize")
        elif name == "T":
            settings.shown.initial_tab = True
        elif name == "suppress-blank-empty":
            settings.shown.suppress_blank_empty = True
        elif name == "horizon-lines" and not value.isdigit():
            raise UsageError(f"invalid horizon length '{value}'")
        elif name == "palette":
            colors = palette(value)
        elif name == "color":
            if value not in ("", "always", "never", "auto"):
                raise UsageError(f"invalid color '{value}'")
            colored = value == "always"
        elif name == "no-dereference":
            settings.links = False
        elif name == "S":
            settings.starting = value
        elif name == "left-column":
            settings.left_column = True
        elif name == "suppress-common-lines":
            settings.suppress_common = True
        elif name == "t":
            settings.shown.expand = True
        elif name == "L":
            settings.labels.append(value)
        elif name == "p":
            settings.function = re.compile(rb"^[A-Za-z$_]")
            shows_function = True
        elif name == "F":
            settings.function = re.compile(value.encode("utf-8", "surrogateescape"))
        elif name == "x":
            settings.exclude.append(value)
        elif name == "X":
            settings.exclude += read_input(process, value).decode("utf-8", "surrogateescape").split("\n")
    if colored:
        settings.shown.colors = colors
    if shows_function and not settings.style:
        settings.style = "context"
    number = "".join(name for name, _ in arguments.given if name.isdigit())
    if number and settings.style in ("unified", "context"):
        settings.context = int(number)  # the old form: -u3
    options = list(words)
    for operand in reversed(arguments.operands):
        options.reverse()
        options.remove(operand)
        options.reverse()
    settings.options = "".join(f" {shell_quote(word)}" for word in options)
    return settings


#: Options that choose a style.
_STYLES = {"e": "ed", "f": "forward ed", "n": "rcs", "y": "side", "normal": "normal"}


def _choose(settings: Settings, style: str) -> None:
    if settings.style not in ("", style):
        raise UsageError("conflicting output style options")
    settings.style = style


def _positive(text: str, what: str) -> int:
    if not text.isdigit() or not int(text):
        raise UsageError(f"invalid {what} '{text}'")
    return int(text)


@command(
    "diff",
    short="0123456789abBcC:dD:eEfF:hHiI:lL:nNpPqrsS:tTuU:vwW:x:X:yZ",
    long="normal brief=q report-identical-files=s context=C:: unified=U:: ed=e rcs=n side-by-side=y "
    "width=W: left-column suppress-common-lines show-c-function=p show-function-line=F: label=L: "
    "expand-tabs=t recursive=r no-dereference new-file=N unidirectional-new-file=P ignore-case=i "
    "ignore-tab-expansion=E ignore-trailing-space=Z ignore-space-change=b ignore-all-space=w "
    "ignore-blank-lines=B ignore-matching-lines=I: text=a strip-trailing-cr minimal=d "
    "speed-large-files=H exclude=x: tabsize: initial-tab=T suppress-blank-empty palette: "
    "from-file: to-file: horizon-lines: forward-ed=f ifdef=D: line-format: old-line-format: "
    "new-line-format: unchanged-line-format: old-group-format: new-group-format: "
    "unchanged-group-format: changed-group-format: exclude-from=X: starting-file=S: color:: help "
    "version=v",
    help="Usage: diff [OPTION]... FILES\nCompare FILES line by line.\n",
    version="diff (GNU diffutils) 3.8\n",
    failure=2,
    hint="{name}: Try '{name} --help' for more information.",
)
def diff(call: Invocation) -> Generator[None, None, int]:
    """Compare files line by line: https://www.gnu.org/software/diffutils/manual/

    Status 0 when the files are the same, 1 when they differ, 2 for trouble.
    """
    process, arguments, words = call.process, call.arguments, call.argv[1:]
    try:
        settings = _settings(arguments, words, process)
    except OSError as error:
        process.error(f"{error.filename}: {reason(error)}")
        return 2
    operands = arguments.operands
    fixed = [(name, value) for name, value in arguments.given if name in ("from-file", "to-file")]
    if fixed:
        status = 0
        if len(fixed) > 1 and len({name for name, _ in fixed}) > 1:
            process.error("--from-file and --to-file both specified")
            return 2
        name, value = fixed[-1]
        for operand in operands:
            pair = (value, operand) if name == "from-file" else (operand, value)
            status = max(status, (yield from _operands(process, settings, *pair)))
        return status
    if len(operands) < 2:
        missing = f"missing operand after '{(words or ['diff'])[-1]}'"
        raise UsageError(missing)
    if len(operands) > 2:
        raise UsageError(f"extra operand '{operands[2]}'")
    return (yield from _operands(process, settings, *operands))


def _operands(process: Process, settings: Settings, one: str, two: str) -> Generator[None, None, int]:
    """Compare two operands: files, directories, or a file with the one of its name in a directory."""
    if settings.new_file_first and not os.path.lexists(process.path(one)):
        settings = replace(settings, new_file=True)
    faults = _faults(process, settings, [one, two])
    if faults and not (
        settings.new_file and len(faults) == 1 and isinstance(faults[0][1], FileNotFoundError)
    ):
        for name, error in faults:
            _exit(process, error, name)
        return 2
    if "-" in (one, two):
        if os.path.isdir(process.path(two if one == "-" else one)):
            process.error("cannot compare '-' to a directory")
            return 2
    else:
        directory_one, directory_two = os.path.isdir(process.path(one)), os.path.isdir(process.path(two))
        if faults and (directory_one or directory_two):
            # With -N what is missing is as empty as the other needs it to be.
            directory_one = directory_two = True
        if directory_one and directory_two:
            if settings.style == "formats" and settings.formats.defined:
                process.error("-D option not supported with directories")
                return 2
            if not faults and os.path.samefile(process.path(one), process.path(two)):
                return 0
            return (yield from _directories(process, settings, one, two))
        if directory_one and os.path.exists(process.path(two)):
            one = os.path.join(one, os.path.basename(two))
        elif directory_two and os.path.exists(process.path(one)):
            two = os.path.join(two, os.path.basename(one))
        if directory_one != directory_two and (faults := _faults(process, settings, [one, two])):
            return _exit(process, faults[0][1], faults[0][0])
    return (yield from _files(process, settings, one, two))


def _faults(process: Process, settings: Settings, names: list[str]) -> list[tuple[str, OSError]]:
    """Which of some files cannot be looked at, and why."""
    faults: list[tuple[str, OSError]] = []
    for name in names:
        try:
            if name != "-":
                os.stat(process.path(name), follow_symlinks=settings.links)
        except OSError as error:
            faults.append((name, error))
    return faults


def _exit(process: Process, error: OSError, name: str) -> int:
    process.error(f"{name}: {reason(error)}")
    return 2


def _write(process: Process, text: str) -> None:
    process.stdout.write(text.encode("utf-8", "surrogateescape"))


def _directories(process: Process, settings: Settings, one: str, two: str) -> Generator[None, None, int]:
    names: list[set[str]] = []
    for directory in (one, two):
        try:
            found = os.listdir(process.path(directory)) if os.path.exists(process.path(directory)) else []
        except OSError as error:
            return _exit(process, error, directory)
        names.append(
            {
                name
                for name in found
                if name >= settings.starting
                and not any(fnmatch.fnmatchcase(name, pattern) for pattern in settings.exclude)
            }
        )
    settings = replace(settings, starting="")
    status = 0
    for name in sorted(names[0] | names[1], key=os.fsencode):
        left, right = _join(one, name), _join(two, name)
        in_left, in_right = name in names[0], name in names[1]
        if not (in_left and in_right):
            treat_as_empty = settings.new_file or (settings.new_file_first and in_right)
            there = left if in_left else right
            if not treat_as_empty or (os.path.isdir(process.path(there)) and not settings.recursive):
                _write(process, f"Only in {one if in_left else two}: {name}\n")
                status = max(status, 1)
                continue
            if os.path.isdir(process.path(there)):
                status = max(status, (yield from _directories(process, settings, left, right)))
                continue
        if faults := _faults(process, settings, [*[left] * in_left, *[right] * in_right]):
            for path, fault in faults:
                status = _exit(process, fault, path)
            continue
        directory_left, directory_right = (
            os.path.isdir(process.path(left)),
            os.path.isdir(process.path(right)),
        )
        if directory_left and directory_right:
            if settings.recursive:
                status = max(status, (yield from _directories(process, settings, left, right)))
            else:
                _write(process, f"Common subdirectories: {left} and {right}\n")
        elif directory_left != directory_right and in_left and in_right:
            kinds = [_kind(process, left), _kind(process, right)]
            _write(process, f"File {left} is a {kinds[0]} while file {right} is a {kinds[1]}\n")
            status = max(status, 1)
        else:
            shown = [*settings.labels[:2], *(left, right)[len(settings.labels) :]]
            head = f"diff{settings.options} {' '.join(shown)}\n"
            status = max(status, (yield from _files(process, settings, left, right, head)))
    return status


def _join(directory: str, name: str) -> str:
    return directory + name if directory.endswith("/") else f"{directory}/{name}"


def _kind(process: Process, name: str) -> str:
    mode = os.stat(process.path(name)).st_mode
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISREG(mode):
        return "regular file" if os.stat(process.path(name)).st_size else "regular empty file"
    return "fifo" if stat.S_ISFIFO(mode) else "character special file"


def _files(
    process: Process, settings: Settings, one: str, two: str, head: str = ""
) -> Generator[None, None, int]:
    if not settings.links and "-" not in (one, two):
        links = [os.path.islink(process.path(name)) for name in (one, two)]
        if all(links):
            if os.readlink(process.path(one)) == os.readlink(process.path(two)):
                return 0
            _write(process, f"Symbolic links {one} and {two} differ\n")
            return 1
        if any(links):
            kinds = [
                "symbolic link" if link else _kind(process, name)
                for link, name in zip(links, (one, two), strict=True)
            ]
            _write(process, f"File {one} is a {kinds[0]} while file {two} is a {kinds[1]}\n")
            return 1
    contents: list[bytes] = []
    trouble = False
    for name in (one, two):
        try:
            absent = settings.new_file and name != "-" and not os.path.lexists(process.path(name))
            if one == two == "-" and contents:
                contents.append(contents[0])
            else:
                contents.append(b"" if absent else _contents(process, name))
        except OSError as error:
            _exit(process, error, name)
            trouble = True
    if trouble:
        return 2
    if settings.how.strip_trailing_cr:
        contents = [content.replace(b"\r\n", b"\n") for content in contents]
    before, after = contents
    same = before == after
    if not same and not settings.text and (b"\0" in before[:32768] or b"\0" in after[:32768]):
        word = "Files" if settings.brief else "Binary files"
        _write(process, f"{word} {one} and {two} differ\n")
        return 1
    old, new = split_lines(before), split_lines(after)
    incomplete = []
    if settings.style in ("ed", "forward ed"):  # ed(1) knows no line without a newline
        for name, lines in ((one, old), (two, new)):
            if lines and not lines[-1].endswith(b"\n"):
                lines[-1] += b"\n"
                incomplete.append(name)
    found = [] if same else compare(old, new, settings.how)
    if not same:
        for name in incomplete:
            process.error(f"{name}: No newline at end of file\n")
    if all(change.ignored for change in found):
        if settings.report_same:
            _write(process, f"Files {one} and {two} are identical\n")
        if settings.style in ("side", "formats") and not settings.brief:
            yield from _emit(process, _style(settings, old, new, []))
        return 2 if incomplete and not same else 0
    if settings.brief:
        _write(process, f"Files {one} and {two} differ\n")
        return 1
    if head:
        _write(process, head)
    if settings.style in ("unified", "context"):
        marks = ("---", "+++") if settings.style == "unified" else ("***", "---")
        for position, (mark, name) in enumerate(zip(marks, (one, two), strict=True)):
            if position < len(settings.labels):
                text = f"{mark} {settings.labels[position]}"
            else:
                text = f"{mark} {_quoted(name)}\t{_time(process, name, settings.style)}"
            process.stdout.write(settings.shown.paint("hd", text.encode("utf-8", "surrogateescape")) + b"\n")
    yield from _emit(process, _style(settings, old, new, found))
    return 2 if incomplete else 1


def _style(settings: Settings, old: list[bytes], new: list[bytes], found: list[Change]) -> Iterator[bytes]:
    if settings.style == "unified":
        return styles.unified(old, new, found, settings.context, settings.shown, settings.function)
    if settings.style == "context":
        return styles.context(old, new, found, settings.context, settings.shown, settings.function)
    if settings.style == "formats":
        return formatted(old, new, found, settings.formats)
    if settings.style == "side":
        return styles.side_by_side(
            old,
            new,
            found,
            settings.width,
            settings.shown,
            left_column=settings.left_column,
            suppress_common=settings.suppress_common,
        )
    if settings.style in ("", "normal"):
        return styles.normal(old, new, found, settings.shown)
    return {"ed": styles.ed, "forward ed": styles.forward_ed, "rcs": styles.rcs}[settings.style](
        old, new, found
    )


def _emit(process: Process, pieces: Iterator[bytes]) -> Generator[None, None, None]:
    for piece in pieces:
        process.stdout.write(piece)
        if process.stdout.full:
            yield


def _quoted(name: str) -> str:
    if re.search(r'[\s"\\]', name):
        return '"' + re.sub(r'(["\\])', r"\\\1", name).replace("\n", "\\n").replace("\t", "\\t") + '"'
    return name


def _time(process: Process, name: str, style: str) -> str:
    zone = local_zone(process.env)
    nanoseconds = 0
    if name == "-":
        moment = datetime.now(zone)
        nanoseconds = moment.microsecond * 1000
    elif not os.path.exists(process.path(name)):
        moment = datetime.fromtimestamp(0, timezone.utc)  # noqa: UP017
    else:
        total = os.stat(process.path(name)).st_mtime_ns
        moment = datetime.fromtimestamp(total // 10**9, zone)
        nanoseconds = total % 10**9
    if style == "context" and process.env.get("LC_ALL", process.env.get("LC_TIME", "C")) in ("C", "POSIX"):
        return f"{moment:%a %b} {moment.day:2d} {moment:%H:%M:%S} {moment.year}"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{nanoseconds:09d} {moment:%z}"


def _contents(process: Process, name: str) -> bytes:
    """What is in a file that has been looked at: a process substitution is a file since then."""
    if name == "-":
        return process.stdin.read()
    with open(process.path(name), "rb") as file:
        return file.read()
