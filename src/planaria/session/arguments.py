"""The arguments of a session: which cannot be, and what others mean."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from planaria.executors.executor import Executor
from planaria.files.quota import Quota
from planaria.files.storage import Mount, VfsStorage
from planaria.limits import NOT_GIVEN, Limits, NotGiven

__all__ = [
    "as_input",
    "check_arguments",
    "check_keywords",
    "line_reader",
    "refuse_beside",
    "seconds_of",
    "usual_limits",
]


def check_keywords(
    called: str, arguments: tuple[Any, ...], keywords: Iterable[str], known: Sequence[str]
) -> None:
    """Raise TypeError, with a suggestion, for what `called` is not made with: `known` are its keywords."""
    if arguments:
        raise TypeError(f"{called}() takes keyword arguments only, as in {called}({known[0]}=...)")
    for name in keywords:
        if name in known:
            continue
        bounds = [field.name for field in fields(Limits)]
        near = get_close_matches(name, [*known, *bounds], 1)
        if not near:
            hint = ""
        elif near[0] in known:
            hint = f". Did you mean {near[0]!r}?"
        else:
            hint = f". Did you mean limits=planaria.Limits({near[0]}=...)?"
        raise TypeError(f"{called}() got an unexpected keyword argument {name!r}{hint}")


def check_arguments(
    limits: Any, vfs: Any, mounts: Any, quota: Any, env: Any, seed: Any, listeners: Mapping[str, Any]
) -> tuple[Mount, ...]:
    """Raise TypeError or ValueError, with the name of the argument, for the first that is not usable.

    Returns the mounts, which may have been an iterator.
    """
    for name, value, kind in (("limits", limits, Limits), ("vfs", vfs, VfsStorage), ("quota", quota, Quota)):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name}= is a planaria.{kind.__name__} or None, not a {type(value).__name__}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise TypeError(f"seed= is an int or None, not a {type(seed).__name__}")
    for name, listener in listeners.items():
        if listener is not None and not callable(listener):
            raise TypeError(f"{name}= is a function, not a {type(listener).__name__}")
    _check_environment(env)
    found = (
        tuple(mounts) if isinstance(mounts, Iterable) and not isinstance(mounts, (str, bytes)) else (mounts,)
    )
    for mount in found:
        if not isinstance(mount, Mount):
            raise TypeError(f"mounts= is a list of planaria.Mount, not of {type(mount).__name__}")
    return found


def refuse_beside(executor: Any, sandbox_only: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Raise TypeError for an executor that is none, for arguments that only the sandbox takes, and for those
    of the others that this executor refuses.
    """
    if not isinstance(executor, Executor):
        raise TypeError(f"executor= is a planaria.Executor or None, not a {type(executor).__name__}")
    refused = {**sandbox_only, **{name: others[name] for name in executor.refuses}}
    for name, value in refused.items():
        if value is not None and value is not False and value != ():
            raise TypeError(
                f"{name}= is for the sandbox: leave executor= away, or do without {name}= "
                f"with the {executor.name} executor"
            )


def usual_limits(executor: Any) -> Limits:
    """The limits of a session that was given none; an executor may be set up with another timeout."""
    timeout = getattr(executor, "default_timeout", NOT_GIVEN)
    return Limits() if isinstance(timeout, NotGiven) else Limits(timeout=timeout)


def seconds_of(milliseconds: float | None) -> float | None:
    """`execution_timeout_ms` as `Limits.timeout` has it."""
    if milliseconds is None:
        return None
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)) or not milliseconds > 0:
        raise ValueError(
            f"execution_timeout_ms={milliseconds!r}: milliseconds greater than 0, or None for no bound"
        )
    return milliseconds / 1e3


def as_input(stdin: Any) -> bytes:
    """What a script is given to read. Raises TypeError when it is neither text nor bytes."""
    if isinstance(stdin, str):
        return stdin.encode("utf-8", "surrogateescape")
    if not isinstance(stdin, (bytes, bytearray, memoryview)):
        raise TypeError(f"stdin is text or bytes, not a {type(stdin).__name__}")
    return bytes(stdin)


def line_reader(stdin: str | Callable[[str], str | None] | None) -> Callable[[str], str | None] | None:
    """`stdin=` as a function of the prompt that gives lines without their newline, None at the end."""
    if stdin is None or callable(stdin):
        return stdin
    if not isinstance(stdin, str):
        raise TypeError(f"stdin= is a text or a function of the prompt, not a {type(stdin).__name__}")
    lines = iter(io.StringIO(stdin, newline=None))
    return lambda _prompt: next(lines, None)


def _check_environment(env: Any) -> None:
    if env is None:
        return
    if not isinstance(env, Mapping):
        raise TypeError(f"env= is a dict of names and texts, not a {type(env).__name__}")
    for name, text in env.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"env= has names and texts, both str, not {name!r}: {text!r}")
        if not name or "=" in name or "\0" in name + text:
            raise ValueError(f"env= has {name!r}: a name has no '=', and neither has a null character")
