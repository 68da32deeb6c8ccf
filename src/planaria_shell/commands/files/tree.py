"""`tree`: a directory as a picture (tree 2.1)."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from planaria_shell.commands.numbers.date.command import moment_of
from planaria_shell.state.command import Process
from planaria_shell.toolkit.dates.zones import local_zone
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import OptionSyntax, UsageError


@dataclass(slots=True)
class _Options:
    all: bool = False
    directories: bool = False
    full: bool = False
    classify: bool = False
    no_indent: bool = False
    follow: bool = False
    size: bool = False
    human: bool = False
    permissions: bool = False
    date: bool = False
    reverse: bool = False
    by_time: bool = False
    by_size: bool = False
    unsorted: bool = False
    version_sort: bool = False
    quote: bool = False
    depth: int | None = None
    patterns: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    directories_first: bool = False
    files_first: bool = False
    prune: bool = False
    match_directories: bool = False
    ignore_case: bool = False
    report: bool = True
    ascii: bool = False
    json: bool = False
    limit: int | None = None


@dataclass(slots=True)
class _Node:
    name: str
    path: str
    mode: int
    size: int
    mtime: int
    target: str | None = None
    is_directory: bool = False
    children: list[_Node] | None = None
    error: str = ""


class _LevelError(Exception):
    pass


_SYNTAX = OptionSyntax(
    "adfiFlsphDrtcUvQCnqNJxL:P:I:o:SAX",
    "noreport dirsfirst filesfirst sort:: charset: filelimit: inodes du prune matchdirs "
    "ignore-case si gitignore help version",
    help_option=False,
)


def _options(words: list[str]) -> tuple[_Options, list[str]]:
    arguments = _SYNTAX.parse(words)
    options = _Options()
    simple = {
        "a": "all",
        "d": "directories",
        "f": "full",
        "F": "classify",
        "i": "no_indent",
        "l": "follow",
        "s": "size",
        "p": "permissions",
        "D": "date",
        "r": "reverse",
        "t": "by_time",
        "c": "by_time",
        "U": "unsorted",
        "v": "version_sort",
        "Q": "quote",
        "J": "json",
        "dirsfirst": "directories_first",
        "filesfirst": "files_first",
        "prune": "prune",
        "matchdirs": "match_directories",
        "ignore-case": "ignore_case",
    }
    for name, value in arguments.given:
        if name in simple:
            setattr(options, simple[name], True)
        elif name == "h":
            options.human = options.size = True
        elif name == "L":
            if not value.isdigit() or int(value) < 1:
                raise _LevelError("Invalid level, must be greater than 0.")
            options.depth = int(value)
        elif name == "P":
            options.patterns.append(value)
        elif name == "I":
            options.ignore.append(value)
        elif name == "noreport":
            options.report = False
        elif name == "charset":
            options.ascii = value.upper() not in ("UTF-8", "UTF8")
        elif name == "sort":
            options.by_size, options.by_time = value == "size", value in ("mtime", "ctime")
            options.version_sort, options.unsorted = value == "version", value == "none"
        elif name == "filelimit":
            options.limit = int(value) if value.isdigit() else 0
    return options, arguments.operands


def _matches(name: str, patterns: list[str], options: _Options) -> bool:
    if options.ignore_case:
        name = name.lower()
    for pattern in patterns:
        for alternative in pattern.split("|"):
            alternative = alternative.removesuffix("/")
            if fnmatch.fnmatchcase(name, alternative.lower() if options.ignore_case else alternative):
                return True
    return False


def _node(name: str, path: str) -> _Node:
    found = os.lstat(path)
    node = _Node(name, path, found.st_mode, found.st_size, found.st_mtime_ns)
    if stat.S_ISLNK(found.st_mode):
        try:
            node.target = os.readlink(path)
        except OSError:
            node.target = "[Error reading symbolic link information]"
        node.is_directory = os.path.isdir(path)
    else:
        node.is_directory = stat.S_ISDIR(found.st_mode)
    return node


def _read(node: _Node, options: _Options, depth: int, ancestors: frozenset[tuple[int, int]]) -> None:
    """Read the children of a directory, as deep as asked."""
    try:
        names = os.listdir(node.path)
    except OSError:
        node.error = "error opening dir"
        node.children = []
        return
    children = []
    for name in names:
        if name.startswith(".") and not options.all:
            continue
        if options.ignore and _matches(name, options.ignore, options):
            continue
        try:
            child = _node(name, os.path.join(node.path, name))
        except FileNotFoundError:
            # It went away meanwhile.
            continue
        if options.directories and not child.is_directory:
            continue
        if options.patterns and not _matches(name, options.patterns, options):
            matched_directory = child.is_directory and not options.match_directories
            if not matched_directory and not (child.is_directory and child.target is None):
                continue
        children.append(child)
    if options.limit is not None and len(children) > options.limit:
        node.error = f"{len(children)} entries exceeds filelimit, not opening dir"
        node.children = []
        return
    node.children = _sorted(children, options)
    if options.depth is not None and depth >= options.depth:
        return
    for child in node.children:
        if child.is_directory and (child.target is None or options.follow):
            try:
                found = os.stat(child.path)
            except OSError:
                child.error, child.children = "error opening dir", []
                continue
            identity = (found.st_dev, found.st_ino)
            if identity in ancestors:
                child.error = "recursive, not followed"
                continue
            _read(child, options, depth + 1, ancestors | {identity})
    if options.prune:
        node.children = [child for child in node.children if not (child.is_directory and not child.children)]


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|\D+", name)]


def _sorted(children: list[_Node], options: _Options) -> list[_Node]:
    if options.unsorted:
        return children
    if options.by_time:
        children.sort(key=lambda node: (node.mtime // 10**9, os.fsencode(node.name)), reverse=options.reverse)
    elif options.by_size:
        children.sort(key=lambda node: (-node.size, os.fsencode(node.name)), reverse=options.reverse)
    elif options.version_sort:
        children.sort(key=lambda node: _natural(node.name), reverse=options.reverse)
    else:
        children.sort(key=lambda node: os.fsencode(node.name), reverse=options.reverse)
    if options.directories_first:
        children.sort(key=lambda node: not node.is_directory)
    elif options.files_first:
        children.sort(key=lambda node: node.is_directory)
    return children


def _human(size: int) -> str:
    units = iter(" KMGTPE")
    unit = next(units)
    number = float(size)
    while number >= 1024:
        number /= 1024
        unit = next(units)
    if unit == " ":
        return f"{size:4d}"
    return f"{number:3.1f}{unit}" if number < 10 else f"{number:3.0f}{unit}"


class _Picture:
    """Writes the lines of a tree."""

    def __init__(self, process: Process, options: _Options) -> None:
        self.process = process
        self.options = options
        self.directories = 0
        self.files = 0
        environment = process.env
        locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
        unicode = "utf" in locale.lower() and not options.ascii
        self.marks = (
            ("│\u00a0\u00a0 ", "    ", "├── ", "└── ") if unicode else ("|   ", "    ", "|-- ", "`-- ")
        )
        self.zone = local_zone(environment)

    def details(self, node: _Node) -> str:
        options = self.options
        parts = []
        if options.permissions:
            parts.append(stat.filemode(node.mode))
        if options.size:
            parts.append(_human(node.size) if options.human else f"{node.size:11d}")
        if options.date:
            moment, _ = moment_of(node.mtime, self.zone)
            recent = 0 <= time.time_ns() - node.mtime < 15768000 * 10**9
            last = f"{moment:%H:%M}" if recent else f" {moment.year}"
            parts.append(f"{moment:%b} {moment.day:2d} {last}")
        return f"[{' '.join(parts)}]  " if parts else ""

    def label(self, node: _Node, shown: str) -> str:
        text = f'"{shown}"' if self.options.quote else shown
        if self.options.classify and node.target is None:
            text += _suffix(node)
        if node.target is not None:
            text += f' -> "{node.target}"' if self.options.quote else f" -> {node.target}"
            if self.options.classify and node.is_directory:
                text += "/"
        return text + (f"  [{node.error}]" if node.error else "")

    def lines(self, root: _Node, shown: str) -> Iterator[str]:
        # A link that was named stands for what it leads to.
        yield self.details(root) + self.label(replace(root, target=None), shown)
        if not root.children:
            return
        self.directories += 1
        yield from self.below(root, shown, "")

    def below(self, node: _Node, shown: str, indent: str) -> Iterator[str]:
        children = node.children or []
        for number, child in enumerate(children):
            last = number == len(children) - 1
            name = f"{shown.removesuffix('/')}/{child.name}" if self.options.full else child.name
            if child.is_directory:
                self.directories += 1
            else:
                self.files += 1
            lead = "" if self.options.no_indent else indent + self.marks[3 if last else 2]
            yield lead + self.details(child) + self.label(child, name)
            if child.children:
                yield from self.below(child, name, indent + self.marks[1 if last else 0])

    def report(self) -> str:
        directories = f"{self.directories} director{'y' if self.directories == 1 else 'ies'}"
        if self.options.directories:
            return directories
        return f"{directories}, {self.files} file{'' if self.files == 1 else 's'}"

    def json(self, node: _Node, shown: str, indent: str) -> Iterator[str]:
        kind = "directory" if node.is_directory and node.target is None else "link" if node.target else "file"
        kind = "fifo" if stat.S_ISFIFO(node.mode) else kind
        if node.is_directory:
            self.directories += 1
        else:
            self.files += 1
        head = f'{indent}{{"type":"{kind}","name":{json.dumps(shown, ensure_ascii=False)}'
        if node.target is not None:
            head += f',"target":{json.dumps(node.target, ensure_ascii=False)}'
        if self.options.permissions:
            head += f',"mode":"{stat.S_IMODE(node.mode):04o}","prot":"{stat.filemode(node.mode)}"'
        if self.options.size:
            head += f',"size":{node.size}'
        children = node.children
        if not children:
            yield head + "}"
            return
        yield head + ',"contents":['
        for number, child in enumerate(children):
            name = f"{shown.removesuffix('/')}/{child.name}" if self.options.full else child.name
            lines = list(self.json(child, name, indent + "  "))
            if number < len(children) - 1:
                lines[-1] += ","
            yield from lines
        yield indent + "]}"


def _suffix(node: _Node) -> str:
    mode = node.mode
    if stat.S_ISDIR(mode):
        return "/"
    if stat.S_ISSOCK(mode):
        return "="
    if stat.S_ISFIFO(mode):
        return "|"
    return "*" if stat.S_ISREG(mode) and mode & 0o111 else ""


@command(
    "tree",
    help="Usage: tree [-adfFihlprstDQJ] [-L LEVEL] [-P PATTERN] [-I PATTERN] [--noreport] [DIRECTORY]...\n",
    version="tree v2.1.0\n",
    raw=True,
)
def tree(call: Invocation) -> Generator[None, None, int]:
    """Show directories as a tree."""
    process = call.process
    try:
        options, operands = _options(call.argv[1:])
    except UsageError as error:
        process.error(
            f"Invalid argument {str(error).replace('invalid option -- ', '-').replace(chr(39), '`', 1)}."
        )
        return 1
    except _LevelError as error:
        process.error(str(error))
        return 1
    picture = _Picture(process, options)
    status = 0

    def lines() -> Iterator[str]:
        nonlocal status
        if options.json:
            yield "["
        for number, name in enumerate(operands or ["."]):
            path = process.path(name)
            try:
                root = _node(name, path)
            except OSError:
                yield f"{name}  [error opening dir]"
                status = 2
                continue
            if os.path.isdir(path):
                found = os.stat(path)
                _read(root, options, 1, frozenset({(found.st_dev, found.st_ino)}))
            elif not options.json:
                picture.files += 1
                root = replace(root, target=None, error="error opening dir")
                yield picture.details(root) + picture.label(root, name)
                continue
            if options.json:
                yield from picture.json(root, name, "  ")
                if number < len(operands) - 1:
                    yield ","
            else:
                yield from picture.lines(root, name)
        if options.report:
            if options.json:
                yield ","
                yield f'  {{"type":"report","directories":{picture.directories},"files":{picture.files}}}'
            else:
                yield ""
                yield picture.report()
        if options.json:
            yield "]"

    for line in lines():
        process.stdout.write((line + "\n").encode("utf-8", "surrogateescape"))
        if process.stdout.full:
            yield
    return status
