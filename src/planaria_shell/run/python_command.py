"""What a function that is a command of the shell may return: the same on the host and in the sandbox."""

from __future__ import annotations

from typing import Any

__all__ = ["Outcome", "exit_outcome", "outcome_of"]

#: Exit status, standard output, standard error.
Outcome = tuple[int, bytes, bytes]


def outcome_of(name: str, returned: Any) -> Outcome:
    """What a function returned, in full: text is printed, a number is the status, None is success.

    Raises TypeError when it returned something else.
    """
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


def exit_outcome(leaving: SystemExit) -> Outcome:
    """What `sys.exit(code)` means: a status, or a message and status 1."""
    match leaving.code:
        case None:
            return 0, b"", b""
        case int(status):
            return status, b"", b""
    return 1, b"", _bytes(f"{leaving.code}\n")


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
