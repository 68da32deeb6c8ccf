"""Executions that wait for the world: start, resolve, reject, step, cancel; Suspend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import planaria
from planaria import Suspend


def ask(question: str = "", **more: Any) -> None:
    raise Suspend(f"about {question}")


async def ask_later(question: str) -> None:
    await asyncio.sleep(0)
    raise Suspend("later")


def double(x: int) -> int:
    return 2 * x


@pytest.fixture
def asking(new_session: Callable[..., Any]) -> Any:
    return new_session(callbacks=[ask, ask_later, double])


def test_to_the_end(asking: Any) -> None:
    """An execution that waits for nothing is over when start returns."""
    run = asking.start("print('x')\nawait double(4)")
    assert (run.status, run.pending, run.next_timer, run.code) == (
        "done",
        [],
        None,
        "print('x')\nawait double(4)",
    )
    assert (run.result().value, run.result().stdout) == (8, "x\n")
    assert asking.run_in_progress is None
    failed = asking.start("1 / 0")
    assert failed.status == "failed"
    assert failed.result().error.type == "ZeroDivisionError"


def test_resolve_and_reject(asking: Any) -> None:
    """Answers from outside go on with the code; each call can be answered once."""
    run = asking.start(
        "print('a')\nx = await ask('one', k=[1])\nprint(x)\n"
        "try:\n    await ask_later('two')\nexcept LookupError as e:\n    print(repr(e))\n"
        "try:\n    await ask()\nexcept RuntimeError as e:\n    print(e)\n'end'"
    )
    assert run.status == "waiting"
    (call,) = run.pending
    assert (call.name, call.args, call.kwargs) == ("ask", ("one",), {"k": [1]})
    assert "ask" in repr(run)
    with pytest.raises(planaria.SessionError, match=r"ask\(\) \(id 1\)"):
        run.result()
    with pytest.raises(KeyError):
        run.resolve(99, 1)
    run.resolve(call.id, {"yes": True})
    with pytest.raises(KeyError):
        run.resolve(call.id, 1)
    run.reject(run.pending[0].id, KeyError("gone"))
    run.reject(run.pending[0].id, "just no")
    assert run.status == "done"
    result = run.result()
    assert result.stdout == "a\n{'yes': True}\nKeyError('gone')\njust no\n"
    assert result.value == "end"
    with pytest.raises(planaria.SessionError, match="over"):
        run.resolve(1, 1)


def test_run_and_execute_that_suspend(asking: Any) -> None:
    """`run` returns what waits, `execute` raises it; until it is over nothing else can be executed."""
    result = asking.run("print('a')\nawait ask('q')")
    assert ([call.name for call in result.suspended], result.is_ok, result.stdout) == (["ask"], False, "a\n")
    with pytest.raises(planaria.SessionBusy, match="waits"):
        asking.run("1")
    with pytest.raises(planaria.SessionBusy):
        asking.clear_state()
    asking.run_in_progress.cancel()
    with pytest.raises(planaria.Suspended, match=r"ask\(\)") as raised:
        asking.execute("await ask('q')")
    assert [call.name for call in raised.value.pending] == ["ask"]
    asking.run_in_progress.resolve(raised.value.pending[0].id, None)
    assert asking.execute("1").value == 1


def test_gather_in_any_order(asking: Any) -> None:
    """Of several calls each can be answered by itself, in any order, while others still wait."""
    run = asking.start("import asyncio\nawait asyncio.gather(ask('a'), double(3), ask('b'), ask_later('c'))")
    first, second, third = run.pending
    assert [call.args[0] for call in run.pending] == ["a", "b", "c"]
    run.resolve(third.id, "C")
    run.resolve(first.id, "A")
    assert run.pending == [second]
    run.resolve(second.id, "B")
    assert run.result().value == ["A", 6, "B", "C"]


def test_timers(asking: Any) -> None:
    """An execution reports its next timer; step fires what is due, result sleeps until the end."""
    run = asking.start(
        "import asyncio\nprint('a')\nawait asyncio.sleep(0.2)\nprint('b')\nawait asyncio.sleep(0.01)\n'end'"
    )
    assert run.status == "waiting"
    assert run.next_timer is not None
    assert 0 < run.next_timer <= 0.2
    assert run.step() == "waiting"
    assert run.result().value == "end"
    late = asking.start(
        "import asyncio\ntry:\n    async with asyncio.timeout(0.05): await ask('x')\nexcept TimeoutError: y = 'late'\ny"
    )
    call = late.pending[0]
    while late.step() == "waiting":
        pass
    assert late.result().value == "late"
    assert late.pending == []
    with pytest.raises(planaria.SessionError):
        late.resolve(call.id, 1)


def test_calls_given_up(asking: Any) -> None:
    """A call that is awaited no longer is no longer pending while the execution goes on."""
    run = asking.start(
        "import asyncio\ntry:\n    await asyncio.wait_for(ask('first'), 0.01)\nexcept TimeoutError: pass\nawait ask('second')"
    )
    while len(run.pending) != 1 or run.pending[0].args != ("second",):
        run.step()
    run.resolve(run.pending[0].id, "done")
    assert run.result().value == "done"


def test_cancel(asking: Any) -> None:
    """Cancelling raises KeyboardInterrupt where the code waits, and gives what comes of it."""
    run = asking.start("try:\n    await ask('x')\nfinally:\n    print('cleaned')")
    result = run.cancel()
    assert isinstance(result.error, planaria.Interrupted)
    assert result.stdout == "cleaned\n"
    assert (run.status, run.result()) == ("failed", result)
    kept = asking.start("try:\n    await ask('x')\nexcept BaseException: x = 5\nx")
    assert kept.cancel().value == 5


def test_time_stands_still_while_it_is_not_driven(new_session: Callable[..., Any]) -> None:
    """The time of an execution that waits for answers does not pass, and passes again afterwards."""
    import time

    session = new_session(callbacks=[ask], execution_timeout_ms=400)
    run = session.start("await ask('x')\nwhile True: pass")
    time.sleep(0.6)
    assert run.step() == "waiting"
    run.resolve(run.pending[0].id)
    assert isinstance(run.result().error, planaria.TimeoutError)
    for one in session.fork():
        assert one.execute("1").value == 1


def test_blocking_calls_cannot_suspend(asking: Any) -> None:
    """A call that blocks has a stack, which cannot be suspended: the error says to await it."""
    error = asking.run("ask.call('x')").error
    assert (error.type, "await ask" in error.message) == ("RuntimeError", True)


def test_forks_of_what_waits(asking: Any) -> None:
    """Copies of a session whose execution waits each wait for the same calls, and end by themselves."""
    asking.start(
        "import asyncio\nprint('once')\na, b = await asyncio.gather(ask('a'), ask('b'))\nprint(a, b)"
    )
    first = asking.run_in_progress.pending[0]
    asking.run_in_progress.resolve(first.id, 1)
    copies = asking.fork(3)
    for number, copy in enumerate(copies):
        run = copy.run_in_progress
        assert [call.args for call in run.pending] == [("b",)]
        run.resolve(run.pending[0].id, number)
        assert run.result().stdout == f"once\n1 {number}\n"
        assert copy.execute("b").value == number
    assert asking.run_in_progress.status == "waiting"
    late = asking.fork()[0]
    run = late.run_in_progress
    run.resolve(run.pending[0].id, "late")
    assert run.result().is_ok


def test_copies_have_a_timeout(new_session: Callable[..., Any]) -> None:
    """A copy of what waits has the session's time for the rest."""
    session = new_session(callbacks=[ask], execution_timeout_ms=300)
    session.start("await ask('x')\nwhile True: pass")
    copy = session.fork()[0]
    run = copy.run_in_progress
    run.resolve(run.pending[0].id)
    assert isinstance(run.result().error, planaria.TimeoutError)


