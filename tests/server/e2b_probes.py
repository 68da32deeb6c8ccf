"""The probes of the methods of E2B's SDKs: what each has to do with a server of ours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

import e2b

__all__ = ["METHODS", "Probe", "class_of", "got", "is_asynchronous", "probe"]

#: Takes a sandbox of either SDK, and fails when the method does something else.
Probe = Callable[[Any], Awaitable[None]]
#: By what an SDK calls a method: on a sandbox, or below it or a class.
METHODS: Final[dict[str, Probe]] = {}


def probe(*names: str) -> Callable[[Probe], Probe]:
    """Register a function as the probe of methods."""

    def register(function: Probe) -> Probe:
        METHODS.update(dict.fromkeys(names, function))
        return function

    return register


async def got(value: Any) -> Any:
    """What a method of either SDK returned."""
    return await value if inspect.isawaitable(value) else value


def is_asynchronous(box: Any) -> bool:
    """Whether a sandbox is of the asynchronous SDK."""
    return isinstance(box, e2b.AsyncSandbox)


def class_of(box: Any, name: str) -> Any:
    """The class of a name in the SDK that a sandbox is of."""
    return getattr(e2b, f"Async{name}" if is_asynchronous(box) else name)
