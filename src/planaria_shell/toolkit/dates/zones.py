"""Time zones from TZ: names of the zone database, and POSIX rules (`EST5EDT,M3.2.0,M11.1.0`)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UTC = timezone.utc  # noqa: UP017


def local_zone(environment: dict[str, str]) -> tzinfo:
    """The zone that TZ names; UTC where it is unset, empty or means nothing."""
    return named_zone(environment.get("TZ", "")) or UTC


def named_zone(name: str) -> tzinfo | None:
    """A zone by the value of TZ; None when it means nothing."""
    name = name.removeprefix(":")
    if name in ("", "UTC", "UTC0", "GMT", "GMT0", "Etc/UTC"):
        return UTC if name not in ("GMT", "GMT0") else timezone(timedelta(0), "GMT")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    return posix_zone(name)


_NAME = r"(?:<([A-Za-z0-9+-]+)>|([A-Za-z]{3,}))"
_OFFSET = r"([+-]?\d{1,3}(?::\d{1,2}(?::\d{1,2})?)?)"
_RULE = re.compile(
    rf"{_NAME}{_OFFSET}(?:{_NAME}{_OFFSET}?(?:,([^,/]+)(?:/([^,]+))?,([^,/]+)(?:/([^,]+))?)?)?$"
)


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = ([int(part) for part in text.lstrip("+-").split(":")] + [0, 0])[:3]
    return sign * (hours * 3600 + minutes * 60 + seconds)


def posix_zone(text: str) -> tzinfo | None:
    """A zone from a POSIX TZ string; None when it is none."""
    match = _RULE.match(text)
    if match is None:
        return None
    standard = match.group(1) or match.group(2)
    offset = -_seconds(match.group(3))
    summer = match.group(4) or match.group(5)
    if summer is None:
        return timezone(timedelta(seconds=offset), standard)
    summer_offset = -_seconds(match.group(6)) if match.group(6) else offset + 3600
    start, start_time = match.group(7) or "M3.2.0", match.group(8) or "2"
    stop, stop_time = match.group(9) or "M11.1.0", match.group(10) or "2"
    return _RuleZone(
        (standard, offset),
        (summer, summer_offset),
        (start, _seconds(start_time)),
        (stop, _seconds(stop_time)),
    )


class _RuleZone(tzinfo):
    """A zone with summer time by rule."""

    def __init__(
        self,
        standard: tuple[str, int],
        summer: tuple[str, int],
        start: tuple[str, int],
        stop: tuple[str, int],
    ) -> None:
        self._standard = standard
        self._summer = summer
        self._start = start
        self._stop = stop

    def _in_summer(self, moment: datetime) -> bool:
        naive = moment.replace(tzinfo=None)
        start = _day(self._start[0], moment.year) + timedelta(seconds=self._start[1])
        stop = _day(self._stop[0], moment.year) + timedelta(seconds=self._stop[1])
        if moment.fold:  # the second pass through the hour that comes twice
            stop -= timedelta(seconds=self._summer[1] - self._standard[1])
        return start <= naive < stop if start < stop else not stop <= naive < start

    def _of(self, moment: datetime | None) -> tuple[str, int]:
        return self._summer if moment is not None and self._in_summer(moment) else self._standard

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(seconds=self._of(moment)[1])

    def dst(self, moment: datetime | None) -> timedelta:
        return timedelta(seconds=self._of(moment)[1] - self._standard[1])

    def tzname(self, moment: datetime | None) -> str:
        return self._of(moment)[0]

    def fromutc(self, moment: datetime) -> datetime:
        for name, offset in (self._summer, self._standard):
            local = (moment + timedelta(seconds=offset)).replace(fold=0)
            later = local.replace(fold=1)
            if self._of(local) == (name, offset):
                return local
            if self._of(later) == (name, offset):
                return later
        return moment + timedelta(seconds=self._standard[1])


def _day(rule: str, year: int) -> datetime:
    """The day that a rule (`Mm.w.d`, `Jn`, `n`) names in a year."""
    if rule.startswith("M"):
        month, week, weekday = map(int, rule[1:].split("."))
        first = datetime(year, month, 1)
        day = 1 + (weekday - (first.weekday() + 1) % 7) % 7 + (week - 1) * 7
        while True:
            try:
                return datetime(year, month, day)
            except ValueError:
                day -= 7
    number = int(rule.removeprefix("J"))
    if rule.startswith("J"):
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return datetime(year, 1, 1) + timedelta(days=number - 1 + (leap and number >= 60))
    return datetime(year, 1, 1) + timedelta(days=number)
