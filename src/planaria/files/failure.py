"""Making the OSError that Linux would give."""

from __future__ import annotations

import os

__all__ = ["failure"]

# Programs probe for files that are not there all the time, so the message is looked up, not made.
_MESSAGES = {code: os.strerror(code) for code in range(1, 134)}


def failure(code: int, path: bytes | None = None, message: str | None = None) -> OSError:
    """The exception for errno `code` (of the subclass that Python has for it), to be raised."""
    text = message or _MESSAGES.get(code) or os.strerror(code)
    return OSError(code, text) if path is None else OSError(code, text, path)
