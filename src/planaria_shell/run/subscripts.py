"""Elements of arrays as builtins are told them, by a text: `printf -v 'm[$key]'`, `unset 'm[a b]'`.

What stands between the brackets is read as in an assignment, whatever has been expanded in it before:
brackets and quotes in it are balanced, and it is expanded once more. With `shopt -s assoc_expand_once` only
brackets are, and it stands for itself, save in `declare` and its like.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from planaria_shell.syntax.lexer import ShellSyntaxError
from planaria_shell.syntax.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Callable

    from planaria_shell.run.shell import Shell

__all__ = ["is_reference", "key_of", "span_of"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN = re.compile(r"[^]\[\\\"'`$]+")


def is_reference(shell: Shell, text: str) -> bool:
    """Whether a text is the name of a variable or of an element of one."""
    name = _NAME.match(text)
    if name is None:
        return False
    end = name.end()
    if end == len(text):
        return True
    if text[end] != "[":
        return False
    if "assoc_expand_once" in shell.shopts:
        return _is_balanced(text[end:])
    return span_of(text, end) == len(text)


def _is_balanced(text: str) -> bool:
    """Whether the bracket that a text begins with is closed by its last character, and no sooner."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if not depth:
            return 1 < place == len(text) - 1
    return False


def span_of(text: str, start: int) -> int:
    """Where the subscript that begins at the bracket at `start` ends, behind its bracket; -1 for none."""
    match = _PLAIN.match(text, start + 1)
    if match is not None and text.startswith("]", match.end()):
        return match.end() + 1
    parser = Parser(text)
    parser.position = start + 1
    try:
        parser.subscript()
    except ShellSyntaxError:
        return -1
    found = parser.position
    return found if found > start + 2 and text[found - 1] == "]" else -1


def key_of(shell: Shell, text: str, *, declared: bool = False) -> str:
    """The key of an associative array that a subscript stands for; `declared` by `declare` and its like."""
    if not declared and "assoc_expand_once" in shell.shopts:
        return text
    if _PLAIN.fullmatch(text):
        return text
    code = _code(text)
    return text if code is None else code(shell)


@lru_cache(maxsize=256)
def _code(text: str) -> Callable[[Shell], str] | None:
    from planaria_shell.compile.compiler import Compiler

    parser = Parser(text + "]")
    try:
        word = parser.subscript()
    except ShellSyntaxError:
        return None
    return Compiler().words.text(word) if parser.position > len(text) else None
