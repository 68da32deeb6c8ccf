"""Times of files as people read them, in the time zone that the variable TZ names."""

from __future__ import annotations

import datetime
import re
import time
import zoneinfo

__all__ = ["format_time", "local_time"]

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
