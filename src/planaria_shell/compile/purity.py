"""Which words change nothing in the shell when they are expanded."""

from __future__ import annotations

import re

from planaria_shell.syntax.nodes import (
    Arithmetic,
    Assignment,
    Command,
    DoubleQuoted,
    Parameter,
    Part,
    ProcessSubstitution,
    Redirect,
    Simple,
    Word,
)

__all__ = ["changes_variables", "is_pure"]

_CHANGES = re.compile(r"(?<![=!<>])=(?!=)|\+\+|--")


def is_pure(node: Command) -> bool:
    """Whether expanding the command's words changes nothing: then no subshell is needed around it."""
    if not isinstance(node, Simple) or node.assignments or not node.words:
        return False
    if any(redirect.variable for redirect in node.redirects):
        return False
    head = node.words[0]
    if not isinstance(head, Word) or head.literal() is None:
        return False
    if (
        head.literal() == "printf"
        and len(node.words) > 1
        and getattr(node.words[1], "source", "").startswith("-")
    ):
        return False
    words = [*node.words, *(redirect.target for redirect in node.redirects)]
    return all(isinstance(word, Word) and all(map(_pure_part, word.parts)) for word in words)


def changes_variables(redirects: list[Redirect]) -> bool:
    """Whether doing the redirections may assign to variables."""
    return any(redirect.variable or not all(map(_pure_part, redirect.target.parts)) for redirect in redirects)


def _pure_part(part: Part) -> bool:
    if isinstance(part, Parameter):
        if part.operator in ("=", ":=") or part.indirect or part.operator.endswith("?"):
            return False
        for word in (part.subscript, part.argument, part.second):
            if word is not None and not (
                all(map(_pure_part, word.parts)) and not _CHANGES.search(word.source)
            ):
                return False
        return True
    if isinstance(part, Arithmetic):
        return not _CHANGES.search(part.expression.source) and all(map(_pure_part, part.expression.parts))
    if isinstance(part, DoubleQuoted):
        return all(map(_pure_part, part.parts))
    return not isinstance(part, ProcessSubstitution | Assignment)
