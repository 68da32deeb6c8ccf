"""An ExecutionState by itself: commands out, reports in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planaria import HostCall, Limits
from planaria.errors import ProtocolError
from planaria.executors.host_endpoint import HostEndpoint
from planaria.executors.messages import (
    CallAnswer,
    Cancel,
    Command,
    Done,
    Failed,
    Ok,
    Raised,
    Request,
    Resume,
    RunCode,
    RunScript,
    Waiting,
)
from planaria.session.execution_state import ExecutionState
from planaria_kernel.protocol import encode

CALLS = (HostCall(1, "f", ("a",), {}), HostCall(2, "g", (), {"k": 1}))


def new(
    command: RunCode | RunScript | None = None, pending: Mapping[int, HostCall] | None = None
) -> ExecutionState:
    state = ExecutionState(command or RunCode("code", 3), 3, Limits(), None, pending=pending or {})
    state.inside = False
    return state


def entered(state: ExecutionState, report: Done | Failed | Waiting) -> Command:
    """Its next command, which is answered with `report`."""
    command = state.command()
    state.take(report)
    return command


def test_life() -> None:
    """It begins with its command, waits with calls and a timer, goes on with answers, and is over."""
    state = new()
    assert state.can_step
    assert entered(state, Waiting(CALLS, 60.0)) == RunCode("code", 3)
    assert list(state.pending.values()) == list(CALLS)
    assert (state.status, state.can_step) == ("waiting", False)
    state.answer(2, Ok("answer"))
    state.answer(1, Raised("KeyError", "k"))
    assert state.pending == {}
    assert state.can_step
    command = entered(state, Done())
    assert command == Resume((CallAnswer(2, Ok("answer")), CallAnswer(1, Raised("KeyError", "k"))))
    assert state.wake_at is None
    assert (state.status, state.outcome, state.can_step) == ("done", Done(), False)


def test_calls_that_are_abandoned() -> None:
    """Calls that a report says no task awaits any more are pending no longer, whatever the report."""
    state = new(pending={7: HostCall(7, "old")})
    entered(state, Waiting(CALLS))
    entered(state, Waiting(abandoned=(1, 99)))
    assert list(state.pending) == [7, 2]
    with pytest.raises(KeyError):
        state.answer(1, Ok(None))
    state.take(Failed(abandoned=(2,)))
    assert list(state.pending) == [7]


def test_timers() -> None:
    """A timer that is due lets it go on without an answer."""
    state = new()
    entered(state, Waiting(seconds=0.0))
    assert state.can_step
    assert state.command() == Resume()
    assert not state.can_step


def test_cancel() -> None:
    """Cancelling is the next command, before answers that have come; what has not begun is over at once."""
    state = new()
    entered(state, Waiting(CALLS))
    state.answer(1, Ok(None))
    state.interrupt("interrupt")
    assert state.command() == Cancel("KeyboardInterrupt", "")
    assert state.command() == Resume((CallAnswer(1, Ok(None)),))
    for command in (RunCode("code", 1), RunScript("true")):
        fresh = new(command)
        fresh.interrupt("interrupt")
        assert (fresh.status, fresh.can_step) == ("failed", False)


def test_answers_that_cannot_be_sent() -> None:
    """Answers that were refused are sent again as exceptions, the others as they are."""
    state = new()
    entered(state, Waiting(CALLS))
    state.answer(1, Ok("bad"))
    state.answer(2, Ok("good"))
    state.command()
    refusal = Raised("TypeError", "no")
    state.refuse_answers(lambda value: refusal if value == "bad" else None)
    assert state.can_step
    assert state.command() == Resume((CallAnswer(1, refusal), CallAnswer(2, Ok("good"))))


def test_begin_again() -> None:
    """On another tier it begins as if nothing had been run."""
    state = new(RunCode("code", 1, "core", "name"))
    state.command()
    state.collector.output(1, b"x")
    state.begin_again("full", {})
    assert state.command() == RunCode("code", 1, "full", "name")
    assert state.output is None


def test_time_stands_still_while_nothing_drives_it() -> None:
    """While it waits for the world its time does not pass; it has what is left when it goes on."""
    state = ExecutionState(RunCode("code", 1), 1, Limits(), 100.0)
    state.deadline = state.started + 1e9
    state.pause()
    state.deadline = None
    state.go_on()
    left = state.seconds_left()
    assert left is not None
    assert left > 1e8


class _Host:
    """A host that offers nothing."""

    def output(self, descriptor: int, data: bytes) -> None: ...

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None: ...

    def call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Ok:
        return Ok(None)

    def begin_call(self, call: HostCall) -> None: ...

    def input(self, prompt: str) -> Ok:
        return Ok("")

    def receive(self, descriptor: int, buffer: memoryview) -> int:
        return 0

    def send(self, descriptor: int, buffer: memoryview) -> int:
        return 0


@pytest.mark.parametrize(
    "report",
    [
        (),
        ("done",),
        ("done", 5),
        ("done", {"value": "text"}),
        ("error", {"lineno": "1"}),
        ("waiting", [], None),
        ("waiting", [], "soon", []),
        ("waiting", [(1, "f")], None, []),
        ("waiting", [("1", "f", (), {})], None, []),
        ("waiting", 5, None, []),
        ("waiting", [], None, 5),
        ("sleeping",),
        5,
    ],
)
def test_bad_reports(report: object) -> None:
    """A report that is not well formed is refused where it arrives."""
    endpoint = HostEndpoint(_Host())
    endpoint.begin(RunCode("code", 1))
    endpoint.answer(bytes([Request.REPORT]) + encode(report))
    with pytest.raises(ProtocolError, match=r"unknown report|unknown host call"):
        endpoint.ended(None)
