"""Pathname expansion: the files that a pattern names (Bash Reference Manual, section 3.5.8)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from planaria_shell.expand.patterns import is_literal, matcher, unescape
from planaria_shell.state.characters import by_bytes

__all__ = ["GlobOptions", "glob"]


@dataclass(frozen=True, slots=True)
class GlobOptions:
    """The options of `shopt` that matter here."""

    extglob: bool = False
    dotglob: bool = False
    globstar: bool = False
    nocaseglob: bool = False
    skip_dots: bool = True
    bytewise: bool = False


def _components(pattern: str) -> list[str]:
    """The pattern split at slashes, but not inside extended patterns or brackets."""
    parts: list[str] = []
    depth = 0
    current: list[str] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\" and position + 1 < len(pattern):
            if pattern[position + 1] == "/":
                position += 1
                continue
            current.append(pattern[position : position + 2])
            position += 2
            continue
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        if char == "/" and depth == 0:
            parts.append("".join(current))
            current = []
        else:
            current.append(char)
        position += 1
    parts.append("".join(current))
    return parts


def glob(pattern: str, cwd: str, options: GlobOptions) -> list[str]:
    """The sorted names that match `pattern`, relative to `cwd` when the pattern is; empty for none."""
    components = _components(pattern)
    root = pattern[: len(pattern) - len(pattern.lstrip("/"))]
    found = [root]
    components = components[len(root) :]
    if options.globstar:
        # One after another they are one.
        pairs = zip(["", *components], components, strict=False)
        components = [one for before, one in pairs if one != "**" or before != "**"]
    for place, component in enumerate(components):
        last = place == len(components) - 1
        if component == "":
            if last:
                found = [name + "/" for name in found if name and os.path.isdir(os.path.join(cwd, name))]
                found = [name[:-1] if name.endswith("//") else name for name in found]
            elif all(is_literal(one, extglob=options.extglob) for one in components[:place]):
                # Behind what is not a pattern, all slashes stay.
                found = [name + ("/" if name.endswith("/") else "//") for name in found]
            continue
        named = all(is_literal(one, extglob=options.extglob) for one in components[:place])
        if options.globstar and component == "**":
            links = last or components[place + 1 :] == [""]
            below: list[str] = []
            for directory in found:
                _descend(directory, cwd, options, last, below, named, links)
            found = below
        else:
            found = _step(found, component, cwd, options, last)
        if not found:
            return []
    return sorted(found)


def _join(directory: str, name: str) -> str:
    if not directory or directory.endswith("/"):
        return directory + name
    return f"{directory}/{name}"


def _step(directories: list[str], component: str, cwd: str, options: GlobOptions, last: bool) -> list[str]:
    result: list[str] = []
    if is_literal(component, extglob=options.extglob):
        name = unescape(component)
        for directory in directories:
            path = _join(directory, name)
            if os.path.lexists(os.path.join(cwd, path)):
                result.append(path)
        return result
    extglob, ignore_case = options.extglob, options.nocaseglob
    if options.bytewise:
        component = by_bytes(component)
    matches = matcher(component, extglob, ignore_case, hidden=options.dotglob)
    dots: list[str] = []
    if not options.skip_dots:
        explicit = matcher(component, extglob, ignore_case, hidden=False)
        dots = [name for name in (".", "..") if explicit(name)]
    for directory in directories:
        for name in [*dots, *_names(directory, cwd)]:
            if matches(by_bytes(name) if options.bytewise else name):
                path = _join(directory, name)
                if last or os.path.isdir(os.path.join(cwd, path)):
                    result.append(path)
    return result


def _names(directory: str, cwd: str) -> list[str]:
    try:
        return os.listdir(os.path.join(cwd, directory or "."))
    except OSError:
        return []


def _descend(
    directory: str, cwd: str, options: GlobOptions, last: bool, result: list[str], named: bool, links: bool
) -> None:
    """`**`: the directory itself, and all below it that is not hidden (files only at the end). `named`: the
    directory is written out in the pattern; `links`: those to directories count, too."""
    if directory and last:
        result.append(directory + "/" if named and not directory.endswith("/") else directory)
    elif not last:
        result.append(directory)
    stack = [directory]
    while stack:
        current = stack.pop()
        for name in _names(current, cwd):
            if name.startswith(".") and not options.dotglob:
                continue
            path = _join(current, name)
            full = os.path.join(cwd, path)
            is_directory = os.path.isdir(full)
            is_link = os.path.islink(full)
            if last or (is_directory and (links or not is_link)):
                result.append(path)
            if is_directory and not is_link:
                stack.append(path)
