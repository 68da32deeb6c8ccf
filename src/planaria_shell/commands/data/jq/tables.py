"""The tables of jq's builtins, which the modules that have them fill when they are imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

#: Functions of the input and the values of their arguments, by name and number of arguments.
NATIVES: dict[tuple[str, int], Callable[..., Any]] = {}
#: Those that give any number of results.
GENERATORS: dict[tuple[str, int], Callable[..., Iterator[Any]]] = {}


def native(name: str, count: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a builtin that gives one result."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        NATIVES[name, count] = function
        return function

    return register


def generator(name: str, count: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a builtin that gives any number of results."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        GENERATORS[name, count] = function
        return function

    return register
