"""Awaited calls of host functions whose answers come at once, which do not park."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from planaria import LimitError, Limits, Session, Suspend


def session_with(*functions: Callable[..., Any], **settings: Any) -> Session:
    return Session(callbacks=functions, **settings)


def quick(number: int = 0) -> int:
    return number + 1


def test_many_calls() -> None:
    """Calls in a row get their own answers, and each is counted."""
    with session_with(quick) as session:
        result = session.run("[await quick(n) for n in range(300)]")
        assert result.value == list(range(1, 301))
        assert result.callback_invocations == 300


@pytest.mark.parametrize(
    "other",
    [
        "asyncio.create_task(later())",
        "asyncio.get_running_loop().call_later(0.001, seen.append, 1)",
        "asyncio.get_running_loop().call_soon(seen.append, 1)",
        "threading.Thread(target=seen.append, args=(1,)).start()",
    ],
)
def test_others_go_on(other: str) -> None:
    """Code that calls quick functions over and over holds up no other task, timer or thread."""
    called = 0

    def count() -> int:
        nonlocal called
        called += 1
        return called

    def slow() -> None:
        while called < 3:
            time.sleep(0.001)

    code = f"""
import asyncio, threading
seen = []
async def later():
    await slow()
    seen.append(1)
task = {other}
while not seen:
    await count()
seen
"""
    with session_with(count, slow, limits=Limits(timeout=20)) as session:
        assert session.execute(code).value == [1]


def test_output_comes_before_the_call() -> None:
    """What was printed before a call is heard before the function is called."""
    heard: list[str] = []

    def note() -> None:
        heard.append("called")

    with session_with(note, on_stdout=heard.append) as session:
        session.execute("print('a')\nawait note()\nprint('b')")
    assert "".join(heard).replace("\n", "") == "acalledb"


def test_long_and_quick_in_turn() -> None:
    """Calls that park and calls that do not can follow each other in any order."""

    def wait(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    with session_with(wait) as session:
        code = "[await wait(s) for s in (0, 0.02, 0, 0, 0.01, 0.003, 0)]"
        assert session.execute(code).value == [0, 0.02, 0, 0, 0.01, 0.003, 0]


def test_exceptions() -> None:
    """What a function raises at once is raised at the await."""

    def fail() -> None:
        raise KeyError("key")

    with session_with(fail) as session:
        code = "try:\n    await fail()\nexcept KeyError as error:\n    found = error.args\nfound"
        assert session.execute(code).value == ("key",)


def test_an_answer_that_cannot_be_sent() -> None:
    """A value that cannot be sent is a TypeError at the await, and the session goes on."""

    def thing() -> object:
        return object()

    with session_with(thing, quick) as session:
        code = "try:\n    await thing()\nexcept TypeError as error:\n    found = str(error)\n(found, await quick())"
        message, number = session.execute(code).value
        assert "thing() returned a value that cannot be serialised" in message
        assert number == 1


def test_the_limit_of_callbacks() -> None:
    """The call beyond the limit is not made, and stops the execution."""
    made: list[int] = []

    with (
        session_with(made.append, limits=Limits(callbacks=3)) as session,
        pytest.raises(LimitError, match="callbacks=3"),
    ):
        session.execute("for n in range(10): await append(n)")
    assert made == [0, 1, 2]


def test_suspending_in_the_middle() -> None:
    """A function that suspends after quick ones leaves the code waiting: it can be forked, and goes on."""

    def ask(number: int) -> int:
        if number == 5:
            raise Suspend("wait")
        return number

    with session_with(ask) as session:
        execution = session.start("[await ask(n) for n in range(8)]")
        assert execution.status == "waiting"
        (copy,) = session.fork()
        for one, answer in ((session, 50), (copy, 60)):
            waiting = one.run_in_progress
            assert waiting is not None
            (call,) = waiting.pending
            waiting.resolve(call.id, answer)
            assert waiting.result().value == [0, 1, 2, 3, 4, answer, 6, 7]


def test_a_time_limit() -> None:
    """A function that does not return does not hold up the end of the time, and the session goes on."""
    release = threading.Event()

    def hang() -> None:
        release.wait(60)

    try:
        with session_with(hang, quick) as session:
            with pytest.raises(TimeoutError):
                session.execute("await quick()\nawait hang()", timeout=0.2)
            assert session.execute("await quick(1)").value == 2
    finally:
        release.set()
