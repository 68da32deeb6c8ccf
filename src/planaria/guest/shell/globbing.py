"""Pathname expansion: the files that a pattern names (Bash Reference Manual, section 3.5.8)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from .patterns import is_literal, matcher, unescape

__all__ = ["GlobOptions", "glob"]


@dataclass(frozen=True, slots=True)
class GlobOptions:
    """The options of `shopt` that matter here."""

    extglob: bool = False
    dotglob: bool = False
    globstar: bool = False
    nocaseglob: bool = False
    skip_dots: bool = True


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


_LEADING_DOT = re.compile(r"\\?\.|[@+?*]\(\\?\.")


def glob(pattern: str, cwd: str, options: GlobOptions) -> list[str]:
    """The sorted names that match `pattern`, relative to `cwd` when the pattern is; empty for none."""
    components = _components(pattern)
    absolute = pattern.startswith("/")
    found = ["/"] if absolute else [""]
    if absolute:
        components = components[1:]
    while components and components[0] == "" and len(components) > 1:
        components.pop(0)
    for place, component in enumerate(components):
        last = place == len(components) - 1
        if component == "":
            if last:
                found = [name + "/" for name in found if os.path.isdir(os.path.join(cwd, name or "."))]
                found = [name[:-1] if name.endswith("//") else name for name in found]
            continue
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
    if options.globstar and component == "**":
        for directory in directories:
            _descend(directory, cwd, options, last, result)
        return result
    if is_literal(component, extglob=options.extglob):
        name = unescape(component)
        for directory in directories:
            path = _join(directory, name)
            if os.path.lexists(os.path.join(cwd, path)):
                result.append(path)
        return result
    matches = matcher(component, options.extglob, options.nocaseglob)
    hidden = options.dotglob or _LEADING_DOT.match(component) is not None
    for directory in directories:
        for name in _names(directory, cwd):
            if name.startswith(".") and not hidden:
                continue
            if matches(name):
                path = _join(directory, name)
                if last or os.path.isdir(os.path.join(cwd, path)):
                    result.append(path)
    return result


def _names(directory: str, cwd: str) -> list[str]:
    try:
        return os.listdir(os.path.join(cwd, directory or "."))
    except OSError:
        return []


def _descend(directory: str, cwd: str, options: GlobOptions, last: bool, result: list[str]) -> None:
    """`**`: the directory itself, and all below it that is not hidden (files only at the end)."""
    if directory and last:
        result.append(directory if directory.endswith("/") else directory + "/")
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
            if last or is_directory:
                result.append(path)
            if is_directory and not os.path.islink(full):
                stack.append(path)
