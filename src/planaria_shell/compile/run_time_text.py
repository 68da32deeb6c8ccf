"""Strings that are expanded while a script runs: prompts, subscripts, texts of builtins."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from planaria_shell.compile.table import new_compiler
from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import DoubleQuoted, Word
from planaria_shell.syntax.parser import lexer_of

__all__ = ["expand_key", "expand_text"]


def expand_text(shell: Interpreter, text: str) -> str:
    """`text` expanded as between double quotes."""
    lexer = lexer_of(text, line=shell.line, extglob="extglob" in shell.shopts)
    lexer.posix = shell.posix
    return new_compiler().words.text(Word([DoubleQuoted(lexer.double_quoted(here_document=True))]))(shell)


def expand_key(shell: Interpreter, text: str) -> str:
    """The key that a subscript of an associative array stands for; what is not well formed is itself."""
    code = _key(text)
    return text if code is None else code(shell)


@lru_cache(maxsize=256)
def _key(text: str) -> Callable[[Interpreter], str] | None:
    lexer = lexer_of(text + "]")
    try:
        word = lexer.subscript()
    except ShellSyntaxError:
        return None
    return new_compiler().words.text(word) if lexer.position > len(text) else None
