"""The error of magics."""

from __future__ import annotations

__all__ = ["UsageError"]


class UsageError(Exception):
    """A magic was called in a way that it is not made for."""
