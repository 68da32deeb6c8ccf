"""Dates of jq: broken down times are arrays, from the year to the day of the year."""

from __future__ import annotations

import calendar
import math
import re
import time
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.values import JqError, is_number
from planaria_shell.toolkit.dates.calendar_names import DAYS, MONTHS

UTC = timezone.utc  # noqa: UP017
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone(environment: dict[str, str]) -> tzinfo:
    """The time zone that TZ names; UTC when it is unset or unknown."""
    name = environment.get("TZ", "").removeprefix(":")
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _broken(moment: datetime, fraction: float) -> list[Any]:
    second: int | float = moment.second + fraction if fraction else moment.second
    weekday = (moment.weekday() + 1) % 7
    return [
        moment.year,
        moment.month - 1,
        moment.day,
        moment.hour,
        moment.minute,
        second,
        weekday,
        moment.timetuple().tm_yday - 1,
    ]


def break_down(seconds: Any, name: str, place: tzinfo) -> list[Any]:
    """`gmtime` and `localtime`."""
    if not is_number(seconds):
        raise JqError(f"{name}() requires numeric inputs")
    whole = math.floor(seconds)
    try:
        moment = (_EPOCH + timedelta(seconds=whole)).astimezone(place)
    except OverflowError:
        raise JqError(
            f"error converting number of seconds since epoch to datetime ({shown(seconds)})"
        ) from None
    return _broken(moment, float(seconds) - whole)


def _moment(broken: Any, name: str) -> datetime:
    if not isinstance(broken, list) or len(broken) < 6 or not all(map(is_number, broken)):
        raise JqError(f"{name} requires parsed datetime inputs")
    year, month, day, hour, minute, second = (math.floor(part) for part in broken[:6])
    try:
        start = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        return start + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError):
        raise JqError("invalid gmtime representation") from None


def seconds_of(broken: Any) -> int:
    """`mktime`: seconds since the epoch of a broken down time in UTC."""
    if not isinstance(broken, list):
        raise JqError("mktime requires array inputs")
    moment = _moment(broken, "mktime")
    return math.floor((moment - _EPOCH).total_seconds())


def format_time(broken: Any, layout: Any, name: str, place: tzinfo) -> str:
    """`strftime` and `strflocaltime`."""
    if is_number(broken):
        broken = break_down(broken, "gmtime" if name == "strftime/1" else "localtime", place)
    elif not isinstance(broken, list):
        raise JqError(f"{name} requires parsed datetime inputs")
    if not isinstance(layout, str):
        raise JqError(f"{name} requires a string format")
    moment = _moment(broken, name)
    local = moment.replace(tzinfo=place)
    return re.sub(r"%([-_0^#]?)([EO]?[a-zA-Z%+])", lambda match: _directive(match, local), layout)


def _directive(match: re.Match[str], moment: datetime) -> str:
    flag, letter = match.group(1), match.group(2)[-1]
    text = _format_letter(letter, moment)
    if text is None:
        return match.group()
    if flag == "-":
        return re.sub(r"^[0 ]+(?=\d)", "", text)
    if flag == "_":
        return re.sub(r"^0+(?=\d)", lambda zeros: " " * len(zeros.group()), text)
    return text.upper() if flag == "^" else text


def _format_letter(letter: str, moment: datetime) -> str | None:
    """One conversion of strftime(3) in the C locale."""
    if letter in ("e", "k", "l"):
        number = {"e": moment.day, "k": moment.hour, "l": (moment.hour + 11) % 12 + 1}[letter]
        return f"{number:2d}"
    if letter in "aAbBh":
        name = DAYS[moment.weekday()] if letter in "aA" else MONTHS[moment.month - 1]
        return name if letter in "AB" else name[:3]
    if letter == "s":
        return str(math.floor((moment - _EPOCH).total_seconds()))
    if letter == "Z":
        return moment.tzname() or ""
    if letter == "z":
        return moment.strftime("%z")[:5] or "+0000"
    if letter == "Y":
        return str(moment.year)
    if letter == "C":
        return f"{moment.year // 100:02d}"
    if letter == "P":
        return "am" if moment.hour < 12 else "pm"
    composed = {
        "c": "%a %b %e %H:%M:%S %Y",
        "D": "%m/%d/%y",
        "x": "%m/%d/%y",
        "X": "%H:%M:%S",
        "F": "%Y-%m-%d",
        "T": "%H:%M:%S",
        "R": "%H:%M",
        "r": "%I:%M:%S %p",
    }.get(letter)
    if composed is not None:
        return re.sub(r"%(.)", lambda match: _format_letter(match.group(1), moment) or "", composed)
    fixed = {"n": "\n", "t": "\t", "%": "%"}.get(letter)
    if fixed is not None:
        return fixed
    if letter in "dHIjmMpSUwWyGgVu":
        if letter == "g":
            return f"{moment.isocalendar()[0] % 100:02d}"
        return moment.strftime("%" + letter)
    return None


