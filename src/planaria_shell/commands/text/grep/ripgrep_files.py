"""Which files ripgrep looks into: hidden ones, ignore files, globs and types."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

#: File types by name, the common ones of `rg --type-list`.
TYPES = {
    "c": "*.[chH] *.[chH].in *.cats", "cpp": "*.[ChH] *.[ChH].in *.[ch]pp *.[ch]xx *.cc *.hh *.inl",
    "cs": "*.cs", "css": "*.css *.scss", "csv": "*.csv", "docker": "*Dockerfile*", "go": "*.go",
    "html": "*.htm *.html *.ejs", "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "json": "*.json composer.lock", "kotlin": "*.kt *.kts", "log": "*.log", "lua": "*.lua",
    "make": "[Gg][Nn][Uu]makefile [Mm]akefile *.mk *.mak", "markdown": "*.markdown *.md *.mdown *.mdx *.mkd",
    "md": "*.markdown *.md *.mdown *.mdx *.mkd", "perl": "*.perl *.pl *.PL *.plh *.plx *.pm *.t",
    "php": "*.php *.php3 *.php4 *.php5 *.phtml", "py": "*.py", "python": "*.py", "r": "*.R *.r *.Rmd *.Rnw",
    "rb": "*.rb *.rbw *.gemspec Gemfile Rakefile config.ru .irbrc", "ruby": "*.rb *.gemspec Gemfile Rakefile",
    "rust": "*.rs", "scala": "*.scala *.sbt",
    "sh": "*.bash *.bashrc *.csh *.ksh *.sh *.tcsh *.zsh .bashrc .profile",
    "sql": "*.sql *.psql", "swift": "*.swift", "tex": "*.tex *.ltx *.cls *.sty *.bib",
    "toml": "*.toml Cargo.lock",
    "ts": "*.ts *.tsx *.cts *.mts", "txt": "*.txt", "xml": "*.xml *.dtd *.xsl *.xslt *.xsd *.rng *.sch",
    "yaml": "*.yaml *.yml",
}  # fmt: skip


@dataclass(slots=True)
class Selection:
    """What is searched under a directory."""

    hidden: bool = False
    ignore_files: bool = True
    follow: bool = False
    depth: int | None = None
    #: Globs in order, the last that matches decides; a leading `!` excludes.
    globs: list[tuple[str, bool]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    not_types: list[str] = field(default_factory=list)

    def wants(self, relative: str) -> bool:
        """Whether globs and types take a file (path relative to where the search began)."""
        name = relative.rpartition("/")[2]
        if self.globs:
            decided = None
            for glob, fold in self.globs:
                if _glob_matches(glob.removeprefix("!"), relative, fold):
                    decided = not glob.startswith("!")
            if decided is False or (
                decided is None and any(not glob.startswith("!") for glob, _ in self.globs)
            ):
                return False
        if self.types and not any(_type_matches(kind, name) for kind in self.types):
            return False
        return not any(_type_matches(kind, name) for kind in self.not_types)

    def leaves_out(self, relative: str) -> bool:
        """Whether a glob keeps the search out of a directory."""
        decided = False
        for glob, fold in self.globs:
            if glob.startswith("!") and _glob_matches(glob[1:].rstrip("/"), relative, fold):
                decided = True
        return decided


def _type_matches(kind: str, name: str) -> bool:
    return any(glob_regex(glob).fullmatch(name) for glob in TYPES[kind].split())


def _glob_matches(glob: str, relative: str, fold: bool) -> bool:
    subject = relative if "/" in glob.rstrip("/") else relative.rpartition("/")[2]
    pattern = glob_regex(glob.lstrip("/"), fold)
    return pattern.fullmatch(subject) is not None


@lru_cache(maxsize=1000)
def glob_regex(glob: str, fold: bool = False) -> re.Pattern[str]:
    """A glob as gitignore(5) has it (`**`, `*` within a name) with `{a,b}`, as an expression."""
    parts: list[str] = []
    at = depth = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
            continue
        if glob.startswith("**", at):
            parts.append(".*")
            at += 2
            continue
        at += 1
        if char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[" and (end := glob.find("]", at + 1)) > 0:
            inner = glob[at:end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append("[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]")
            at = end + 1
        elif char == "{":
            depth += 1
            parts.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        elif char == "\\" and at < len(glob):
            parts.append(re.escape(glob[at]))
            at += 1
        else:
            parts.append(re.escape(char))
    return re.compile("".join(parts) + ")" * depth, re.DOTALL | (re.IGNORECASE if fold else re.NOFLAG))


@dataclass
class _Rule:
    """A line of an ignore file."""

    base: str
    pattern: re.Pattern[str]
    whole_path: bool
    only_directories: bool
    negated: bool

    def matches(self, path: str, is_directory: bool) -> bool:
        if self.only_directories and not is_directory:
            return False
        subject = path[len(self.base) + 1 :] if self.whole_path else path.rpartition("/")[2]
        return self.pattern.fullmatch(subject) is not None


def _read_rules(directory: str, name: str) -> list[_Rule]:
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return []
    rules: list[_Rule] = []
    for line in lines:
        line = line.rstrip()
        if not line or line.startswith("#"):
            continue
        negated = line.startswith("!")
        line = line.removeprefix("!")
        directories = line.endswith("/")
        line = line.rstrip("/")
        whole = "/" in line
        rules.append(_Rule(directory, glob_regex(line.lstrip("/")), whole, directories, negated))
    return rules


def _in_repository(path: str) -> bool:
    while True:
        if os.path.exists(os.path.join(path, ".git")):
            return True
        parent = os.path.dirname(path)
        if parent == path:
            return False
        path = parent


def walk(path: str, shown: str, selection: Selection) -> Iterator[tuple[str, str]]:
    """Paths of files below a directory, each with the name to show, in the order of their names."""
    path = os.path.normpath(path)
    repository = selection.ignore_files and _in_repository(path)
    rules: list[_Rule] = []
    if selection.ignore_files:
        parents: list[str] = []
        parent = os.path.dirname(path)
        while parent != os.path.dirname(parent):
            parents.append(parent)
            parent = os.path.dirname(parent)
        for parent in reversed(parents):
            rules += _directory_rules(parent, repository)
    yield from _walk(path, shown, "", selection, rules, repository, 1)


def _directory_rules(path: str, repository: bool) -> list[_Rule]:
    rules = _read_rules(path, ".gitignore") if repository else []
    return rules + _read_rules(path, ".ignore") + _read_rules(path, ".rgignore")


def _walk(
    path: str,
    shown: str,
    relative: str,
    selection: Selection,
    rules: list[_Rule],
    repository: bool,
    depth: int,
) -> Iterator[tuple[str, str]]:
    if selection.ignore_files:
        rules = rules + _directory_rules(path, repository)
    with os.scandir(path) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    prefix = shown if not shown or shown.endswith("/") else shown + "/"
    for entry in entries:
        inner = relative + "/" + entry.name if relative else entry.name
        is_directory = entry.is_dir(follow_symlinks=selection.follow)
        whitelisted = (
            bool(selection.globs)
            and not is_directory
            and selection.wants(inner)
            and any(not glob.startswith("!") for glob, _ in selection.globs)
        )
        if not whitelisted:
            if entry.name.startswith(".") and not selection.hidden:
                continue
            ignored = False
            for rule in rules:
                if rule.matches(entry.path, is_directory):
                    ignored = not rule.negated
            if ignored:
                continue
        if is_directory:
            if (selection.depth is None or depth < selection.depth) and not selection.leaves_out(inner):
                yield from _walk(
                    entry.path, prefix + entry.name, inner, selection, rules, repository, depth + 1
                )
        elif entry.is_file(follow_symlinks=selection.follow) and selection.wants(inner):
            yield entry.path, prefix + entry.name
