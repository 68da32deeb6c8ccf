"""Times of files in the notations of date(1), in the time zone that the variable TZ names."""

from __future__ import annotations

from datetime import datetime, timedelta

from planaria_shell.toolkit.dates.formatting import format_moment
from planaria_shell.toolkit.dates.parsing import DateError, parse_moment
from planaria_shell.toolkit.dates.zones import UTC, local_zone

__all__ = ["format_time", "local_time", "parse_time"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def local_time(nanoseconds: int, env: dict[str, str]) -> datetime:
    """A moment in nanoseconds since the epoch as local time, to the second."""
    return (_EPOCH + timedelta(seconds=nanoseconds // 10**9)).astimezone(local_zone(env))


def format_time(nanoseconds: int, template: str, env: dict[str, str]) -> str:
    """A moment in nanoseconds since the epoch, written as `date +TEMPLATE` writes it."""
    return format_moment(template, local_time(nanoseconds, env), nanoseconds % 10**9)


def parse_time(text: str, env: dict[str, str], now: int) -> int | None:
    """A date as `date -d` takes it, in nanoseconds since the epoch; None when it is not understood."""
    moment = local_time(now, env)
    try:
        found, nanoseconds = parse_moment(text, moment, now % 10**9, moment.tzinfo or UTC)
    except DateError:
        return None
    return (found - _EPOCH) // timedelta(seconds=1) * 10**9 + nanoseconds
