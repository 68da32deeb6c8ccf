"""The conversions of GNU `date +FORMAT`."""

from __future__ import annotations

import math
import re
from datetime import datetime

from planaria_shell.toolkit.dates.calendar_names import DAYS, MONTHS
from planaria_shell.toolkit.dates.zones import UTC

_DIRECTIVE = re.compile(r"%([-_0^#+]*)(\d*)([EO]?)(:{0,3}[a-zA-Z%+]|$)")

#: Conversions that are put together from others.
_COMPOSED = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%+4Y-%m-%d",
    "h": "%b",
    "r": "%I:%M:%S %p",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
}


def format_moment(layout: str, moment: datetime, nanoseconds: int) -> str:
    """`layout` with its conversions replaced; what is none stays as it is."""

    def replace(match: re.Match[str]) -> str:
        text = _convert(match.group(4), match.group(1), match.group(2), moment, nanoseconds)
        return match.group() if text is None else text

    return _DIRECTIVE.sub(replace, layout)


def _number(value: int, digits: int, pad: str, flags: str, width: str) -> str:
    """A number padded as asked: `-` not at all, `_` with spaces, `0` with zeros."""
    for flag in flags:
        if flag in "-_0+":
            pad = {"-": "", "_": " ", "0": "0", "+": "0"}[flag]
    size = int(width) if width else digits
    if pad == "":
        return str(value)
    text = str(abs(value))
    sign = "-" if value < 0 else ""
    if pad == " ":
        return (sign + text).rjust(size)
    return sign + text.rjust(size - len(sign), "0")


def _text(value: str, flags: str, width: str, letter: str = "") -> str:
    for flag in flags:
        if flag == "^":
            value = value.upper()
        elif flag == "#":
            value = value.lower() if letter in ("p", "Z") else value.upper()
    if width:
        pad = "0" if "0" in flags else " "
        value = value.rjust(int(width), pad)
    return value


def _convert(letter: str, flags: str, width: str, moment: datetime, nanoseconds: int) -> str | None:
    numbers = _numbers(letter, moment)
    if numbers is not None:
        return _number(*numbers, flags, width)
    if letter in ("a", "A"):
        name = DAYS[moment.weekday()]
        return _text(name if letter == "A" else name[:3], flags, width)
    if letter in ("b", "B", "h"):
        name = MONTHS[moment.month - 1]
        return _text(name if letter == "B" else name[:3], flags, width)
    if letter in ("p", "P"):
        name = "AM" if moment.hour < 12 else "PM"
        return _text(name if letter == "p" else name.lower(), flags, width, letter)
    if letter == "N":
        digits = int(width) if width else 9
        return f"{nanoseconds:09d}"[:digits].ljust(digits, "0")
    if letter == "s":
        return _number(
            math.floor((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()), 1, "0", flags, width
        )
    if letter.endswith("z"):
        return _offset(letter, moment, flags, width)
    if letter == "Z":
        return _text(zone_name(moment), flags, width, "Z")
    if letter in _COMPOSED:
        layout = _COMPOSED[letter]
        if letter == "F" and (width or flags):
            year_width = max(int(width) - 6, 4) if width else 4
            layout = f"%{flags}{year_width}Y-%m-%d"
            return format_moment(layout, moment, nanoseconds)
        return _text(format_moment(layout, moment, nanoseconds), flags, width)
    return {"n": "\n", "t": "\t", "%": "%"}.get(letter)


def zone_name(moment: datetime) -> str:
    """The zone's abbreviation; an offset where it has none."""
    name = moment.tzname() or "UTC"
    return re.sub(r"^UTC([+-]\d\d):?(\d\d)?$", lambda match: match.group(1) + (match.group(2) or "00"), name)


def _numbers(letter: str, moment: datetime) -> tuple[int, int, str] | None:
    """The value, the width and the padding of a numeric conversion."""
    iso_year, iso_week, iso_day = moment.isocalendar()
    weekday = (moment.weekday() + 1) % 7
    yday = moment.timetuple().tm_yday
    table: dict[str, tuple[int, int, str]] = {
        "C": (moment.year // 100, 2, "0"),
        "d": (moment.day, 2, "0"),
        "e": (moment.day, 2, " "),
        "g": (iso_year % 100, 2, "0"),
        "G": (iso_year, 4, "0"),
        "H": (moment.hour, 2, "0"),
        "I": ((moment.hour + 11) % 12 + 1, 2, "0"),
        "j": (yday, 3, "0"),
        "k": (moment.hour, 2, " "),
        "l": ((moment.hour + 11) % 12 + 1, 2, " "),
        "m": (moment.month, 2, "0"),
        "M": (moment.minute, 2, "0"),
        "q": ((moment.month + 2) // 3, 1, "0"),
        "S": (moment.second, 2, "0"),
        "u": (iso_day, 1, "0"),
        "U": ((yday + 6 - weekday) // 7, 2, "0"),
        "V": (iso_week, 2, "0"),
        "w": (weekday, 1, "0"),
        "W": ((yday + 6 - moment.weekday()) // 7, 2, "0"),
        "y": (moment.year % 100, 2, "0"),
        "Y": (moment.year, 4, "0"),
    }
    return table.get(letter)


def _offset(letter: str, moment: datetime, flags: str, width: str) -> str:
    """`%z`, `%:z`, `%::z`, `%:::z`."""
    delta = moment.utcoffset()
    total = 0 if delta is None else int(delta.total_seconds())
    sign, total = "-" if total < 0 else "+", abs(total)
    hours, minutes, seconds = total // 3600, total // 60 % 60, total % 60
    colons = letter.count(":")
    if colons == 3:
        rest = f":{minutes:02d}" if minutes or seconds else ""
        rest += f":{seconds:02d}" if seconds else ""
    else:
        rest = (":" if colons else "") + f"{minutes:02d}" + (f":{seconds:02d}" if colons == 2 else "")
    if not colons and ("_" in flags or "-" in flags):
        number = sign + str(hours * 100 + minutes)
        return number if "-" in flags else number.rjust(max(int(width or 0), 5))
    size = max(int(width) - len(rest) - 1, 2) if width else 2
    if "_" in flags:
        return f"{sign}{hours}".rjust(size + 1) + rest
    text = str(hours) if "-" in flags else f"{hours:0{size}d}"
    return sign + text + rest
