"""Misspelled arguments of sessions: what they are called elsewhere, and limits that belong into `limits=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Final, ParamSpec, TypeVar

from planaria.limits import Limits
from planaria.parameters import suggest_option_names

__all__ = ["suggest_names", "suggest_session_options"]

P = ParamSpec("P")
R = TypeVar("R")

#: What others call it: names in Docker's and similar interfaces.
_ELSEWHERE: Final = {
    "volumes": "mounts",
    "resource_limits": "limits",
    "environment": "env",
    "timeout_ms": "execution_timeout_ms",
    "functions": "callbacks",
    "filesystem": "vfs",
}

#: Limits, which are not arguments themselves.
_LIMITS: Final = {one.name: f"limits=planaria.Limits({one.name}=...)" for one in fields(Limits)}

_MEANINGS: Final = {**_LIMITS, **_ELSEWHERE}

#: Decorates the constructors of sessions, shells and sandboxes.
suggest_names = suggest_option_names({}, meanings=_MEANINGS)


def suggest_session_options(options: Mapping[str, object]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates what takes arguments of sessions as `**options`, typed by a TypedDict whose annotations are
    given.
    """
    return suggest_option_names(options, meanings=_MEANINGS)
