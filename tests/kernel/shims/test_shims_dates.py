"""`time.strftime` beside the C library of this machine."""

from __future__ import annotations

import datetime
import os
import sys
import time

import pytest

import planaria

FORMATS = [
    f"%{flag}{letter}"
    for letter in "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYZ%"
    for flag in ("", "-", "_", "0", "^", "#", "E", "O", "10", "_6", "03")
]


@pytest.fixture(scope="module")
def session() -> planaria.Session:
    session = planaria.Session()
    session.execute("import datetime, time")
    return session


@pytest.mark.skipif(sys.platform != "linux", reason="compares with the GNU C library")
@pytest.mark.parametrize(
    "moment",
    [(2024, 2, 9, 5, 7, 3, 4, 40, 0), (1999, 12, 31, 23, 59, 59, 4, 365, 0), (2025, 1, 1, 0, 0, 0, 2, 1, 0)],
)
def test_conversions(
    session: planaria.Session,
    moment: tuple[int, int, int, int, int, int, int, int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every conversion, with flags, a width or a modifier, gives what the GNU C library gives."""
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()
    expected = {form: time.strftime(form, moment) for form in FORMATS}
    assert session.execute(f"{{form: time.strftime(form, {moment}) for form in {FORMATS}}}").value == expected


def test_datetime(session: planaria.Session) -> None:
    """`datetime` formats by the same conversions."""
    moment = datetime.datetime(2024, 2, 9, 17, 7, 3)
    code = "f'{datetime.datetime(2024, 2, 9, 17, 7, 3):%l:%M %P on %^a, %-d %B}'"
    assert session.execute(code).value == f"{moment:%l:%M %P on %^a, %-d %B}" == " 5:07 pm on FRI, 9 February"


def test_unknown_conversion(session: planaria.Session) -> None:
    """A conversion that there is not stays as it is, and the rest is formatted."""
    assert (
        session.execute("time.strftime('%v %H %Ed %', (2024, 2, 9, 5, 7, 3, 4, 40, 0))").value
        == "%v 05 %Ed %"
    )


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("time.strftime('%P', (1, 2))", "TypeError"),
        ("time.strftime('%P', (2024, 13, 9, 5, 7, 3, 4, 40, 0))", "ValueError"),
        ("time.strftime(7)", "TypeError"),
        ("time.strftime('%99999999999P')", "OverflowError"),
    ],
)
def test_errors(session: planaria.Session, code: str, error: str) -> None:
    """What is wrong with the arguments is the same error as for other formats."""
    result = session.run(code)
    assert result.error is not None
    assert result.error.type == error


def test_now(session: planaria.Session) -> None:
    """Without a time it is the present one, and the shell's own formats are these."""
    assert session.execute("time.strftime('%k:%P')").value in [
        f"{hour:2}:{half}" for hour in range(24) for half in ("am", "pm")
    ]
    assert session.bash("printf '%(%k %P)T\\n' 0").stdout == " 0 am\n"
