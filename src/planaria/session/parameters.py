"""Misspelled arguments of constructors: a TypeError that names what was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

from planaria.limits import Limits

__all__ = ["suggest_names"]

P = ParamSpec("P")
R = TypeVar("R")

#: What others call it: names in Docker's and similar interfaces.
_ELSEWHERE = {
    "volumes": "mounts",
    "resource_limits": "limits",
    "environment": "env",
    "timeout_ms": "execution_timeout_ms",
    "functions": "callbacks",
    "filesystem": "vfs",
}


def suggest_names(function: Callable[P, R]) -> Callable[P, R]:
    """Have a function refuse unknown keyword arguments with a suggestion. Its signature stays visible."""
    parameters = inspect.signature(function).parameters
    most = sum(one.kind is not inspect.Parameter.KEYWORD_ONLY for one in parameters.values())
    known = [name for name in parameters if name not in ("self", "cls")]
    is_constructor = function.__name__ == "__init__"

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > most or kwargs.keys() - parameters.keys():
            owner = args[0] if isinstance(args[0], type) else type(args[0])
            called = owner.__name__ if is_constructor else f"{owner.__name__}.{function.__name__}"
            if len(args) > most:
                raise TypeError(f"{called}() takes only keyword arguments, as in {called}({known[0]}=...)")
            unknown = next(name for name in kwargs if name not in parameters)
            raise TypeError(
                f"{called}() got an unexpected keyword argument {unknown!r}{_suggestion(unknown, known)}"
            )
        return function(*args, **kwargs)

    return checked


def _suggestion(unknown: str, known: list[str]) -> str:
    if (meant := _ELSEWHERE.get(unknown)) in known:
        return f". Did you mean {meant!r}?"
    limits = [field.name for field in fields(Limits)]
    near = get_close_matches(unknown, [*known, *limits], 1)
    if not near:
        return ""
    if near[0] in known:
        return f". Did you mean {near[0]!r}?"
    return f". Did you mean limits=planaria.Limits({near[0]}=...)?"
