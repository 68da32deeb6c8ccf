"""Awaiting at the top level, and what asyncio offers."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

import planaria


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("await asyncio.sleep(0.01, 5)", 5),
        ("x = await asyncio.sleep(0, 5)\nx + 1", 6),
        ("await asyncio.gather(asyncio.sleep(0.02, 'a'), asyncio.sleep(0.01, 'b'))", ["a", "b"]),
        ("[await asyncio.sleep(0, i) for i in range(3)]", [0, 1, 2]),
        ("async def f():\n    await asyncio.sleep(0.01)\n    return 7\nasyncio.run(f())", 7),
        ("async def f(): return 7\nx = asyncio.run(f())\ny = asyncio.run(f())\nx + y", 14),
        (
            "async with asyncio.TaskGroup() as group:\n"
            "    tasks = [group.create_task(asyncio.sleep(0.01, i)) for i in range(3)]\n"
            "[task.result() for task in tasks]",
            [0, 1, 2],
        ),
        (
            "try:\n    await asyncio.wait_for(asyncio.sleep(60), 0.01)\n"
            "except TimeoutError:\n    x = 'late'\nx",
            "late",
        ),
        (
            "try:\n    async with asyncio.timeout(0.01): await asyncio.sleep(60)\n"
            "except TimeoutError:\n    x = 'late'\nx",
            "late",
        ),
        ("queue = asyncio.Queue()\nqueue.put_nowait(1)\nawait queue.get()", 1),
        ("async def g():\n    yield 1\n    yield 2\n[i async for i in g()]", [1, 2]),
        ("await asyncio.to_thread(lambda: 3)", 3),
        ("def plain(): return asyncio.run(asyncio.sleep(0.01, 4))\nplain()", 4),
    ],
)
def test_awaiting(session: Any, source: str, value: Any) -> None:
    """What works in an asyncio program works at the top level of a cell."""
    assert session.execute(f"import asyncio\n{source}").value == value


def test_tasks_across_executions(new_session: Callable[..., Any]) -> None:
    """A task begun in one execution goes on when a later one waits, its host calls included."""

    async def slow(x: int) -> int:
        await asyncio.sleep(0.05)
        return x

    session = new_session(callbacks=[slow])
    session.execute(
        "import asyncio\nasync def work():\n    log.append(await slow(1))\n    return await slow(2)\nlog = []"
    )
    session.execute("task = asyncio.create_task(work())\nawait asyncio.sleep(0)")
    assert session.execute("1 + 1").value == 2
    assert session.execute("await task").value == 2
    assert session.execute("log").value == [1]


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_waits_do_not_follow_the_date(
    new_session: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    """Sleeps, timeouts and answers come in their time while the date of the host is set back or ahead."""
    dates = itertools.count(time.time(), step)
    monkeypatch.setattr(time, "time", lambda: next(dates))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(dates) * 1e9))

    async def slow(x: int) -> int:
        await asyncio.sleep(0.01)
        return x

    session = new_session(callbacks=[slow], execution_timeout_ms=20_000)
    session.execute("import asyncio, time, queue, threading\ndates = {time.time()}")
    session.execute("task = asyncio.create_task(asyncio.sleep(0.05, 1))\nawait asyncio.sleep(0)")
    [copy] = session.fork(1)
    restored = type(session).from_snapshot(bytes(session.snapshot_state()), callbacks=[slow])
    for other in (session, copy, restored):
        assert other.execute("await task, await slow(2)").value == (1, 2)
        other.execute("await asyncio.sleep(0.01)\ntime.sleep(0.01)\nthreading.Event().wait(0.01)")
        assert other.run("await asyncio.wait_for(asyncio.sleep(60), 0.01)").error.type == "TimeoutError"
        assert other.run("queue.Queue().get(timeout=0.01)").error.type == "Empty"
        assert other.execute("dates.add(time.time())\nlen(dates)").value == 2
        began = time.monotonic()
        assert isinstance(other.run("while True: time.sleep(0.01)", timeout=0.1).error, planaria.TimeoutError)
        assert time.monotonic() - began >= 0.1
        other.close()


def test_waiting_forever(session: Any) -> None:
    """Code that waits for what cannot come gets an error that says so."""
    error = session.run("import asyncio\nawait asyncio.Event().wait()").error
    assert (error.type, "forever" in error.message) == ("RuntimeError", True)
    assert session.execute("1").value == 1


def test_failures_of_tasks(session: Any) -> None:
    """Exceptions of tasks arrive where they are awaited, those of a group as a group."""
    error = session.run(
        "import asyncio\nasync def bad(): raise ValueError('bad')\n"
        "async with asyncio.TaskGroup() as g:\n    g.create_task(bad())\n    g.create_task(asyncio.sleep(60))"
    ).error
    assert error.type == "ExceptionGroup"
    assert "ValueError: bad" in error.traceback
    results = session.execute(
        "[str(e) for e in await asyncio.gather(bad(), bad(), return_exceptions=True)]"
    ).value
    assert results == ["bad", "bad"]


def test_given_up_calls_are_cancelled(new_session: Callable[..., Any]) -> None:
    """When the code gives up a call, the host's coroutine is cancelled and the session waits for it no
    more.
    """
    begun: set[str] = set()
    ended: list[str] = []

    async def slow(name: str) -> None:
        begun.add(name)
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            ended.append(name)
            raise

    async def runs(name: str) -> None:
        while name not in begun:
            await asyncio.sleep(0.001)

    async def quick() -> int:
        await asyncio.sleep(0.05)
        return 1

    session = new_session(callbacks=[slow, runs, quick])
    source = dedent("""
        import asyncio

        async def end(timeout, name):
            await runs(name)
            timeout.reschedule(0)

        task = asyncio.create_task(slow("first"))
        await runs("first")
        try:
            await asyncio.wait_for(task, 0.01)
        except TimeoutError:
            pass
        task = asyncio.create_task(slow("second"))
        await runs("second")
        task.cancel()
        await quick()
        try:
            async with asyncio.timeout(None) as timeout:
                task = asyncio.create_task(end(timeout, "third"))
                await slow("third")
        except TimeoutError:
            pass
    """)
    result = session.execute(source)
    assert result.callback_invocations == 7
    session.execute("await quick()")  # the loop of the callbacks has had its turn
    assert ended == ["first", "second", "third"]
    assert not session._engine.pending

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[slow, runs, quick]) as s:
            await s.execute(source)
            await asyncio.sleep(0)

    begun.clear()
    ended.clear()
    asyncio.run(main())
    assert ended == ["first", "second", "third"]


_LEAVES = "import asyncio\ntask = asyncio.ensure_future(note(1))\nfor _ in range(50): await asyncio.sleep(0)"
_MAIN = (
    "import asyncio\nasync def main():\n    task = asyncio.create_task(note(1))\n"
    "    for _ in range(50): await asyncio.sleep(0)\nasyncio.run(main())"
)


@pytest.mark.parametrize("kind", ["asynchronous", "plain"])
@pytest.mark.parametrize("source", [_LEAVES, _MAIN])
def test_calls_of_tasks_at_the_end_of_a_sandbox(kind: str, source: str) -> None:
    """A host call that a task has made before the code ended is made, in both kinds of sandbox."""
    noted: list[int] = []

    def note(x: int) -> None:
        noted.append(x)

    async def note_later(x: int) -> None:
        noted.append(x)
        await asyncio.sleep(600)

    function = note if kind == "plain" else note_later
    callbacks = [planaria.Callback("note", function)]
    assert planaria.Sandbox(callbacks=callbacks).run(source).is_ok

    async def main() -> None:
        assert (await planaria.AsyncSandbox(callbacks=callbacks).run(source)).is_ok

    asyncio.run(main())
    assert noted == [1, 1]


def test_calls_of_tasks_at_the_end_of_a_cell(new_session: Callable[..., Any]) -> None:
    """A host call that a task has made before its cell ended is made at once; the task awaits it later."""
    begun = threading.Event()

    async def note(x: int) -> int:
        begun.set()
        return x

    session = new_session(callbacks=[note])
    assert session.execute(_LEAVES).callback_invocations == 1
    assert begun.wait(60)
    assert session.execute("await task").value == 1


@pytest.mark.parametrize("is_stopped", [False, True])
def test_answers_that_come_as_a_cell_ends(is_stopped: bool, new_session: Callable[..., Any]) -> None:
    """A task that outlives its cell gets the answer to its host call also when that came as the cell ended."""

    is_asked = threading.Event()

    def note(x: int) -> int:
        assert is_asked.wait(60)
        return x

    def read_line(prompt: str) -> str:
        is_asked.set()
        end = time.monotonic() + 60
        while not session._engine.host_calls._arrived:
            assert time.monotonic() < end
            time.sleep(0.001)
        if is_stopped:
            session.interrupt()
        return "a line"

    def begin() -> None:
        pass

    session = new_session(callbacks=[note, begin], stdin=read_line)
    source = "import asyncio\ntask = asyncio.ensure_future(note(1))\nawait begin()\ninput()"
    assert session.run(source).is_ok is not is_stopped
    assert session.execute("await task", timeout=60).value == 1
