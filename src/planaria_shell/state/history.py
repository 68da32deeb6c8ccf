"""The lines that were run, as the history keeps them."""

from __future__ import annotations

from typing import Protocol

__all__ = ["HistoryOwner", "shorten_history"]


class HistoryOwner(Protocol):
    """A shell with a history."""

    history: list[str]
    history_base: int


def shorten_history(shell: HistoryOwner, size: str, *, renumber: bool = False) -> None:
    """Forget the oldest lines beyond so many. The others keep their numbers, unless the size has just been
    set: then they begin with the number of those that have gone (stifle_history(3))."""
    if size.isdecimal() and len(shell.history) > int(size):
        surplus = len(shell.history) - int(size)
        del shell.history[:surplus]
        if renumber:
            shell.history_base = surplus
        elif int(size):
            shell.history_base += surplus
