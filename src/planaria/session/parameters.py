"""Misspelled arguments of sessions: what they are called elsewhere, and limits that belong into `limits=`."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from planaria.limits import Limits
from planaria.parameters import suggest_option_names

__all__ = ["suggest_names"]

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

#: Decorates the constructors of sessions, shells and sandboxes.
suggest_names = suggest_option_names((), meanings={**_LIMITS, **_ELSEWHERE})
