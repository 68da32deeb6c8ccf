"""Timestamps as strings: ISO 8601 in UTC, to the microsecond, so that they sort as they follow each other."""

from __future__ import annotations

import datetime

__all__ = ["now", "timestamp"]


def timestamp(seconds: float) -> str:
    """Seconds since 1970 as a string: 2026-11-28T01:05:42.000000+00:00."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="microseconds")


def now() -> str:
    """The present time as a string."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
