"""Differences in formats of one's own: `--line-format`, `--changed-group-format`, `-D NAME` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from planaria_shell.commands.text.diff.hunks import Change

_GROUPS = {"old": "%<", "new": "%>", "unchanged": "%=", "changed": "%<%>"}
#: What stands for itself.
_PLAIN = re.compile(r"[^%]+")
_DIRECTIVE = re.compile(
    r"%(?:(?P<plain>[<>=%lL])|c'(?P<byte>[^\\]|\\[0-7]{1,3}|\\')'"
    r"|(?P<left>-?)(?P<quote>'?)(?P<zero>0?)(?P<width>\d*)(?:\.(?P<precision>\d*))?(?P<base>[doxX])(?P<what>[A-Za-z])"
    r"|\((?P<one>[A-Za-z]|\d+)=(?P<two>[A-Za-z]|\d+)\?)"
)


@dataclass(slots=True)
class Region:
    """Lines of the old and of the new file, from a first to after a last, counted from 0."""

    old_start: int
    old_stop: int
    new_start: int
    new_stop: int

    def number(self, letter: str) -> int | None:
        """The number that a letter of a group's format stands for, None for one that means nothing."""
        first, after = (
            (self.old_start, self.old_stop) if letter.islower() else (self.new_start, self.new_stop)
        )
        values = {"e": first, "f": first + 1, "l": after, "m": after + 1, "n": after - first}
        return values.get(letter.lower())


@dataclass(slots=True)
class Formats:
    """The formats of groups and lines, by what they are: old, new, unchanged, changed."""

    groups: dict[str, str] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)

    #: They are those of `-D`.
    defined: bool = False

    def define(self, name: str) -> None:
        """`-D NAME`: one file for the C preprocessor."""
        self.defined = True
        self.groups |= {
            "unchanged": "%=",
            "old": f"#ifndef {name}\n%<#endif /* ! {name} */\n",
            "new": f"#ifdef {name}\n%>#endif /* {name} */\n",
            "changed": f"#ifndef {name}\n%<#else /* {name} */\n%>#endif /* {name} */\n",
        }

    def group(self, kind: str) -> str:
        """The format of a kind of groups: what is there on one side only is a change too."""
        default = self.groups.get("changed", _GROUPS[kind]) if kind != "unchanged" else _GROUPS[kind]
        return self.groups.get(kind, default)

    def line(self, kind: str, line: bytes, number: int) -> bytes:
        text = self.lines.get(kind, "%l\n")
        return _line(text, line, number)


def formatted(old: list[bytes], new: list[bytes], changes: list[Change], formats: Formats) -> Iterator[bytes]:
    """Both files as one, region by region."""
    place = other = 0

    def region(stop: int, new_start: int, new_stop: int, start: int) -> tuple[str, Region]:
        before, after = stop > start, new_stop > new_start
        kind = "changed" if before and after else "old" if before else "new"
        return kind, Region(start, stop, new_start, new_stop)

    for change in [*changes, None]:
        if change is not None and change.ignored:
            continue
        start = len(old) if change is None else change.old_start
        start_new = len(new) if change is None else change.new_start
        if start > place or start_new > other:
            same = Region(place, start, other, start_new)
            yield from _write(formats, old, new, "unchanged", same)
        if change is not None:
            place, other = change.old_stop, change.new_stop
            yield from _write(formats, old, new, *region(place, start_new, other, start))


def _write(
    formats: Formats, old: list[bytes], new: list[bytes], kind: str, region: Region
) -> Iterator[bytes]:
    return _Group(formats, old, new, region).write(formats.group(kind))


class _Group:
    """One region, and how its format is written."""

    def __init__(self, formats: Formats, old: list[bytes], new: list[bytes], region: Region) -> None:
        self.formats = formats
        self.old = old
        self.new = new
        self.region = region

    def write(self, text: str) -> Iterator[bytes]:
        at = 0
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                yield plain.group().encode("utf-8", "surrogateescape")
                at = plain.end()
                continue
            found = _DIRECTIVE.match(text, at)
            values = (
                [self._value(found[name]) for name in ("one", "two", "what") if found[name]] if found else []
            )
            if found is None or (found["plain"] or "<") in "lL" or None in values:
                # What means nothing stands for itself.
                yield b"%"
                at += 1
                continue
            at = found.end()
            if found["one"]:
                then, otherwise, at = _branches(text, at)
                yield from self.write(then if values[0] == values[1] else otherwise)
            elif found["base"]:
                yield _digits(found, values[0] or 0)
            else:
                yield from self._plain(found)

    def _plain(self, found: re.Match[str]) -> Iterator[bytes]:
        region = self.region
        match found["plain"]:
            case "<":
                for number in range(region.old_start, region.old_stop):
                    yield self.formats.line("old", self.old[number], number + 1)
            case ">":
                for number in range(region.new_start, region.new_stop):
                    yield self.formats.line("new", self.new[number], number + 1)
            case "=":
                for number in range(region.old_start, region.old_stop):
                    yield self.formats.line("unchanged", self.old[number], number + 1)
            case _:
                yield _byte(found)

    def _value(self, word: str) -> int | None:
        return int(word) if word.isdigit() else self.region.number(word)


def _branches(text: str, at: int) -> tuple[str, str, int]:
    """The two parts of `%(A=B?then:else)`, and what comes after."""
    parts = ["", ""]
    which = depth = 0
    while at < len(text):
        char = text[at]
        if text.startswith("%(", at):
            depth += 1
        elif char == "%" and at + 1 < len(text):
            parts[which] += text[at : at + 2]
            at += 2
            continue
        elif char == ":" and not depth and not which:
            which = 1
            at += 1
            continue
        elif char == ")":
            if not depth:
                return parts[0], parts[1], at + 1
            depth -= 1
        parts[which] += char
        at += 1
    return parts[0], parts[1], at


def _line(text: str, line: bytes, number: int) -> bytes:
    parts: list[bytes] = []
    at = 0
    while at < len(text):
        if plain := _PLAIN.match(text, at):
            parts.append(plain.group().encode("utf-8", "surrogateescape"))
            at = plain.end()
            continue
        found = _DIRECTIVE.match(text, at)
        if (
            found is None
            or (found["plain"] or "l") in "<>="
            or found["one"]
            or (found["base"] and found["what"] != "n")
        ):
            parts.append(b"%")
            at += 1
            continue
        at = found.end()
        if found["base"]:
            parts.append(_digits(found, number))
        elif found["plain"] in ("l", "L"):
            parts.append(line if found["plain"] == "L" else line.removesuffix(b"\n"))
        else:
            parts.append(_byte(found))
    return b"".join(parts)


def _byte(found: re.Match[str]) -> bytes:
    """`%%` or `%c'...'`."""
    text = found["byte"]
    if text is None:
        return b"%"
    if len(text) == 1:
        return text.encode("utf-8", "surrogateescape")
    return text[1:].encode() if text[1] == "'" else bytes([int(text[1:], 8) & 255])


def _digits(found: re.Match[str], value: int) -> bytes:
    digits = format(value, found["base"])
    if found["precision"]:
        digits = digits.rjust(int(found["precision"]), "0")
    width = int(found["width"] or 0)
    if found["left"]:
        return digits.ljust(width).encode()
    return digits.rjust(width, "0" if found["zero"] and found["precision"] is None else " ").encode()
