"""Elements of arrays as builtins are given them, as one string: `printf -v 'm[$key]'`, `unset 'm[a b]'`.

What stands between the brackets is read as in an assignment, whatever has been expanded in it before:
brackets and quotes in it are balanced, and it is expanded once more. With `shopt -s assoc_expand_once` only
brackets are, and it stands for itself, save in `declare` and its like.
"""

from __future__ import annotations

import re

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.parser import lexer_of

__all__ = ["is_reference", "key_of", "span_of"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN = re.compile(r"[^]\[\\\"'`$]+")


def is_reference(shell: Interpreter, text: str) -> bool:
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
    lexer = lexer_of(text)
    lexer.position = start + 1
    try:
        lexer.subscript()
    except ShellSyntaxError:
        return -1
    found = lexer.position
    return found if found > start + 2 and text[found - 1] == "]" else -1


def key_of(shell: Interpreter, text: str, *, declared: bool = False) -> str:
    """The key of an associative array that a subscript stands for; `declared` by `declare` and its like."""
    if not declared and "assoc_expand_once" in shell.shopts:
        return text
    if _PLAIN.fullmatch(text):
        return text
    return shell.expand_key(text)
