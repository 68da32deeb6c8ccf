"""The names of days and months in the locale C."""

from __future__ import annotations

__all__ = ["DAYS", "MONTHS"]

#: From Monday, as `datetime.weekday()` counts.
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
#: From January.
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
