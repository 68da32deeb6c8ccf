"""`cal`: a calendar."""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime

from planaria_shell.toolkit.dates.calendar_names import MONTHS
from planaria_shell.toolkit.dates.zones import local_zone
from planaria_shell.toolkit.invocation import Invocation, command


def _weeks(year: int, month: int, first: int, julian: bool) -> list[str]:
    """The lines of a month: names of days, then six weeks; the change of calendar of 1752 included."""
    size = 3 if julian else 2
    names = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"]
    names = names[first:] + names[:first]
    lines = [" ".join(name.rjust(size) for name in names)]
    days = _days(year, month)
    lead = (_weekday(year, month) - first) % 7
    cells: list[str] = [" " * size] * lead
    for day in days:
        number = _day_of_year(year, month, day) if julian else day
        cells.append(str(number).rjust(size))
    for start in range(0, 42, 7):
        week = cells[start : start + 7]
        lines.append(" ".join(week + [" " * size] * (7 - len(week))))
    return lines


def _leap(year: int) -> bool:
    return year % 4 == 0 if year <= 1752 else calendar.isleap(year)


def _days(year: int, month: int) -> list[int]:
    last = [31, 29 if _leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    days = list(range(1, last + 1))
    if (year, month) == (1752, 9):
        return [day for day in days if not 3 <= day <= 13]
    return days


def _day_of_year(year: int, month: int, day: int) -> int:
    before = sum(len(_days(year, earlier)) for earlier in range(1, month))
    return before + _days(year, month).index(day) + 1


def _weekday(year: int, month: int) -> int:
    """The weekday, Sunday being 0, on which a month starts."""
    if (year, month) > (1752, 9):
        return (date(year, month, 1).weekday() + 1) % 7
    # Before the change: the Julian calendar, which has a leap year each four.
    shift = (14 - month) // 12
    years = year - shift
    months = month + 12 * shift - 2
    return (5 + 1 + years + years // 4 + 31 * months // 12) % 7


def _month_block(year: int, month: int, first: int, julian: bool, *, with_year: bool) -> list[str]:
    weeks = _weeks(year, month, first, julian)
    title = f"{MONTHS[month - 1]} {year}" if with_year else MONTHS[month - 1]
    width = len(weeks[0])
    return [_center(title, width), *weeks]


def _center(text: str, width: int) -> str:
    left = (width - len(text)) // 2
    return (" " * max(left, 0) + text).ljust(width)


def _beside(blocks: list[list[str]]) -> list[str]:
    return ["  ".join(parts) + "  " for parts in zip(*blocks, strict=True)]


@command(
    "cal",
    "ncal",
    short="13A:B:hjmsNCbMSy",
    long="one=1 three=3 sunday=s monday=M julian=j year=y help version",
    usage="[OPTION]... [[[DAY] MONTH] YEAR]",
    version="cal from util-linux 2.38.1\n",
)
def cal(call: Invocation) -> int:
    """Print calendars of months; weeks start on Sunday (-m: Monday)."""
    process, arguments = call.process, call.arguments
    today = datetime.now(local_zone(process.env))
    year, month, whole_year = today.year, today.month, arguments.has("y")
    operands = arguments.operands
    if len(operands) == 1:
        number = _month_number(operands[0])
        if number is not None and not operands[0].isdigit():
            month = number
        elif not operands[0].isdigit():
            process.error(f"{operands[0]} is neither a month number (1..12) nor a name")
            return 64
        else:
            year, whole_year = int(operands[0]), True
    elif len(operands) >= 2:
        number = _month_number(operands[-2])
        if number is None:
            process.error(f"{operands[-2]} is neither a month number (1..12) nor a name")
            return 64
        month, year = number, int(operands[-1]) if operands[-1].isdigit() else 0
    if not 1 <= year <= 9999:
        process.error(f"year `{operands[-1] if operands else year}' not in range 1..9999")
        return 64
    first = 1 if arguments.has("m", "M") else 0
    julian = arguments.has("j")
    before, after = int(arguments.value("B") or 0), int(arguments.value("A") or 0)
    if arguments.has("3"):
        before, after = max(before, 1), max(after, 1)
    lines: list[str]
    if whole_year:
        per_row = 2 if julian else 3
        lines = [_center(str(year), per_row * (27 if julian else 20)).rstrip()]
        for start in range(1, 13, per_row):
            blocks = [
                _month_block(year, number, first, julian, with_year=False)
                for number in range(start, start + per_row)
            ]
            lines += ([""] if start > 1 else []) + _beside(blocks)
    else:
        numbers = [year * 12 + month - 1 + step for step in range(-before, after + 1)]
        lines = []
        per_row = 2 if julian else 3
        for start in range(0, len(numbers), per_row):
            blocks = [
                _month_block(number // 12, number % 12 + 1, first, julian, with_year=True)
                for number in numbers[start : start + per_row]
            ]
            lines += _beside(blocks)
    process.stdout.write("".join(line + "\n" for line in lines).encode())
    return 0


def _month_number(text: str) -> int | None:
    if re.fullmatch(r"0?[1-9]|1[0-2]", text):
        return int(text)
    for number, name in enumerate(MONTHS, 1):
        if len(text) >= 3 and name.lower().startswith(text.lower()):
            return number
    return None
