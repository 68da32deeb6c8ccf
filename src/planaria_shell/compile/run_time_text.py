"""Strings that are expanded while a script runs: prompts, subscripts, texts of builtins."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from planaria_shell.compile.table import new_compiler
from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import DoubleQuoted, Literal, Part, Word
from planaria_shell.syntax.parser import lexer_of

__all__ = ["expand_fields", "expand_key", "expand_text"]

#: Ends a text that is read as one word; no text of a shell has it.
_END = "\0"


def expand_text(shell: Interpreter, text: str) -> str:
    """`text` expanded as between double quotes."""
    lexer = lexer_of(text, line=shell.line, extglob="extglob" in shell.shopts)
    lexer.posix = shell.posix
    return new_compiler().words.text(Word([DoubleQuoted(lexer.double_quoted(here_document=True))]))(shell)


def expand_fields(shell: Interpreter, text: str) -> list[str]:
    """`text` cut at the characters of IFS that are not quoted, each word expanded and split, but not globbed.

    This is how `compgen -W` reads its list."""
    lexer = lexer_of(text, line=shell.line, extglob="extglob" in shell.shopts)
    lexer.source += _END
    word = lexer.argument(_END, quoted=False)
    kept = shell.noglob, shell.braceexpand
    shell.noglob, shell.braceexpand = True, False
    try:
        return new_compiler().words.arguments(_cut(word, shell.ifs))(shell)
    finally:
        shell.noglob, shell.braceexpand = kept


def _cut(word: Word, separators: str) -> list[Word]:
    """The words that unquoted separators part a word into."""
    words: list[list[Part]] = [[]]
    for part in word.parts:
        if not isinstance(part, Literal) or not separators:
            words[-1].append(part)
            continue
        first, *others = re.split(f"[{re.escape(separators)}]", part.text)
        for place, piece in enumerate([first, *others]):
            if place:
                words.append([])
            if piece:
                words[-1].append(Literal(piece))
    return [Word(parts, "") for parts in words if parts]


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
