"""Moments from the words that `date -d` understands (GNU coreutils manual, "Date input formats")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from planaria_shell.toolkit.dates.words import month_of, unit_of, weekday_of, year_of
from planaria_shell.toolkit.dates.zones import UTC, named_zone

_RELATIVE_DAYS = {"tomorrow": 1, "yesterday": -1, "today": 0, "now": 0}
_ORDINALS = {
    "last": -1,
    "this": 0,
    "next": 1,
    **dict(
        zip(
            [
                "first",
                "third",
                "fourth",
                "fifth",
                "sixth",
                "seventh",
                "eighth",
                "ninth",
                "tenth",
                "eleventh",
                "twelfth",
            ],
            (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
            strict=True,
        )
    ),
}
_ZONES = {
    "utc": 0,
    "gmt": 0,
    "ut": 0,
    "wet": 0,
    "west": 60,
    "bst": 60,
    "art": -180,
    "brt": -180,
    "brst": -120,
    "nst": -210,
    "ndt": -150,
    "ast": -240,
    "adt": -180,
    "clt": -240,
    "clst": -180,
    "est": -300,
    "edt": -240,
    "cst": -360,
    "cdt": -300,
    "mst": -420,
    "mdt": -360,
    "pst": -480,
    "pdt": -420,
    "akst": -540,
    "akdt": -480,
    "hst": -600,
    "hast": -600,
    "hadt": -540,
    "sst": -720,
    "wat": 60,
    "cet": 60,
    "cest": 120,
    "met": 60,
    "mez": 60,
    "mest": 120,
    "mesz": 120,
    "eet": 120,
    "eest": 180,
    "cat": 120,
    "sast": 120,
    "eat": 180,
    "msk": 180,
    "msd": 240,
    "ist": 330,
    "sgt": 480,
    "kst": 540,
    "jst": 540,
    "gst": 600,
    "nzst": 720,
    "nzdt": 780,
}

_TOKEN = re.compile(
    r"""(?P<space>[\s,]+|\([^()]*\))
    |(?P<time>\d{1,2}:\d{2}(?::\d{1,2}(?:[.,]\d+)?)?)
    |(?P<iso>\d{4,}-\d{1,2}-\d{1,2}(?=$|[^\d-]))
    |(?P<slash>\d+/\d+(?:/\d+)?)
    |(?P<named>\d{1,2}-[A-Za-z]{3,}-\d+)
    |(?P<epoch>@\s*[+-]?\d+(?:[.,]\d+)?)
    |(?P<signed>[+-]\s*\d+(?:[.,]\d+)?)
    |(?P<number>\d+(?:[.,]\d+)?)
    |(?P<word>[A-Za-z]+\.?(?:[A-Za-z]\.)?)
    |(?P<sign>[-+])
    |(?P<colon>:)
    """,
    re.VERBOSE,
)


class DateError(ValueError):
    """Words that name no moment."""


@dataclass(slots=True)
class _Parts:
    date: tuple[int | None, int, int] | None = None
    year_missing: bool = False
    time: tuple[int, int, int, int] | None = None
    offset: int | None = None
    weekday: tuple[int, int] | None = None
    months: int = 0
    days: int = 0
    seconds: float = 0
    nanoseconds: int = 0
    relative: bool = False
    local: bool = False
    seen: list[str] = field(default_factory=list)

    def once(self, what: str) -> None:
        if what in self.seen:
            raise DateError(what)
        self.seen.append(what)


def parse_moment(text: str, now: datetime, now_nanoseconds: int, zone: tzinfo) -> tuple[datetime, int]:
    """The moment that `text` names, in `zone`, and its nanoseconds; raises DateError."""
    text = text.strip()
    prefix = re.match(r'TZ="((?:[^"\\]|\\.)*)"\s*', text)
    if prefix:
        # The zone to read the words in; the result is shown in the zone of the command.
        inner = named_zone(re.sub(r"\\(.)", r"\1", prefix.group(1))) or UTC
        moment, nanoseconds = parse_moment(
            text[prefix.end() :], now.astimezone(inner), now_nanoseconds, inner
        )
        return moment.astimezone(zone), nanoseconds
    epoch = re.fullmatch(r"@\s*([+-]?\d+)(?:[.,](\d+))?", text)
    if epoch:
        return _epoch(epoch, zone)
    parts = _Parts()
    _Reader(text, parts).read()
    try:
        return _compute(parts, now, now_nanoseconds, zone)
    except (OverflowError, ValueError) as error:
        raise DateError(str(error)) from None


def _epoch(match: re.Match[str], zone: tzinfo) -> tuple[datetime, int]:
    whole = int(match.group(1))
    fraction = int((match.group(2) or "").ljust(9, "0")[:9])
    if match.group(1).startswith("-") and fraction:
        whole, fraction = whole - 1, 10**9 - fraction
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)).astimezone(zone), fraction
    except OverflowError:
        raise DateError("out of range") from None


class _Reader:
    """Goes over the words and collects what they say."""

    def __init__(self, text: str, parts: _Parts) -> None:
        self.parts = parts
        self.tokens: list[tuple[str, str]] = []
        # A T between date and time, and a Z at the end, are not words of their own.
        text = re.sub(r"(?<=\d)[Tt](?=\d\d(?::?\d\d)?)", " ", text)
        text = re.sub(r"(?<=\d)[Zz]\b", " UTC", text)
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise DateError(text)
            if match.lastgroup != "space":
                self.tokens.append((str(match.lastgroup), match.group()))
            position = match.end()
        self.position = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self.position + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "")

    def word(self, ahead: int = 0) -> str:
        kind, text = self.peek(ahead)
        return text.lower().rstrip(".") if kind == "word" else ""

    def read(self) -> None:
        while self.position < len(self.tokens):
            kind, text = self.tokens[self.position]
            self.position += 1
            getattr(self, "read_" + kind)(text)

    def read_colon(self, text: str) -> None:
        raise DateError(text)

    def read_sign(self, text: str) -> None:
        """A sign alone says nothing."""

    def read_epoch(self, text: str) -> None:
        raise DateError(text)

    def read_time(self, text: str) -> None:
        hour, minute, *rest = re.split(r"[:]", text)
        second, _, fraction = (rest[0] if rest else "0").replace(",", ".").partition(".")
        self.set_time(int(hour), int(minute), int(second), int(fraction.ljust(9, "0")[:9] or 0))
        kind, following = self.peek()
        if kind == "signed" and "." not in following:
            # As GNU date has it: a signed number after a time is a zone, even before a unit.
            self.position += 1
            self.set_offset(following)

    def followed_by_unit(self) -> bool:
        return unit_of(self.word(1)) is not None

    def set_time(self, hour: int, minute: int, second: int, fraction: int) -> None:
        self.parts.once("time")
        meridian = self.word().replace(".", "")
        if meridian in ("am", "pm"):
            self.position += 1
            if not 1 <= hour <= 12:
                raise DateError("hour")
            hour = hour % 12 + (12 if meridian == "pm" else 0)
        if hour > 23 or minute > 59 or second > 60:
            raise DateError("time")
        self.parts.time = (hour, minute, second, fraction)

    def set_offset(self, text: str) -> None:
        digits = re.sub(r"\D", "", text)
        minutes = int(digits) * 60 if len(digits) <= 2 else int(digits[:-2]) * 60 + int(digits[-2:])
        if self.peek()[0] == "colon" and self.peek(1)[0] == "number" and len(digits) <= 2:
            minutes += int(self.peek(1)[1])
            self.position += 2
        if minutes > 24 * 60:
            raise DateError("zone")
        self.parts.once("zone")
        self.parts.offset = -minutes if text.startswith("-") else minutes

    def read_iso(self, text: str) -> None:
        year, month, day = text.split("-")
        self.set_date(int(year), int(month), int(day))

    def read_slash(self, text: str) -> None:
        numbers = text.split("/")
        if len(numbers) == 2:
            self.set_date(None, int(numbers[0]), int(numbers[1]))
        elif len(numbers[0]) >= 4:
            self.set_date(int(numbers[0]), int(numbers[1]), int(numbers[2]))
        else:
            self.set_date(year_of(numbers[2]), int(numbers[0]), int(numbers[1]))

    def read_named(self, text: str) -> None:
        day, name, year = text.split("-")
        month = month_of(name.lower())
        if month is None:
            raise DateError(text)
        self.set_date(year_of(year), month, int(day))

    def set_date(self, year: int | None, month: int, day: int) -> None:
        self.parts.once("date")
        self.parts.date = (year, month, day)

    def read_signed(self, text: str) -> None:
        unit = unit_of(self.word())
        if unit is None:
            if self.parts.time is not None and "." not in text:
                self.set_offset(text)
                return
            raise DateError(text)
        self.position += 1
        amount = text.replace(" ", "").replace(",", ".")
        self.add_relative(unit, float(amount) if "." in amount else int(amount))

    def add_relative(self, unit: tuple[str, int], amount: float) -> None:
        parts = self.parts
        parts.relative = True
        if self.word() == "ago":
            self.position += 1
            amount = -amount
        elif self.word() == "hence":
            self.position += 1
        if isinstance(amount, float) and unit != ("seconds", 1):
            raise DateError("fraction")
        name, factor = unit
        if name == "seconds" and isinstance(amount, float):
            whole = int(amount // 1)
            parts.seconds += whole
            parts.nanoseconds += round((amount - whole) * 1e9)
        else:
            setattr(parts, name, getattr(parts, name) + int(amount) * factor)

    def read_number(self, text: str) -> None:
        following = self.word()
        unit = unit_of(following)
        if unit is not None:
            self.position += 1
            amount = text.replace(",", ".")
            self.add_relative(unit, float(amount) if "." in amount else int(amount))
            return
        if "." in text or "," in text:
            raise DateError(text)
        month = month_of(following)
        if month is not None:
            self.position += 1
            year = None
            kind, more = self.peek()
            if (
                kind == "number"
                and self.peek(1)[0] != "colon"
                and unit_of(self.word(1)) is None
                and self.word(1) not in ("am", "pm")
            ):
                self.position += 1
                year = year_of(more)
            self.set_date(year, month, int(text))
            return
        weekday = weekday_of(following)
        if weekday is not None and len(text) <= 2:
            self.position += 1
            self.set_weekday(int(text), weekday)
            return
        if following.replace(".", "") in ("am", "pm"):
            self.set_time(int(text), 0, 0, 0)
            return
        parts = self.parts
        if (
            parts.date is not None
            and parts.date[0] is None
            and not parts.relative
            and (parts.time or len(text) > 2)
        ):
            parts.date = (year_of(text), parts.date[1], parts.date[2])
        elif len(text) > 4:
            number = int(text)
            self.set_date(number // 10000, number // 100 % 100, number % 100)
        elif len(text) <= 2:
            self.set_time(int(text), 0, 0, 0)
        else:
            self.set_time(int(text) // 100, int(text) % 100, 0, 0)
            if self.peek()[0] == "signed":
                self.position += 1
                self.set_offset(self.tokens[self.position - 1][1])

    def set_weekday(self, ordinal: int, weekday: int) -> None:
        self.parts.once("weekday")
        self.parts.weekday = (ordinal, weekday)

    def read_word(self, text: str) -> None:
        word = text.lower().rstrip(".")
        if word in _RELATIVE_DAYS:
            self.parts.relative = True
            self.parts.days += _RELATIVE_DAYS[word]
            return
        if word in _ORDINALS:
            self.read_ordinal(_ORDINALS[word])
            return
        month = month_of(word)
        if month is not None:
            self.read_month(month)
            return
        weekday = weekday_of(word)
        if weekday is not None:
            self.set_weekday(0, weekday)
            return
        unit = unit_of(word)
        if unit is not None:
            self.add_relative(unit, 1)
            return
        if word in _ZONES or (len(word) == 1 and word.isalpha() and word != "j"):
            self.read_zone(word)
            return
        if word == "dst" and self.parts.offset is not None:
            self.parts.offset += 60
            return
        raise DateError(text)

    def read_ordinal(self, ordinal: int) -> None:
        following = self.word()
        unit = unit_of(following)
        weekday = weekday_of(following)
        self.position += 1
        if unit is not None:
            self.add_relative(unit, ordinal)
        elif weekday is not None:
            self.set_weekday(ordinal, weekday)
        else:
            raise DateError(following)

    def read_month(self, month: int) -> None:
        kind, text = self.peek()
        if kind == "signed" and text.startswith("-"):
            self.position += 1
            year = None
            if self.peek()[0] == "signed":
                year = year_of(self.peek()[1].lstrip("-"))
                self.position += 1
            self.set_date(year, month, int(text[1:]))
            return
        if kind != "number":
            raise DateError(text)
        self.position += 1
        year = None
        kind, more = self.peek()
        if kind == "number" and len(more) == 4 and unit_of(self.word(1)) is None:
            self.position += 1
            year = year_of(more)
        self.set_date(year, month, int(text))

    def read_zone(self, word: str) -> None:
        self.parts.once("zone")
        if len(word) == 1:
            place = ord(word) - ord("a")
            if word == "z":
                minutes = 0
            elif word <= "m":
                minutes = 60 * (place + 1 - (word > "j"))
            else:
                minutes = -60 * (ord(word) - ord("m"))
            self.parts.offset = minutes
        else:
            self.parts.offset = _ZONES[word]
        kind, text = self.peek()
        if kind == "signed" and not self.followed_by_unit():
            self.position += 1
            base = self.parts.offset
            self.parts.seen.remove("zone")
            self.set_offset(text)
            self.parts.offset += base


def _compute(parts: _Parts, now: datetime, now_nanoseconds: int, zone: tzinfo) -> tuple[datetime, int]:
    year, month, day = now.year, now.month, now.day
    if parts.date is not None:
        year, month, day = parts.date[0] or now.year, parts.date[1], parts.date[2]
    nanoseconds = 0
    if parts.time is not None:
        hour, minute, second, nanoseconds = parts.time
    elif parts.relative and parts.date is None and parts.weekday is None:
        hour, minute, second, nanoseconds = now.hour, now.minute, now.second, now_nanoseconds
    else:
        hour = minute = second = 0
    leap = second == 60
    local = datetime(year, month, day, hour, minute, 59 if leap else second)
    if leap:
        local += timedelta(seconds=1)
    if parts.weekday is not None and parts.date is None:
        ordinal, weekday = parts.weekday
        ahead = (weekday - local.weekday()) % 7
        ahead += 7 * (ordinal - (ordinal > 0 and local.weekday() != weekday))
        local += timedelta(days=ahead)
    if parts.months or parts.days:
        months = local.year * 12 + local.month - 1 + parts.months
        first = local.replace(year=months // 12, month=months % 12 + 1, day=1)
        local = first + timedelta(days=local.day - 1 + parts.days)
    if parts.offset is None:
        placed = local.replace(tzinfo=zone)
        moment = placed.astimezone(UTC)
        if not parts.seen:
            # Only relative words: whether it is summer time stays as it is now, as mktime(3) has it.
            moment += (placed.dst() or timedelta(0)) - (now.dst() or timedelta(0))
    else:
        moment = local.replace(tzinfo=UTC) - timedelta(minutes=parts.offset)
    nanoseconds += parts.nanoseconds
    moment += timedelta(seconds=int(parts.seconds) + nanoseconds // 10**9)
    return moment.astimezone(zone), nanoseconds % 10**9
