"""Asynchronous sessions under asyncio and Trio."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import planaria

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """Each test runs under both."""
    return request.param


async def test_executing() -> None:
    """Values, output, errors and shell scripts come back as from a plain session."""
    async with planaria.AsyncSession() as session:
        assert (await session.execute("x = 1; print(x); x + 1")).value == 2
        assert isinstance((await session.run("1 / 0")).error, planaria.ExecutionError)
        assert (await session.bash("echo $((1 + 2))")).stdout == "3\n"
        await session.undo()
        [copy] = await session.fork()
        async with copy:
            assert (await copy.execute("x")).value == 1


async def test_callbacks_run_on_the_loop() -> None:
    """Asynchronous callbacks are awaited on the loop of the caller, together, also when the code blocks."""
    library = []

    async def wait(n: int) -> int:
        await anyio.sleep(0.01)
        library.append(anyio.get_current_task().name is not None)
        return n

    def plain(n: int) -> int:
        return -n

    async with planaria.AsyncSession(callbacks=[wait, plain]) as session:
        code = "import asyncio\nawait asyncio.gather(*[wait(n) for n in range(5)], plain(6))"
        assert (await session.execute(code)).value == [0, 1, 2, 3, 4, -6]
        assert (await session.execute("wait.call(7), plain.call(8)")).value == (7, -8)
    assert library == [True] * 6


async def test_a_callback_that_takes_too_long() -> None:
    """`Limits.callback_timeout` ends an asynchronous callback."""

    async def hang() -> None:
        await anyio.sleep_forever()

    limits = planaria.Limits(callback_timeout=0.05)
    async with planaria.AsyncSession(callbacks=[hang], limits=limits) as session:
        error = (await session.run("await hang()")).error
        assert isinstance(error, planaria.ExecutionError)
        assert error.type == "TimeoutError"


@pytest.mark.parametrize(
    "code", ["while True: pass", "import asyncio; await asyncio.sleep(600)", "await hang()"]
)
async def test_cancelling(code: str) -> None:
    """Cancelling what awaits an execution interrupts the code; the session keeps its state."""
    ended = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(1)

    async with planaria.AsyncSession(callbacks=[hang]) as session:
        await session.execute("x = 1")
        with anyio.move_on_after(0.3) as scope:
            await session.run(f"x = 2\n{code}")
        assert scope.cancelled_caught
        assert (await session.execute("x")).value == 2
        assert not await session.undo()
    assert ended == ([1] if "hang" in code else [])


async def test_leaving_while_cancelled() -> None:
    """A session is closed also when its block is left by a cancellation."""
    with anyio.move_on_after(0.2):
        async with planaria.AsyncSession() as session:
            await anyio.sleep_forever()
    assert session.is_closed


async def test_turns_and_suspended_calls() -> None:
    """Executions wait for each other; one that waits for the world goes on with its answer."""

    async def ask() -> None:
        raise planaria.Suspend("later")

    async with planaria.AsyncSession(callbacks=[ask]) as session:
        async with anyio.create_task_group() as tasks:
            for n in range(3):
                tasks.start_soon(session.run, f"log = [*globals().get('log', []), {n}]")
        assert sorted((await session.execute("log")).value) == [0, 1, 2]
        waiting = await session.start("await ask()")
        await waiting.resolve(waiting.pending[0].id, 5)
        assert (await waiting.result()).value == 5


async def test_tools() -> None:
    """Tools that are functions, plain and asynchronous, are called under both."""

    async def slowly(text: str) -> str:
        """Say it slowly."""
        await anyio.sleep(0.01)
        return text

    def quickly(text: str) -> str:
        """Say it quickly."""
        return text

    async with planaria.AsyncSession(tools=[slowly, quickly]) as session:
        code = "await tools.slowly(text='a'), tools.slowly(text='b'), tools.quickly(text='c')"
        assert (await session.execute(code)).value == ("a", "b", "c")
        assert len(await session.workspace.tools.list()) == 2
