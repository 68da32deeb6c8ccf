"""Whether a function of the host takes the arguments of a call, which both sides look at."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["ArgumentCheck"]

#: Ways of calling that are remembered: those of a function that takes any keywords have no end.
_MOST_WAYS: Final = 64


class ArgumentCheck:
    """Of functions with one signature. Binding depends on how many arguments there are and on their names, so
    each way of calling is bound once.
    """

    __slots__ = ("signature", "taken")

    def __init__(self, signature: inspect.Signature) -> None:
        self.signature = signature
        self.taken: set[int | tuple[object, ...]] = set()
        """The ways of calling that were bound: how many arguments, or their number and the keywords."""

    def __call__(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        """Raise TypeError when the function does not take them."""
        way = len(arguments) if len(keywords) == 0 else (len(arguments), *keywords)
        if way not in self.taken:
            self.signature.bind(*arguments, **keywords)
            if len(self.taken) < _MOST_WAYS:
                self.taken.add(way)
