"""What every test may use: sessions that are closed afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

# Before planaria is imported: a test run must not start a compilation that outlives it.
os.environ["PLANARIA_BACKGROUND_COMPILE"] = "0"


@pytest.fixture
def new_session() -> Iterator[Callable[..., Any]]:
    """A function that makes sessions, which are closed after the test."""
    import planaria

    made: list[planaria.Session] = []

    def make(**arguments: Any) -> planaria.Session:
        made.append(planaria.Session(**arguments))
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def session(new_session: Callable[..., Any]) -> Any:
    """A session with no particular arguments."""
    return new_session()


# What was started in the background, or with nohup, ignores these signals, and so would each process of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
