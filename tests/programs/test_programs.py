"""Small programs of the kinds that people and models write, beside the host's Python."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import planaria

_TEXT: Final = Path(__file__).with_name("programs.txt").read_text()
PROGRAMS: Final = dict(part.split("\n", 1) for part in _TEXT.split("# --- ")[1:])


@pytest.fixture(scope="module")
def session() -> Iterator[planaria.Session]:
    with planaria.Session() as session:
        yield session


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_a_desktop_prints(session: planaria.Session, name: str) -> None:
    """A program prints the same in a session and in the Python that runs this test."""
    native = io.StringIO()
    with contextlib.redirect_stdout(native):
        exec(compile(PROGRAMS[name], name, "exec"), {"__name__": "__main__"})
    (fork,) = session.fork(1)
    with fork:
        result = fork.execute(PROGRAMS[name])
    assert result.stdout == native.getvalue()
