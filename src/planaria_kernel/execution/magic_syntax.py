"""Cells that are not quite Python, rewritten: lines that begin with `%` or `!`, and questions about names.

Only a source that does not compile is rewritten, so that Python keeps its meaning. A line stays one line, and
the numbers of lines stay as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planaria_kernel.execution.magic_names import CELL_MAGICS, LINE_MAGICS, SCRIPT_MAGICS, WRAPPERS

__all__ = ["MAGICS", "Rewritten", "rewritten"]

#: The name by which rewritten code reaches the magics: a function without arguments.
MAGICS: Final = "__planaria_magics__"

_CELL: Final = re.compile(r"\s*%%([A-Za-z_]\w*!?)[ \t]*([^\n]*)(?:\n|$)")
_LINE: Final = re.compile(r"(\s*)(?:([\w.,*\[\]'\" \t]+?)\s*=\s*)?(%|!!?)(?!=)(.*)", re.DOTALL)
_NAME: Final = re.compile(r"\s*([A-Za-z_]\w*)(?:\s+(.*))?", re.DOTALL)
_HELP: Final = re.compile(r"(\s*)(?:(\?{1,2})\s*([%\w.]+)|([%\w.]+)\s*(\?{1,2}))\s*;?\s*")
_STRING: Final = re.compile(r"'''|\"\"\"|'|\"")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A source as Python; `wrapper` is an expression for what its statements run in (a context manager), if
    anything, and `keeps_value` whether the cell still has a value then.
    """

    source: str
    wrapper: str | None = None
    keeps_value: bool = True


def rewritten(source: str) -> Rewritten | None:
    """The source as Python; None when there is nothing in it to rewrite.

    Magics that are not known stay as they are, for the compiler to complain about.
    """
    found = _CELL.match(source)
    if found is not None:
        return _cell(found[1], found[2].strip(), source[found.end() :], source[: found.end()].count("\n"))
    lines = list(_rewrite(source))
    text = "\n".join(lines)
    return None if text == source else Rewritten(text)


def _cell(name: str, argument: str, body: str, before: int) -> Rewritten | None:
    """A cell magic, `before` lines of which stand before its body."""
    if name in WRAPPERS:
        inner = rewritten(body) if body.strip() else None
        text = "\n" * before + (body if inner is None else inner.source)
        if inner is not None and inner.wrapper is not None:
            return None  # one cell magic in another: the compiler will point at it
        return Rewritten(text, f"{MAGICS}().{name}({argument!r})", name != "capture")
    if name in CELL_MAGICS or name in SCRIPT_MAGICS:
        return Rewritten(f"{MAGICS}().run_cell_magic({name!r}, {argument!r}, {body!r})")
    return None


def _rewrite(source: str) -> Iterator[str]:
    """The lines of a source, those that begin a statement rewritten when they are not Python."""
    lines = source.split("\n")
    state = _State()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if state.begins_statement:
            statement, extra = line, 0
            while statement.endswith("\\") and number + extra < len(lines) and _may_be_magic(line):
                statement = statement[:-1] + " " + lines[number + extra].strip()
                extra += 1
            new = _line(statement)
            if new is not None:
                yield new
                yield from [""] * extra
                number += extra
                continue
        state.take(line)
        yield line


def _may_be_magic(line: str) -> bool:
    return _LINE.fullmatch(line) is not None


def _line(line: str) -> str | None:
    """A line as Python, or None."""
    question = _HELP.fullmatch(line)
    if question is not None:
        name = question[3] or question[4]
        detail = len(question[2] or question[5]) - 1
        return f"{question[1]}{MAGICS}().show_help({name!r}, {detail})"
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    indentation, targets, sign, rest = match[1], match[2], match[3], match[4]
    before = f"{indentation}{targets} = " if targets else indentation
    if sign == "!" and not targets:
        return f"{before}{MAGICS}().system({rest.strip()!r})"
    if sign[0] == "!":
        return f"{before}{MAGICS}().getoutput({rest.strip()!r})"
    named = _NAME.fullmatch(rest)
    if named is None or named[1] not in LINE_MAGICS:
        return None
    name, argument = named[1], (named[2] or "").strip()
    if name == "time" and argument:
        return before + _timed(argument, bool(targets))
    return f"{before}{MAGICS}().run_line_magic({name!r}, {argument!r})"


def _timed(code: str, is_assigned: bool) -> str:
    """`%time` of an expression or a statement; in the cell itself, so that it may await."""
    try:
        compile(code, "<time>", "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    except SyntaxError:
        if not is_assigned:
            return f"{MAGICS}().clock(); {code}; {MAGICS}().timed()"
    return f"{MAGICS}().timed({MAGICS}().clock(), ({code}))"


class _State:
    """Where a line of Python leaves off: within brackets, a string, a continued line, or nothing."""

    def __init__(self) -> None:
        self._depth = 0
        self._string = ""
        self._continued = False

    @property
    def begins_statement(self) -> bool:
        return not (self._depth or self._string or self._continued)

    def take(self, line: str) -> None:
        """Go over a line."""
        place = 0
        self._continued = False
        while place < len(line):
            character = line[place]
            if self._string:
                if character == "\\":
                    place += 2
                elif line.startswith(self._string, place):
                    place += len(self._string)
                    self._string = ""
                else:
                    place += 1
                continue
            quote = _STRING.match(line, place)
            if quote is not None:
                self._string = quote[0]
                place = quote.end()
                continue
            if character == "#":
                break
            if character in "([{":
                self._depth += 1
            elif character in ")]}":
                self._depth = max(0, self._depth - 1)
            elif character == "\\" and place == len(line) - 1:
                self._continued = True
            place += 1
        if len(self._string) == 1 and not line.endswith("\\"):
            self._string = ""  # it was not closed: an error of its own
