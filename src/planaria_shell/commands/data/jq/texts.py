"""The builtins of jq that work on strings, and those with regular expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import regex
from planaria_shell.commands.data.jq.arithmetic import add as plus
from planaria_shell.commands.data.jq.arithmetic import split
from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.tables import GENERATORS, NATIVES, generator, native
from planaria_shell.commands.data.jq.values import JqError, is_number, kind


@native("startswith", 1)
def _startswith(value: Any, prefix: Any) -> bool:
    if not isinstance(value, str) or not isinstance(prefix, str):
        raise JqError("startswith() requires string inputs")
    return value.startswith(prefix)


@native("endswith", 1)
def _endswith(value: Any, suffix: Any) -> bool:
    if not isinstance(value, str) or not isinstance(suffix, str):
        raise JqError("endswith() requires string inputs")
    return value.endswith(suffix)


def _both_strings(value: Any, other: Any) -> bool:
    return isinstance(value, str) and isinstance(other, str)


NATIVES["ltrimstr", 1] = lambda value, prefix: (
    value.removeprefix(prefix) if _both_strings(value, prefix) else value
)
NATIVES["rtrimstr", 1] = lambda value, suffix: (
    value.removesuffix(suffix) if _both_strings(value, suffix) else value
)
NATIVES["trimstr", 1] = lambda value, both: (
    value.removeprefix(both).removesuffix(both) if _both_strings(value, both) else value
)


def _trimmer(trim: Callable[[str, str], str]) -> Callable[[Any], str]:
    def trimmed(value: Any) -> str:
        if not isinstance(value, str):
            raise JqError(f"{kind(value)} ({shown(value)}) cannot be trimmed")
        return trim(value, " \t\n\v\f\r")

    return trimmed


NATIVES["trim", 0] = _trimmer(str.strip)
NATIVES["ltrim", 0] = _trimmer(str.lstrip)
NATIVES["rtrim", 0] = _trimmer(str.rstrip)

_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code: code - 32 for code in range(97, 123)}


@native("ascii_downcase")
def _ascii_downcase(value: Any) -> str:
    if not isinstance(value, str):
        raise JqError("ascii_downcase input must be a string")
    return value.translate(_LOWER)


@native("ascii_upcase")
def _ascii_upcase(value: Any) -> str:
    if not isinstance(value, str):
        raise JqError("ascii_upcase input must be a string")
    return value.translate(_UPPER)


@native("explode")
def _explode(value: Any) -> list[int]:
    if not isinstance(value, str):
        raise JqError("explode input must be a string")
    return list(map(ord, value))


@native("implode")
def _implode(value: Any) -> str:
    if not isinstance(value, list):
        raise JqError("implode input must be an array")
    characters = []
    for code in value:
        if not is_number(code) or code != code:
            raise JqError(
                f"{kind(code)} ({shown(code)}) can't be imploded, unicode codepoint needs to be numeric"
            )
        valid = 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
        characters.append(chr(int(code)) if valid else "\ufffd")
    return "".join(characters)


@native("split", 1)
def _split(value: Any, separator: Any) -> list[str]:
    if not _both_strings(value, separator):
        raise JqError("split input and separator must be strings")
    return split(value, separator)


# Regular expressions


@generator("match", 1)
def _match(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return map(regex.describe, regex.matches(value, pattern, flags))


GENERATORS["match", 2] = _match


@native("test", 1)
def _test(value: Any, pattern: Any, flags: Any = None) -> bool:
    return next(regex.matches(value, pattern, flags), None) is not None


NATIVES["test", 2] = _test


@generator("capture", 1)
def _capture(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return map(regex.captured, regex.matches(value, pattern, flags))


GENERATORS["capture", 2] = _capture


@generator("scan", 1)
def _scan(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    for match in regex.matches(value, pattern, flags, all_of_them=True):
        yield list(match.groups()) if match.re.groups else match.group()


GENERATORS["scan", 2] = _scan


@native("split", 2)
def _split_pattern(value: Any, pattern: Any, flags: Any) -> list[str]:
    pieces = []
    position = 0
    for match in regex.matches(value, pattern, flags, all_of_them=True):
        pieces.append(value[position : match.start()])
        position = match.end()
    return [*pieces, value[position:]]


@generator("splits", 1)
def _splits(value: Any, pattern: Any, flags: Any = None) -> Iterator[Any]:
    return iter(_split_pattern(value, pattern, flags))


GENERATORS["splits", 2] = _splits


def substitute(
    value: Any, pattern: Any, flags: Any, everywhere: bool, replacements: Callable[[Any], Any]
) -> Iterator[Any]:
    """`sub` and `gsub`: one result for each replacement that the first match has."""
    pieces: list[list[str]] = []
    position = 0
    for match in regex.matches(value, pattern, flags, all_of_them=everywhere):
        gap = value[position : match.start()]
        for number, insert in enumerate(replacements(regex.captured(match))):
            if not isinstance(insert, str):
                plus(gap, insert)
            if number == len(pieces):
                pieces.append([])
            pieces[number].append(gap + (insert or ""))
        position = match.end()
    if not pieces:
        yield value
    for piece in pieces:
        yield "".join(piece) + value[position:]
