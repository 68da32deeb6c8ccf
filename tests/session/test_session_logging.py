"""What sessions and tools log for an operator."""

from __future__ import annotations

import logging

import pytest

import planaria


def test_executions_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """How each execution ended goes to planaria.session for debugging; a stop is a warning; no text of the code's."""
    caplog.set_level(logging.DEBUG, logger="planaria.session")
    with planaria.Session(limits=planaria.Limits(timeout=0.2)) as session:
        session.run("1/0")
        session.run("raise ValueError('secret')")
        session.execute("x = 1")
        session.run("while True: pass")
        session.undo()
        with planaria.Session.from_snapshot(session.snapshot_state()):
            pass
    lines = [(record.levelname, record.getMessage().partition(" ")[2]) for record in caplog.records]
    said = [(level, text.partition(" ")[2]) for level, text in lines if "execution" in text]
    assert ("DEBUG", "execution 1: ZeroDivisionError") in [(lv, t.partition(" in ")[0]) for lv, t in said]
    assert ("DEBUG", "execution 3: ok") in [(lv, t.partition(" in ")[0]) for lv, t in said]
    assert [lv for lv, t in said if t.startswith("execution 4: ") and "timed out after 0.2 s" in t] == [
        "WARNING"
    ]
    assert any(t.startswith("goes to the state after execution 3") for _, t in said)
    assert any(t.startswith("was restored to the state after execution 3") for _, t in said)
    assert "secret" not in caplog.text


def test_tool_calls_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Calls of tools go to planaria.tools with their outcome, and without their arguments."""

    def pay(amount: int) -> int:
        """Pay."""
        if amount < 0:
            raise ValueError("a secret")
        return amount

    caplog.set_level(logging.INFO, logger="planaria.tools")
    with planaria.Session(tools=[pay]) as session:
        session.run("tools.pay(amount=7)")
        session.run("tools.pay(amount=-7)")
    found = [(record.levelname, record.getMessage().partition(" in ")[0]) for record in caplog.records]
    assert found == [("INFO", "pay: ok"), ("WARNING", "pay: error")]
    assert "secret" not in caplog.text
    assert "7 in" not in caplog.text


def test_nothing_is_printed_without_a_handler(capfd: pytest.CaptureFixture[str]) -> None:
    """Without logging set up, a stopped execution prints nothing on standard error."""
    with planaria.Session(limits=planaria.Limits(timeout=0.2)) as session:
        session.run("while True: pass")
    assert capfd.readouterr().err == ""
