"""Times of files as people read them, in the time zone that the variable TZ names."""

from __future__ import annotations

import datetime
import re
import time
import zoneinfo

__all__ = ["format_time", "local_time", "parse_time"]

_FIXED = re.compile(r"<?([A-Za-z+\-0-9]{3,}?)>?(?:([+-]?)(\d{1,2})(?::(\d\d))?(?::(\d\d))?)?")


def _zone(name: str | None) -> datetime.tzinfo | None:
    """The time zone of a value of TZ, None for the machine's own."""
    if name is None:
        return None
    name = name.removeprefix(":")
    if name in ("", "UTC", "UTC0", "GMT", "GMT0"):
        return datetime.timezone(datetime.timedelta(), name.rstrip("0") or "UTC")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    match = _FIXED.match(name)
    if match is None or match[3] is None:
        return datetime.UTC
    # POSIX counts hours west of Greenwich.
    offset = datetime.timedelta(hours=int(match[3]), minutes=int(match[4] or 0), seconds=int(match[5] or 0))
    return datetime.timezone(offset if match[2] == "-" else -offset, match[1])


def local_time(nanoseconds: int, env: dict[str, str]) -> datetime.datetime:
    """A moment in nanoseconds since the epoch as local time."""
    seconds = nanoseconds // 1_000_000_000
    zone = _zone(env.get("TZ"))
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
    if zone is not None:
        return moment.astimezone(zone)
    offset = time.localtime(seconds).tm_gmtoff
    name = time.localtime(seconds).tm_zone
    return moment.astimezone(datetime.timezone(datetime.timedelta(seconds=offset or 0), name or "UTC"))


_NUMERIC_ZONE = re.compile(r"%(:{1,2})z|%(\d*)N|%([ekls])|%(-)([a-zA-Z])")


def format_time(nanoseconds: int, template: str, env: dict[str, str]) -> str:
    """A moment in the notation of date(1): strftime(3) with `%N`, `%:z`, `%s` and `%-d` too."""
    moment = local_time(nanoseconds, env)

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            zone = moment.strftime("%z")
            return f"{zone[:3]}:{zone[3:5]}" + (":00" if match[1] == "::" else "")
        if match[2] is not None:
            return f"{nanoseconds % 1_000_000_000:09d}"[: int(match[2] or 9)]
        if match[3]:
            return {
                "e": f"{moment.day:2d}",
                "k": f"{moment.hour:2d}",
                "l": f"{moment.hour % 12 or 12:2d}",
                "s": str(nanoseconds // 1_000_000_000),
            }[match[3]]
        return moment.strftime("%" + match[5]).lstrip("0") or "0"

    parts = template.split("%%")
    return "%".join(moment.strftime(_NUMERIC_ZONE.sub(replace, part)) for part in parts)


_DATE = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)")
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_RELATIVE = re.compile(
    r"([+-]?\s*\d+|next|last|a|an)?\s*(sec|second|min|minute|hour|day|week|fortnight|month|year)s?(\s+ago)?"
)
_SECONDS = {"sec": 1, "second": 1, "min": 60, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def parse_time(text: str, env: dict[str, str], now: int) -> int | None:
    """A date as `touch -d` takes it, in nanoseconds since the epoch; None when it is not understood.

    Understood are `@SECONDS`, ISO 8601 dates and times with or without a zone, times of the day, the words
    now, today, yesterday and tomorrow, and relative amounts (`2 days ago`, `+1 week`, `last month`).
    """
    rest = text.strip()
    if match := re.fullmatch(r"@(-?\d+)(?:[.,](\d+))?", rest):
        return int(match[1]) * 10**9 + int((match[2] or "").ljust(9, "0")[:9])
    moment = local_time(now, env)
    fraction = now % 10**9
    while rest:
        if match := _DATE.match(rest) or _COMPACT.match(rest):
            groups = [*match.groups(), *[None] * 5][:8]
            year, month, day, hour, minute, second, part, zone = groups
            try:
                moment = moment.replace(
                    year=int(year or 0),
                    month=int(month or 0),
                    day=int(day or 0),
                    hour=int(hour or 0),
                    minute=int(minute or 0),
                    second=int(second or 0),
                )
            except ValueError:
                return None
            fraction = int((part or "0").ljust(9, "0")[:9])
            if zone:
                digits = zone.replace(":", "")
                hours, minutes = (0, 0) if digits.isalpha() else (int(digits[1:3]), int(digits[3:5]))
                offset = datetime.timedelta(hours=hours, minutes=minutes)
                moment = moment.replace(tzinfo=datetime.timezone(-offset if zone[0] == "-" else offset))
        elif match := _TIME_OF_DAY.match(rest):
            moment = moment.replace(hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0))
            fraction = 0
        elif match := re.match(r"now|today|yesterday|tomorrow", rest):
            days = {"yesterday": -1, "tomorrow": 1}.get(match[0], 0)
            moment += datetime.timedelta(days=days)
        elif (match := _RELATIVE.match(rest)) and match[0]:
            moment = _shift(moment, match)
        else:
            return None
        rest = rest[match.end() :].lstrip(" ,")
    return int(moment.replace(microsecond=0).timestamp()) * 10**9 + fraction


def _shift(moment: datetime.datetime, match: re.Match[str]) -> datetime.datetime:
    amount_text = (match[1] or "1").replace(" ", "")
    amount = {"next": 1, "last": -1, "a": 1, "an": 1}.get(amount_text)
    if amount is None:
        amount = int(amount_text)
    if match[3]:
        amount = -amount
    unit = match[2]
    if unit in ("month", "year"):
        months = moment.year * 12 + moment.month - 1 + amount * (12 if unit == "year" else 1)
        first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
        return first + datetime.timedelta(days=moment.day - 1)
    seconds = 14 * 86400 if unit == "fortnight" else _SECONDS[unit]
    return moment + datetime.timedelta(seconds=amount * seconds)