def test_checkpoints_of_what_waits(asking: Any) -> None:
    """A checkpoint of a waiting execution can be gone back to, and answered differently."""
    asking.start("x = await ask('x')\nx * 2")
    asking.checkpoint("asked")
    seen = []
    for answer in (1, 2):
        run = asking.run_in_progress
        run.resolve(run.pending[0].id, answer)
        seen.append(run.result().value)
        asking.rewind("asked")
    assert seen == [2, 4]
    asking.run_in_progress.cancel()
    assert asking.execute("1").value == 1


def test_background_calls_of_a_copy(new_session: Callable[..., Any]) -> None:
    """A call of a background task that was on its way is pending in a copy, which may answer it."""

    async def slow() -> str:
        await asyncio.sleep(0.2)
        return "real"

    session = new_session(callbacks=[slow])
    session.execute(
        "import asyncio\ntask = asyncio.create_task(slow())\nawait asyncio.sleep(0)\nawait asyncio.sleep(0.001)"
    )
    copy = session.fork()[0]
    run = copy.start("await task")
    assert [call.name for call in run.pending] == ["slow"]
    run.resolve(run.pending[0].id, "mine")
    assert run.result().value == "mine"
    assert copy.fork()[0].execute("await task").value == "mine"
    assert session.execute("await task").value == "real"


def test_with_await() -> None:
    """An asynchronous session has the same executions."""

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[ask, ask_later, double]) as session:
            run = await session.start("x = await ask('a')\ny = await ask_later('b')\nx + y")
            await run.resolve(run.pending[0].id, 1)
            assert (run.status, run.pending[0].name) == ("waiting", "ask_later")
            copy = (await session.fork())[0]
            await run.resolve(run.pending[0].id, 2)
            assert (await run.result()).value == 3
            other = copy.run_in_progress
            assert other is not None
            await other.reject(other.pending[0].id, ValueError("no"))
            assert str((await other.result()).error) == "ValueError: no"
            await copy.close()
            result = await session.run("await ask('c')")
            assert [call.args for call in result.suspended] == [("c",)]
            assert session.run_in_progress is not None
            cancelled = await session.run_in_progress.cancel()
            assert isinstance(cancelled.error, planaria.Interrupted)
            with pytest.raises(planaria.Suspended):
                await session.execute("await ask('d')")
            timer = session.run_in_progress
            assert timer is not None
            assert await timer.step() == "waiting"

    asyncio.run(main())
