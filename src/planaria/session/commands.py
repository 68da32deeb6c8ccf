"""Functions of the host as commands of the shell."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from planaria.errors import CallbackError
from planaria.session.callbacks import Callback

__all__ = ["as_command"]

#: Exit status, standard output, standard error.
Outcome = tuple[int, bytes, bytes]


def as_command(name: str, function: Callable[..., Any]) -> Callback:
    """The callback by which the shell calls `function(arguments, stdin, environment)`.

    Raises CallbackError when the name cannot be that of a command, or the function is not callable.
    """
    if not isinstance(name, str) or not name or "/" in name or any(one.isspace() for one in name):
        raise CallbackError(f"a command's name is one word without a slash, not {name!r}")
    if not callable(function):
        raise CallbackError(f"command {name!r}: a {type(function).__name__} is not a function")

    if inspect.iscoroutinefunction(function):

        async def command(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> Outcome:
            return _outcome(name, await function(arguments, stdin, environment))

        return Callback("command", command)

    def plain_command(arguments: list[str], stdin: bytes, environment: dict[str, str]) -> Outcome:
        return _outcome(name, function(arguments, stdin, environment))

    return Callback("command", plain_command)


def _outcome(name: str, returned: Any) -> Outcome:
    """What a function returned, in full: text is printed, a number is the status, None is success."""
    match returned:
        case None:
            return 0, b"", b""
        case bool():
            return int(not returned), b"", b""
        case int():
            return returned, b"", b""
        case str() | bytes():
            return 0, _bytes(returned), b""
        case (int(status), (str() | bytes()) as output):
            return status, _bytes(output), b""
        case (int(status), (str() | bytes()) as output, (str() | bytes()) as errors):
            return status, _bytes(output), _bytes(errors)
    raise TypeError(
        f"command {name!r} returned a {type(returned).__name__}; wanted: text, bytes, an exit status, None, "
        "or (status, output) or (status, output, errors)"
    )


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