def parse_time(text: Any, layout: Any) -> list[Any]:
    """`strptime`: a broken down time from text (glibc's conversions; a zone is read and not applied)."""
    if not isinstance(text, str):
        raise JqError("strptime/1 requires string inputs and arguments")
    if not isinstance(layout, str):
        raise JqError("strptime/1 requires string inputs and arguments")
    fields: dict[str, int] = {}
    rest = _parse(text, layout, fields)
    if rest:
        raise JqError(f'date "{text}" does not match format "{layout}"')
    if "epoch" in fields:
        return break_down(fields["epoch"], "gmtime", UTC)
    year = fields.get("year", 1900)
    if "century" in fields:
        year = fields["century"] * 100 + year % 100
    hour = fields.get("hour", 0)
    if "half" in fields:
        hour = hour % 12 + 12 * fields["half"]
    month, day = fields.get("month", 1), fields.get("day", 0 if "month" not in fields else 1)
    if "yday" in fields and "month" not in fields:
        first = datetime(year, 1, 1) + timedelta(days=fields["yday"] - 1)
        month, day = first.month, first.day
    weekday, yday = fields.get("weekday", 0), fields.get("yday", 1) - 1
    if day:
        try:
            start = datetime(year, month, 1) + timedelta(days=day - 1)
            weekday = (start.weekday() + 1) % 7
            yday = (start - datetime(start.year, 1, 1)).days
            if start.year != year:
                yday += 366 if calendar.isleap(year) else 365
        except (ValueError, OverflowError):
            raise JqError(f'date "{text}" does not match format "{layout}"') from None
    return [year, month - 1, day, hour, fields.get("minute", 0), fields.get("second", 0), weekday, yday]


_FIELDS = {
    "Y": ("year", r"[+-]?\d{1,4}"),
    "m": ("month", r"\d{1,2}"),
    "d": ("day", r"\d{1,2}"),
    "e": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "k": ("hour", r"\d{1,2}"),
    "I": ("hour", r"\d{1,2}"),
    "l": ("hour", r"\d{1,2}"),
    "M": ("minute", r"\d{1,2}"),
    "S": ("second", r"\d{1,2}"),
    "j": ("yday", r"\d{1,3}"),
    "C": ("century", r"\d{1,2}"),
    "u": ("weekday", r"[1-7]"),
    "w": ("weekday", r"[0-6]"),
    "s": ("epoch", r"-?\d+"),
    "U": ("week", r"\d{1,2}"),
    "W": ("week", r"\d{1,2}"),
    "V": ("week", r"\d{1,2}"),
}
_LIMITS = {
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 61),
    "yday": (1, 366),
}
_COMPOSED = {
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "R": "%H:%M",
    "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y",
}


def _parse(text: str, layout: str, fields: dict[str, int]) -> str | None:
    """What of `text` is left after the layout; None when it does not fit."""
    position = 0
    rest: str | None = text
    while position < len(layout):
        assert rest is not None
        character = layout[position]
        position += 1
        if character.isspace():
            rest = rest.lstrip()
            continue
        if character != "%":
            if not rest.startswith(character):
                return "unmatched"
            rest = rest[1:]
            continue
        while layout[position : position + 1] in ("E", "O", "-", "_", "0", "^", "#"):
            position += 1
        letter = layout[position : position + 1]
        position += 1
        if letter in _COMPOSED:
            rest = _parse(rest, _COMPOSED[letter], fields)
            if rest == "unmatched":
                return rest
            continue
        rest = _parse_field(rest, letter, fields)
        if rest is None:
            return "unmatched"
    return rest


def _parse_field(rest: str, letter: str, fields: dict[str, int]) -> str | None:
    if letter in _FIELDS:
        name, pattern = _FIELDS[letter]
        match = re.match(r"\s*(" + pattern + ")", rest)
        if match is None:
            return None
        number = int(match.group(1))
        low, high = _LIMITS.get(name, (number, number))
        if not low <= number <= high:
            return None
        fields[name] = number % 7 if letter == "u" else number
        return rest[match.end() :]
    if letter == "y":
        match = re.match(r"\s*(\d{1,2})", rest)
        if match is None:
            return None
        number = int(match.group(1))
        fields["year"] = number + (1900 if number >= 69 else 2000)
        return rest[match.end() :]
    if letter in "aAbBh":
        names = DAYS if letter in "aA" else MONTHS
        rest = rest.lstrip()
        for number, name in enumerate(names):
            for form in (name, name[:3]):
                if rest.lower().startswith(form.lower()):
                    if names is DAYS:
                        fields["weekday"] = (number + 1) % 7
                    else:
                        fields["month"] = number + 1
                    return rest[len(form) :]
        return None
    if letter in "pP":
        match = re.match(r"\s*([ap])m", rest, re.IGNORECASE)
        if match is None:
            return None
        fields["half"] = int(match.group(1).lower() == "p")
        return rest[match.end() :]
    if letter == "z":
        match = re.match(r"\s*(?:Z|[+-]\d\d:?(?:\d\d)?)", rest)
        return None if match is None else rest[match.end() :]
    if letter == "Z":
        match = re.match(r"[A-Za-z]+", rest)
        return rest if match is None else rest[match.end() :]
    if letter in "nt":
        return rest.lstrip()
    return rest[1:] if letter == "%" and rest.startswith("%") else None


def now() -> float:
    return time.time()
