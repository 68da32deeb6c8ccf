"""What the operators of `${…}` do to values (Bash Reference Manual, section 3.5.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from planaria_shell.errors import BadSubstitutionError, NegativeLengthError
from planaria_shell.expand.patterns import compile_pattern, is_literal, unescape
from planaria_shell.state.characters import lower_case, swapped_case, upper_case
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    CAPITALIZE,
    EXPORT,
    INDEXED,
    INTEGER,
    LOWER,
    NAMEREF,
    READONLY,
    TRACE,
    UPPER,
    Variable,
)
from planaria_shell.syntax.cursor import ansi_c
from planaria_shell.syntax.quoting import double_quoted, single_quoted

__all__ = ["attributes", "change_case", "declaration", "remover", "replace", "substring", "transform"]


@lru_cache(maxsize=1024)
def remover(operator: str, pattern: str, extglob: bool) -> Callable[[str], str]:
    """The function that `#`, `##`, `%` and `%%` apply: it takes the pattern away from one end."""
    if not pattern:
        return lambda value: value
    text = literal_of(pattern, extglob)
    if text is not None:
        if operator[0] == "#":
            return lambda value: value.removeprefix(text)
        return lambda value: value.removesuffix(text)
    if pattern[0] == "*" and operator[0] == "#":
        rest = literal_of(pattern[1:], extglob)
        if rest is not None and not pattern.startswith("*("):
            start: str = rest
            size = len(rest)
            find = str.rfind if operator == "##" else str.find

            def after(value: str) -> str:
                place = find(value, start)
                return value[place + size :] if place >= 0 else value

            return after
    if pattern[-1] == "*" and operator[0] == "%" and pattern[-2:-1] != "\\":
        rest = literal_of(pattern[:-1], extglob)
        if rest is not None:
            find_end = str.find if operator == "%%" else str.rfind

            def before(value: str) -> str:
                place = find_end(value, rest)
                return value[:place] if place >= 0 else value

            return before
    expression = compile_pattern(pattern, extglob)
    if operator[0] == "#":
        longest = operator == "##"

        def prefix(value: str) -> str:
            ends = range(len(value), -1, -1) if longest else range(len(value) + 1)
            for end in ends:
                if expression.fullmatch(value, 0, end):
                    return value[end:]
            return value

        if longest and not (extglob and "(" in pattern):
            # Without alternatives greedy matching finds the longest prefix at once.
            def greedy(value: str) -> str:
                match = expression.match(value)
                return value[match.end() :] if match is not None else value

            return greedy
        return prefix

    def suffix(value: str) -> str:
        starts = range(len(value) + 1) if operator == "%%" else range(len(value), -1, -1)
        for start in starts:
            if expression.fullmatch(value, start):
                return value[:start]
        return value

    return suffix


@lru_cache(maxsize=1024)
def literal_of(pattern: str, extglob: bool) -> str | None:
    """The only text that the pattern matches, or None when there are several."""
    return unescape(pattern) if is_literal(pattern, extglob=extglob) else None


def replace(
    operator: str, value: str, pattern: str, replacement: str, ampersand: str | None, shell: Interpreter
) -> str:
    """`/`, `//`, `/#` and `/%`. `ampersand` is the replacement as a template, when it refers to the match."""
    extglob = "extglob" in shell.shopts
    if not pattern:
        if ampersand is not None:
            replacement = _fill(ampersand, "")
        return replacement + value if operator == "/#" else value + replacement if operator == "/%" else value
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        # A backslash at the end, which escapes nothing, is found nowhere.
        return value
    if not value and operator != "/%" and pattern[0] != "*":
        # Only what begins with a star is looked for in an empty text.
        return ""
    ignore_case = "nocasematch" in shell.shopts
    text = literal_of(pattern, extglob) if ampersand is None and not ignore_case else None
    if text is not None:
        if operator == "//":
            return value.replace(text, replacement)
        if operator == "/":
            return value.replace(text, replacement, 1)
        if operator == "/#":
            return replacement + value[len(text) :] if value.startswith(text) else value
        return value[: len(value) - len(text)] + replacement if value.endswith(text) else value
    expression = compile_pattern(pattern, extglob, ignore_case)

    def new(matched: str) -> str:
        return replacement if ampersand is None else _fill(ampersand, matched)

    if operator == "/#":
        match = expression.match(value)
        return new(match.group()) + value[match.end() :] if match else value
    if operator == "/%":
        for start in range(len(value) + 1):
            if expression.fullmatch(value, start):
                return value[:start] + new(value[start:])
        return value
    if operator == "/":
        match = expression.search(value)
        if match is None:
            return value
        return value[: match.start()] + new(match.group()) + value[match.end() :]
    pieces: list[str] = []
    position = 0
    while position <= len(value):
        match = expression.search(value, position)
        if match is None:
            break
        if match.end() == match.start():
            # A pattern that matches nothing is replaced where something could stand.
            if match.start() >= len(value):
                if not value:
                    pieces.append(new(""))
                break
            pieces.append(value[position : match.start()] + new("") + value[match.start()])
            position = match.start() + 1
            continue
        pieces.append(value[position : match.start()] + new(match.group()))
        position = match.end()
        if position == len(value):
            break
    pieces.append(value[position:])
    return "".join(pieces)


def _fill(template: str, matched: str) -> str:
    """`&` in a replacement is the match, `\\&` an ampersand (shopt patsub_replacement)."""
    result: list[str] = []
    position = 0
    while position < len(template):
        char = template[position]
        if char == "\\" and position + 1 < len(template) and template[position + 1] in "&\\":
            result.append(template[position + 1])
            position += 2
            continue
        result.append(matched if char == "&" else char)
        position += 1
    return "".join(result)


def change_case(operator: str, value: str, pattern: str, extglob: bool) -> str:
    """`^`, `^^`, `,`, `,,`, `~` and `~~`: only characters that match the pattern."""
    if operator[0] == "^":
        change = upper_case
    elif operator[0] == ",":
        change = lower_case
    else:
        change = swapped_case
    if not pattern or pattern == "?":
        if len(operator) == 2:
            return change(value)
        return change(value[:1]) + value[1:]
    expression = compile_pattern(pattern, extglob)
    if len(operator) == 2:
        return "".join(change(char) if expression.fullmatch(char) else char for char in value)
    return change(value[0]) + value[1:] if value and expression.fullmatch(value[0]) else value


def substring(value: str, offset: int, length: int | None, source: str) -> str:
    """`${name:offset:length}` of a text; `source`: how the length is written."""
    if offset < 0:
        offset += len(value)
        if offset < 0:
            return ""
    if offset > len(value):
        return ""
    if length is None:
        return value[offset:]
    if length < 0:
        end = len(value) + length
        if end < offset:
            raise NegativeLengthError(source)
        return value[offset:end]
    return value[offset : offset + length]


def attributes(variable: Variable) -> str:
    """The letters of `${x@a}` and of `declare -p`."""
    flags = variable.flags
    letters = (
        (INDEXED, "a"), (ASSOCIATIVE, "A"), (INTEGER, "i"), (NAMEREF, "n"), (READONLY, "r"), (TRACE, "t"),
        (EXPORT, "x"), (CAPITALIZE, "c"), (LOWER, "l"), (UPPER, "u"),
    )  # fmt: skip
    return "".join(letter for flag, letter in letters if flags & flag)


def declaration(name: str, variable: Variable) -> str:
    """The `declare` command that makes the variable, as `declare -p` prints it."""
    letters = attributes(variable) or "-"
    head = f"declare -{letters} {name}"
    if variable.flags & ASSOCIATIVE:
        if variable.array is None:
            return head
        inner = "".join(f"[{key_quoted(key)}]={double_quoted(value)} " for key, value in variable.pairs())
        return f"{head}=({inner})"
    if variable.flags & INDEXED:
        if variable.array is None:
            return head
        inner = " ".join(f"[{index}]={double_quoted(value)}" for index, value in variable.indexed().items())
        return f"{head}=({inner})"
    if variable.value is None:
        return head
    return f"{head}={double_quoted(variable.value)}"


def key_quoted(key: str) -> str:
    """An associative key as `declare -p` prints it."""
    return double_quoted(key) if key in ("", "@", "*") or _KEY_SPECIAL.search(key) else key


#: What makes a key be written between quotes.
_KEY_SPECIAL = re.compile(r"[\s'\"\\|&;()<>!{}*\[?\]^$`\x00-\x1f\x7f\udc80-\udcff]|\A[#~]|[=:]~")


def transform(shell: Interpreter, letter: str, value: str, name: str) -> str:
    """`@U @u @L @Q @E @P` of one value."""
    if letter == "U":
        return upper_case(value)
    if letter == "u":
        return upper_case(value[:1]) + value[1:]
    if letter == "L":
        return lower_case(value)
    if letter in "QKk":
        return single_quoted(value)
    if letter == "E":
        return ansi_c(value)
    if letter == "P":
        return shell.prompt(value)
    raise BadSubstitutionError(name)
