"""grep, egrep, fgrep: lines that match patterns (GNU grep 3.8; see its manual)."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from planaria_shell.commands.text.grep.patterns import compile_patterns
from planaria_shell.commands.text.grep.search import Output, Search
from planaria_shell.state.command import Process, Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.regex.syntax import RegexError
from planaria_shell.toolkit.streams import Source, decode, is_directory, open_input, open_small, reason

#: So many lines that were found in files are written at once.
_WAITING = 500
_USAGE = "Usage: grep [OPTION]... PATTERNS [FILE]...\n"
_HELP = (
    _USAGE
    + """Search for PATTERNS in each FILE.

Patterns:  -E -F -G -P (extended, fixed, basic, perl)  -e PATTERNS  -f FILE  -i  -w  -x  -z
Output:    -c -l -L -q -o -n -b -H -h -s -v -m NUM -T -Z --label=LABEL --color[=WHEN]
Context:   -A NUM  -B NUM  -C NUM  -NUM  --group-separator=SEP  --no-group-separator
Files:     -r -R --include=GLOB --exclude=GLOB --exclude-from=FILE --exclude-dir=GLOB -a -I -d ACTION
"""
)


class _Failure(Exception):
    """The command cannot go on: a message, and whether the usage follows."""

    def __init__(self, message: str, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(slots=True)
class _Settings:
    """The command line, read."""

    matcher: str = "G"
    patterns: list[str] | None = None
    fold: bool = False
    words: bool = False
    whole_lines: bool = False
    silent: bool = False
    names: bool | None = None
    label: str = "(standard input)"
    directories: str = "read"
    follow: bool = False
    #: (kind, pattern) in order: the last that matches decides.
    file_globs: list[tuple[bool, str]] = field(default_factory=list)
    directory_globs: list[str] = field(default_factory=list)
    output: Output = field(default_factory=Output)


@command(
    "grep",
    "egrep",
    "fgrep",
    short="EFGPe:f:ivyVwxzsqclLonHhbA:B:C:m:d:D:rRaITZU0123456789u",
    long="after-context=A: basic-regexp=G before-context=B: binary-files: binary=U byte-offset=b "
    "color:: colour=color:: context=C: count=c dereference-recursive=R devices=D: directories=d: "
    "exclude-dir: exclude-from: exclude: extended-regexp=E file=f: files-with-matches=l "
    "files-without-match=L fixed-strings=F group-separator: help ignore-case=i include: "
    "initial-tab=T invert-match=v label: line-buffered line-number=n line-regexp=x max-count=m: "
    "no-filename=h no-group-separator no-ignore-case no-messages=s null-data=z null=Z "
    "only-matching=o perl-regexp=P quiet=q recursive=r regexp=e: silent=q text=a version=V "
    "with-filename=H word-regexp=w",
    help=_HELP,
    version="grep (GNU grep) 3.8\n",
    failure=2,
    hint=_USAGE + "Try 'grep --help' for more information.",
)
def grep(call: Invocation) -> Generator[None, None, Status]:
    """Print lines that match patterns; status 0 with a selected line, 1 without, 2 after an error."""
    process, options = call.process, call.arguments
    matcher = {"egrep": "E", "fgrep": "F"}.get(call.name, "G")
    try:
        settings = _read(process, options.options, matcher)
        operands = options.operands
        if settings.patterns is None:
            if not operands:
                raise UsageError("")
            settings.patterns = operands.pop(0).split("\n")
        output = settings.output
        unmatchable = output.invert and settings.patterns == [""]
        unmatchable = unmatchable and not (settings.words or settings.whole_lines)
        if (output.max_count == 0 or unmatchable) and output.list_files != "L":
            # Nothing can be selected, so nothing is read, and not even a count is written.
            return 1
        pattern = compile_patterns(
            tuple(settings.patterns),
            settings.matcher,
            fold=settings.fold,
            words=settings.words,
            whole_lines=settings.whole_lines,
            null_data=settings.output.null_data,
        )
    except (_Failure, RegexError) as problem:
        process.error(str(problem))
        return 2
    for warning in pattern.warnings:
        process.error(f"warning: {warning}")
    recursive = settings.directories == "recurse"
    if not operands:
        operands = ["."] if recursive else ["-"]
        bare = recursive
    else:
        bare = False
    if settings.names is None:
        output.names = recursive and operands != ["-"] if len(operands) == 1 else True
        if recursive and len(operands) == 1 and not is_directory(process, operands[0]):
            output.names = False
    else:
        output.names = settings.names
    selected_any = failed = False
    search = Search(output, pattern, "", process)
    for name, path, message in _files(process, operands, settings, bare):
        if message:
            failed = True
            if not settings.silent:
                search.write()
                process.error(f"{name}: {message}")
            if settings.directories == "read" and (output.count or output.list_files == "L"):
                # A directory is a file in which nothing is found.
                search.begin(name)
                search.whole(b"")
            continue
        opened = False
        source: Source | None
        try:
            if path:
                source, data = open_small(path)
                if source is None and search.leaves_out(data):
                    continue
            else:
                source, data = open_input(process, name), b""
            opened = True
            search.begin(settings.label if name == "-" else name)
            if source is None:
                selected = search.whole(data)
            else:
                try:
                    selected = yield from search.run(source)
                finally:
                    source.close()
            if len(search.waiting) > _WAITING or not path:
                search.write()
                if process.stdout.full:
                    yield
        except OSError as problem:
            if isinstance(problem, BrokenPipeError):
                raise
            failed = True
            if opened or not settings.silent:
                search.write()
                process.error(f"{name}: {reason(problem)}")
            continue
        selected_any |= selected
        if selected and output.quiet:
            return 0
    search.write()
    return 2 if failed and not (output.quiet and selected_any) else 0 if selected_any else 1


def _read(process: Process, given: list[tuple[str, str | None]], matcher: str) -> _Settings:
    settings = _Settings(matcher=matcher)
    output = settings.output
    chosen = ""
    digits = ""
    previous_digit = False
    both: int | None = None
    colors = False
    for name, argument in given:
        value = argument or ""
        if name.isdigit():
            digits = digits + name if previous_digit else name
            previous_digit = True
            both = int(digits)
            continue
        previous_digit = False
        match name:
            case "E" | "F" | "G" | "P":
                if chosen and chosen != name and "P" in (chosen, name):
                    raise _Failure("conflicting matchers specified")
                settings.matcher = chosen = name
            case "e":
                settings.patterns = [*(settings.patterns or []), *value.split("\n")]
            case "f":
                settings.patterns = [*(settings.patterns or []), *_pattern_file(process, value)]
            case "i" | "y":
                settings.fold = True
            case "no-ignore-case":
                settings.fold = False
            case "w":
                settings.words = True
            case "x":
                settings.whole_lines = True
            case "z":
                output.null_data = True
            case "s":
                settings.silent = True
            case "v":
                output.invert = True
            case "m":
                try:
                    count = int(value)
                except ValueError:
                    raise _Failure("invalid max count") from None
                output.max_count = count if count >= 0 else None
            case "b":
                output.offsets = True
            case "n":
                output.numbers = True
            case "H" | "h":
                settings.names = name == "H"
            case "label":
                settings.label = value
            case "o":
                output.only_matching = True
            case "q":
                output.quiet = True
            case "a":
                output.binary = "text"
            case "I":
                output.binary = "without-match"
            case "binary-files":
                if value not in ("text", "binary", "without-match"):
                    raise _Failure("unknown binary-files type")
                output.binary = value
            case "d":
                if value not in ("read", "recurse", "skip"):
                    raise _Failure(
                        f"invalid argument ‘{value}’ for ‘--directories’\nValid arguments are:\n"
                        "  - ‘read’\n  - ‘recurse’\n  - ‘skip’"
                    )
                settings.directories = value
            case "r" | "R":
                settings.directories = "recurse"
                settings.follow = name == "R"
            case "include" | "exclude":
                settings.file_globs.append((name == "include", value))
            case "exclude-from":
                settings.file_globs += [(False, line) for line in _pattern_file(process, value) if line]
            case "exclude-dir":
                settings.directory_globs.append(value.rstrip("/") or "/")
            case "l" | "L":
                output.list_files = name
            case "c":
                output.count = True
            case "T":
                output.initial_tab = True
            case "Z":
                output.null_names = True
            case "A" | "B" | "C":
                if not value.isdigit():
                    raise _Failure(f"{value}: invalid context length argument")
                if name == "C":
                    both = int(value)
                elif name == "A":
                    output.after = int(value)
                else:
                    output.before = int(value)
            case "group-separator":
                output.separator = value
            case "no-group-separator":
                output.separator = None
            case "u":
                process.error("warning: --unix-byte-offsets (-u) is obsolete")
            case "color":
                if argument not in (
                    None,
                    "always",
                    "never",
                    "auto",
                    "yes",
                    "no",
                    "force",
                    "none",
                    "tty",
                    "if-tty",
                ):
                    raise UsageError("")
                if argument in ("always", "yes", "force"):
                    colors = True
    if colors:
        old = process.env.get("GREP_COLOR")
        if old:
            process.error(f"warning: GREP_COLOR='{old}' is deprecated; use GREP_COLORS='mt={old}'")
        output.set_colors(process.env.get("GREP_COLORS", ""), old or "01;31")
    # What says the least wins: nothing, then names, then counts.
    if output.quiet:
        output.list_files = ""
    if output.quiet or output.list_files:
        output.count = False
    output.grouped = not (output.after is None and output.before is None and both is None)
    output.after = (both or 0) if output.after is None else output.after
    output.before = (both or 0) if output.before is None else output.before
    return settings


def _pattern_file(process: Process, name: str) -> list[str]:
    try:
        source = open_input(process, name)
    except OSError as problem:
        raise _Failure(f"{name}: {reason(problem)}") from None
    text = decode(source.read())
    source.close()
    return text.removesuffix("\n").split("\n") if text else []


def _files(
    process: Process, operands: list[str], settings: _Settings, bare: bool
) -> Iterator[tuple[str, str, str]]:
    """Names of files to search, each with its path if it is known to be a regular file, and with an error
    message or an empty one."""
    for operand in operands:
        if operand == "-":
            yield operand, "", ""
        elif is_directory(process, operand):
            if settings.directories == "recurse":
                if _excluded_directory(operand, settings):
                    continue
                yield from _walk(process.path(operand), "" if bare else operand, settings)
            elif settings.directories == "read" and not _excluded_directory(operand, settings):
                yield operand, "", "Is a directory"
        elif not _excluded_file(operand, settings) or not os.path.exists(process.path(operand)):
            yield operand, "", ""


def _walk(path: str, shown: str, settings: _Settings) -> Iterator[tuple[str, str, str]]:
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as problem:
        yield shown or ".", "", reason(problem)
        return
    prefix = shown if not shown or shown.endswith("/") else shown + "/"
    for entry in entries:
        name = prefix + entry.name
        if entry.is_file(follow_symlinks=False):
            if not settings.file_globs or not _excluded_file(entry.name, settings):
                yield name, entry.path, ""
        elif entry.is_symlink() and not settings.follow:
            continue
        elif entry.is_dir():
            if not _excluded_directory(entry.name, settings):
                yield from _walk(entry.path, name, settings)
        elif not _excluded_file(entry.name, settings) and (entry.is_file() or entry.is_symlink()):
            yield name, "", ""


def _excluded_directory(name: str, settings: _Settings) -> bool:
    last = name.rstrip("/").rpartition("/")[2] or name
    return any(fnmatch.fnmatchcase(last, glob) or name == glob for glob in settings.directory_globs)


def _excluded_file(name: str, settings: _Settings) -> bool:
    if not settings.file_globs:
        return False
    last = name.rpartition("/")[2]
    for included, glob in reversed(settings.file_globs):
        if fnmatch.fnmatchcase(last, glob) or fnmatch.fnmatchcase(name, glob):
            return not included
    return settings.file_globs[0][0]
