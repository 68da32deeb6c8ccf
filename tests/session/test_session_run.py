"""A Run by itself: commands out, reports in."""

from __future__ import annotations

from typing import Any

import pytest

from planaria.errors import ProtocolError
from planaria.session.run import HostCall, Run

CALLS = [(1, "f", ("a",), {}), (2, "g", (), {"k": 1})]


def test_life() -> None:
    """A run begins with its command, waits with calls and a timer, goes on with answers, and is over."""
    run = Run("code", 3, "full")
    assert run.can_step
    assert run.command() == ("run", "code", 3, "full")
    assert not run.can_step
    new = run.report(("waiting", CALLS, 60.0, []))
    assert new == list(run.pending.values()) == [HostCall(1, "f", ("a",), {}), HostCall(2, "g", (), {"k": 1})]
    assert (run.status, run.can_step) == ("waiting", False)
    run.resolve(2, "answer")
    run.reject(1, "KeyError", "k")
    assert run.pending == {}
    assert run.can_step
    assert run.command() == ("resume", [(2, True, "answer"), (1, False, ("KeyError", "k"))])
    assert run.wake_at is None
    assert run.report(("done", {})) == []
    assert (run.status, run.is_over, run.can_step) == ("done", True, False)


def test_calls_given_up() -> None:
    """Calls that a report says nobody awaits any more are pending no longer, whatever the report."""
    run = Run("code", 1, "full", {7: HostCall(7, "old")})
    run.command()
    run.report(("waiting", CALLS, None, []))
    run.report(("waiting", [], None, [1, 99]))
    assert list(run.pending) == [7, 2]
    with pytest.raises(KeyError):
        run.resolve(1, None)
    run.report(("error", {"given_up": [2]}))
    assert list(run.pending) == [7]


def test_timers() -> None:
    """A timer that is due lets the run go on without an answer."""
    run = Run("code", 1, "full")
    run.command()
    run.report(("waiting", [], 0.0, []))
    assert run.can_step
    assert run.command() == ("resume", [])
    assert not run.can_step


def test_cancel() -> None:
    """Cancelling is the next command, before answers that have come; what has not begun is over at once."""
    run = Run("code", 1, "full")
    run.command()
    run.report(("waiting", CALLS, None, []))
    run.resolve(1, None)
    run.cancel("KeyboardInterrupt", "")
    assert run.command() == ("cancel", "KeyboardInterrupt", "")
    assert run.command() == ("resume", [(1, True, None)])
    fresh = Run("code", 1, "full")
    fresh.cancel("KeyboardInterrupt", "")
    assert (fresh.status, fresh.can_step) == ("failed", False)


def test_answers_that_cannot_be_sent() -> None:
    """Answers that were refused are sent again as exceptions, the others as they are."""
    run = Run("code", 1, "full")
    run.command()
    run.report(("waiting", CALLS, None, []))
    run.resolve(1, "bad")
    run.resolve(2, "good")
    run.command()
    run.refuse_answers(lambda value: ("TypeError", "no") if value == "bad" else None)
    assert run.can_step
    assert run.command() == ("resume", [(1, False, ("TypeError", "no")), (2, True, "good")])


def test_begin_again() -> None:
    """On another tier the run begins as if nothing had been run."""
    run = Run("code", 1, "core")
    run.command()
    run.begin_again("full", {})
    assert run.command() == ("run", "code", 1, "full")


@pytest.mark.parametrize(
    "report",
    [
        (),
        ("done",),
        ("done", 5),
        ("waiting", [], None),
        ("waiting", [], "soon", []),
        ("waiting", [(1, "f")], None, []),
        ("waiting", [("1", "f", (), {})], None, []),
        ("waiting", 5, None, []),
        ("waiting", [], None, 5),
        ("sleeping",),
    ],
)
def test_bad_reports(report: tuple[Any, ...]) -> None:
    """A report that is not one is refused."""
    with pytest.raises(ProtocolError, match="unknown"):
        Run("code", 1, "full").report(report)
