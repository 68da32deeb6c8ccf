"""`signal.alarm` and `signal.setitimer` in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import planaria

SETUP = """
import asyncio, signal, time

class Rang(Exception):
    pass

def ring(number, frame):
    raise Rang(number)

def rings(wait):
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        wait()
    except Rang as error:
        return error.args
"""


@pytest.fixture(scope="module")
def timed() -> Iterator[planaria.Session]:
    with planaria.Session() as session:
        session.execute(SETUP)
        yield session


@pytest.mark.parametrize(
    "wait",
    [
        "def wait():\n    while True: pass",
        "def wait(): time.sleep(1000)",
        "async def spin():\n    while True: await asyncio.sleep(0)\ndef wait(): asyncio.new_event_loop().run_until_complete(spin())",
    ],
    ids=["computing", "sleeping", "asyncio"],
)
def test_alarm_ends_a_wait(timed: planaria.Session, wait: str) -> None:
    """SIGALRM reaches the code's handler, whatever the code does, and what that raises can be caught."""
    assert timed.execute(f"{wait}\nrings(wait)", timeout=60).value == (14,)


def test_interval(timed: planaria.Session) -> None:
    """A timer with an interval raises the signal again, and a sleep goes on after a handler that returns."""
    code = """
rung = []
signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
begun = time.monotonic()
time.sleep(0.2)
slept = time.monotonic() - begun
while len(rung) < 3: pass
before, interval = signal.setitimer(signal.ITIMER_REAL, 0)
slept >= 0.2, before > 0, interval, signal.getitimer(signal.ITIMER_REAL)
"""
    assert timed.execute(code, timeout=60).value == (True, True, 0.01, (0.0, 0.0))


def test_timer_ends_with_its_execution(timed: planaria.Session) -> None:
    """`alarm` returns what was left, and the next execution begins without a timer."""
    assert timed.execute("signal.alarm(100), signal.alarm(50), signal.alarm(10)").value == (0, 100, 50)
    assert timed.execute("signal.getitimer(signal.ITIMER_REAL), signal.alarm(0)").value == ((0.0, 0.0), 0)


def test_alarm_without_a_handler(timed: planaria.Session) -> None:
    """Without a handler the signal ends the execution as it ends a program in a shell."""
    code = "signal.signal(signal.SIGALRM, signal.SIG_DFL)\nsignal.setitimer(0, 0.01)\nwhile True: pass"
    result = timed.run(code, timeout=60)
    assert (result.stderr, str(result.error)) == ("Alarm clock\n", "SystemExit: 142")
    ignored = "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(0, 0.01)\ntime.sleep(0.05)\n1"
    assert timed.execute(ignored).value == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("signal.setitimer(3, 1)", "OSError: [Errno 28] Invalid argument"),
        ("signal.setitimer(0, -1)", "OSError: [Errno 28] Invalid argument"),
        ("signal.setitimer(signal.ITIMER_PROF, 1)", "OSError: the sandbox has no timer signal.ITIMER_PROF"),
        ("signal.signal(signal.SIGALRM, 5)", "TypeError: signal handler must be"),
    ],
)
def test_invalid_timers(timed: planaria.Session, code: str, error: str) -> None:
    """What CPython refuses is refused, and the timers of processor time are not there."""
    assert str(timed.run(code).error).startswith(error)


def test_no_timer_where_executions_are_repeated() -> None:
    """A session whose executions can be repeated has no timer, which says what to use."""
    arguments: dict[str, Any] = {"record": True}
    with planaria.Session(**arguments) as session:
        assert "could not be repeated" in str(session.run("import signal; signal.alarm(1)").error)


@pytest.mark.parametrize("number", [-1, 65, 999])
def test_numbers_that_are_not_signals(session: Any, number: int) -> None:
    """raise_signal of a number that is not a signal is an OSError, and of 0 does nothing."""
    result = session.run(f"import signal; signal.raise_signal({number})")
    assert result.error.type == "OSError"
    assert session.execute("signal.raise_signal(0)").value is None
