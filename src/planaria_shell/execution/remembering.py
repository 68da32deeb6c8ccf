"""Putting lines into the history, as HISTCONTROL, HISTIGNORE, HISTSIZE and the options of `shopt` have it."""

from __future__ import annotations

import re

from planaria_shell.expand.patterns import escape, matcher
from planaria_shell.state.history import shorten_history
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.history_lines import one_line

__all__ = ["enter_history", "remember"]

#: How many lines are kept when HISTSIZE is not set.
_SIZE = "500"


def remember(shell: Interpreter, source: str) -> None:
    """Put what is about to be run into the history."""
    shell.history_replaced = False
    source = source.lstrip("\n")
    while source.lstrip().startswith("#"):
        # Comments before a command are lines of their own.
        comment, _, source = source.partition("\n")
        enter_history(shell, comment)
    text = source.strip("\n")
    if "\n" not in text:
        enter_history(shell, text)
    elif "cmdhist" not in shell.shopts:
        for line in text.split("\n"):
            enter_history(shell, line)
    else:
        # The line of a here-document's delimiter keeps its newline.
        enter_history(shell, text if "lithist" in shell.shopts else one_line(f"{text}\n"))


def enter_history(shell: Interpreter, text: str) -> None:
    """Put a line into the history, unless it is one that does not belong there."""
    control = (shell.variables.get("HISTCONTROL") or "").split(":")
    spaces = "ignorespace" in control or "ignoreboth" in control
    if not text.strip() or (spaces and text[0] == " ") or _is_ignored(shell, text):
        return
    if "erasedups" in control:
        shell.history = [one for one in shell.history if one != text]
    elif shell.history and shell.history[-1] == text and {"ignoredups", "ignoreboth"} & set(control):
        return
    shell.history.append(text)
    shorten_history(shell, shell.variables.get("HISTSIZE") or _SIZE)


def _is_ignored(shell: Interpreter, text: str) -> bool:
    """Whether HISTIGNORE names the line; `&` in it is the line before."""
    patterns = shell.variables.get("HISTIGNORE")
    if not patterns:
        return False
    before = escape(shell.history[-1]) if shell.history else ""
    extglob = "extglob" in shell.shopts
    return any(
        matcher(re.sub(r"\\&|&", lambda match: "&" if match.group() != "&" else before, one), extglob)(text)
        for one in patterns.split(":")
        if one
    )
