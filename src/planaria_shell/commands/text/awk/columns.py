"""Numbers of many lines at once, for programs that only calculate with fields.

What takes the time of such a program is the code for each line; here lists of fields become lists of numbers
without any.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from itertools import accumulate

from planaria_shell.commands.text.awk.values import text_number

__all__ = ["numbers", "sum_from", "sum_of", "text_columns", "with_columns"]

#: A field as a number, in the code of a rule.
_NUMBER = re.compile(r"text_number\(\(fields\[(\d+)\] if len\(fields\) > \1 else ''\)\)")
#: A variable to which a column is added.
_SUM = re.compile(r"(\w+) = \(\(\1 or 0\.0\) \+ (n\d+)\)")


def with_columns(body: Iterable[str]) -> tuple[list[str], list[int]]:
    """The lines of a rule's code with variables `n0`, `n1` and so on for fields as numbers, and which."""
    places: set[int] = set()

    def named(found: re.Match[str]) -> str:
        places.add(int(found[1]))
        return f"n{found[1]}"

    return [_NUMBER.sub(named, line) for line in body], sorted(places)


def sum_of(line: str) -> tuple[str, str] | None:
    """The variable and the column, where a line of code only adds one to the other."""
    found = _SUM.fullmatch(line.strip())
    return (found[1], found[2]) if found else None


def text_columns(rows: list[list[str]], places: Iterable[int]) -> list[list[str]]:
    """These fields of all rows, column by column; where one has no such field it is empty."""
    columns = []
    for place in places:
        try:
            columns.append([row[place] for row in rows])
        except IndexError:
            columns.append([row[place] if len(row) > place else "" for row in rows])
    return columns


def numbers(texts: list[str]) -> list[float]:
    """What awk takes each text for as a number."""
    whole = "".join(texts)
    # float() also takes "nan", "infinity", underscores and digits of other scripts.
    if whole.isascii() and not ("_" in whole or "n" in whole or "N" in whole):
        try:
            return list(map(float, texts))
        except ValueError:
            pass  # an empty one, or one with something behind the number
    return list(map(text_number, texts))


def sum_from(start: float, numbers: list[float]) -> float:
    """`start` and the numbers added up one after the other. (`sum` would round differently, and better.)"""
    return deque(accumulate(numbers, initial=start), maxlen=1)[0]
