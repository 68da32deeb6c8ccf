"""The words of date(1) for units, months, days of the week and years."""

from __future__ import annotations

from planaria_shell.toolkit.dates.calendar_names import DAYS, MONTHS

_UNITS = {
    "year": ("months", 12),
    "month": ("months", 1),
    "fortnight": ("days", 14),
    "week": ("days", 7),
    "day": ("days", 1),
    "hour": ("seconds", 3600),
    "minute": ("seconds", 60),
    "min": ("seconds", 60),
    "second": ("seconds", 1),
    "sec": ("seconds", 1),
}


def unit_of(word: str) -> tuple[str, int] | None:
    return _UNITS.get(word) or (_UNITS.get(word[:-1]) if word.endswith("s") else None)


def month_of(word: str) -> int | None:
    for number, name in enumerate(MONTHS, 1):
        lowered = name.lower()
        if word in (lowered, lowered[:3]) or (word == "sept" and number == 9):
            return number
    return None


def weekday_of(word: str) -> int | None:
    extra = {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}
    if word in extra:
        return extra[word]
    for number, name in enumerate(DAYS):
        lowered = name.lower()
        if word in (lowered, lowered[:3]):
            return number
    return None


def year_of(text: str) -> int:
    number = int(text)
    if len(text) <= 2:
        return number + (2000 if number < 69 else 1900)
    return number
