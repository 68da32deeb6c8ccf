"""Callbacks that run together: threads, event loops, time limits, calls of the session from inside."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import pytest

import planaria
from planaria import Callback


async def later(value: Any = None, seconds: float = 0.01) -> Any:
    await asyncio.sleep(seconds)
    return value


def test_concurrent_awaits(new_session: Callable[..., Any]) -> None:
    """Calls awaited together run together, in both kinds of session: each waits for the others."""

    def meeting(many: int) -> Any:
        waiting: list[asyncio.Future[None]] = []

        async def meet(x: int) -> int:
            future = asyncio.get_running_loop().create_future()
            waiting.append(future)
            if len(waiting) == many:
                for one in waiting:
                    one.set_result(None)
            await future
            return x

        return meet

    source = "import asyncio\nawait asyncio.gather(*(meet(i) for i in range(20)))"
    assert new_session(callbacks=[meeting(20)]).execute(source, timeout=60).value == list(range(20))

    async def main() -> Any:
        async with planaria.AsyncSession(callbacks=[meeting(20)]) as session:
            return (await session.execute(source, timeout=60)).value

    assert asyncio.run(main()) == list(range(20))


def test_plain_functions_meet_in_async_sessions() -> None:
    """Plain callbacks of an asynchronous session run on threads, together when they are awaited together."""
    barrier = threading.Barrier(5)

    def meet() -> int:
        return barrier.wait(60)

    async def main() -> Any:
        async with planaria.AsyncSession(callbacks=[meet]) as session:
            result = await session.execute(
                "import asyncio\nsorted(await asyncio.gather(*(meet() for _ in range(5))))"
            )
            return result.value

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_async_callbacks_run_on_the_callers_loop() -> None:
    """In an asynchronous session a coroutine function runs on the loop that awaits the execution."""
    loops: list[Any] = []

    async def where() -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[where]) as session:
            await session.execute("await where(); where.call()")
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(main())


@pytest.mark.parametrize("call", ["await leave()", "leave.call()"])
def test_exit_of_an_asynchronous_callback(call: str) -> None:
    """An asynchronous callback that exits is an error in the code as a plain one is, and later ones work on."""

    async def leave() -> None:
        sys.exit(3)

    with planaria.Session(callbacks=[leave, later], limits=planaria.Limits(timeout=20)) as session:
        error = session.run(call).error
        assert (error.type, "SystemExit(3)" in error.message) == ("RuntimeError", True)
        assert session.execute("await later(5)").value == 5


def test_reentrance(new_session: Callable[..., Any]) -> None:
    """A callback that wants to use its own session is refused at once, and may use another."""
    other = new_session()

    def inside(what: str) -> Any:
        if what == "other":
            return other.execute("21 * 2").value
        return {
            "run": lambda: session.run("1"),
            "execute": lambda: session.execute("1"),
            "reset": session.reset,
            "clear": session.clear_state,
            "close": session.close,
            "fork": session.fork,
            "undo": session.undo,
            "rewind": lambda: session.rewind(0),
            "checkpoint": lambda: session.checkpoint("x"),
            "start": lambda: session.start("1"),
        }[what]()

    async def inside_later(what: str) -> Any:
        return inside(what)

    session = new_session(callbacks=[inside, inside_later])
    for name in ("await inside", "inside.call", "await inside_later", "inside_later.call"):
        assert session.execute(f"{name}('other')").value == 42
        for what in (
            "run",
            "execute",
            "reset",
            "clear",
            "close",
            "fork",
            "undo",
            "rewind",
            "checkpoint",
            "start",
        ):
            error = session.run(f"{name}('{what}')").error
            assert isinstance(error, planaria.ExecutionError)
            assert "callback" in error.message
    assert session.execute("1").value == 1


def test_reentrance_of_async_sessions() -> None:
    """An asynchronous callback that wants to use its own session is refused at once."""

    async def main() -> None:
        async def inside() -> Any:
            return (await session.run("1")).value

        session = planaria.AsyncSession(callbacks=[inside])
        error = (await session.run("await inside()")).error
        assert error is not None
        assert "callback" in str(error)
        await session.close()

    asyncio.run(main())


def test_listeners_may_not_use_the_session(new_session: Callable[..., Any]) -> None:
    """A function that gets output is refused as well; what it raises is raised on the host."""
    session: planaria.Session = new_session(on_stdout=lambda text: session.clear_state())
    with pytest.raises(planaria.SessionBusy):
        session.execute("print(1)")
    assert session.run("2").value == 2


@pytest.mark.parametrize(
    "call", ["await block()", "block.call()", "import asyncio\nawait asyncio.gather(block())"]
)
def test_blocking_does_not_hold_up_the_time_limit(new_session: Callable[..., Any], call: str) -> None:
    """A plain callback that blocks is left alone at the deadline; its late answer is discarded."""
    release, done = threading.Event(), threading.Event()

    def block() -> str:
        release.wait(600)
        done.set()
        return "late"

    session = new_session(callbacks=[block])
    error = session.run(call, timeout=0.3).error
    assert isinstance(error, planaria.TimeoutError)
    assert error.state == "kept"
    assert not done.is_set()
    release.set()
    assert done.wait(60)
    assert session.execute("await block()").value == "late"


def test_plain_functions_meet(new_session: Callable[..., Any]) -> None:
    """Plain callbacks that are awaited together run side by side, also in a session without `await`."""
    barrier = threading.Barrier(5)

    def meet() -> int:
        return barrier.wait(60)

    gathered = "import asyncio\nsorted(await asyncio.gather(*(meet() for _ in range(5))))"
    assert new_session(callbacks=[meet]).execute(gathered).value == [0, 1, 2, 3, 4]


def test_many_plain_functions(new_session: Callable[..., Any]) -> None:
    """More calls than may run at once are all answered, each with its own value."""
    session = new_session(callbacks=[{"name": "double", "fn": lambda x: 2 * x}])
    gathered = "import asyncio\nawait asyncio.gather(*(double(i) for i in range(500)))"
    assert session.execute(gathered).value == [2 * i for i in range(500)]


def test_functions_of_the_callers_thread(new_session: Callable[..., Any]) -> None:
    """A callback declared for the caller's thread may use what belongs to that thread."""
    database = sqlite3.connect(":memory:")

    def query() -> Any:
        return database.execute("select 7").fetchone()

    session = new_session(callbacks=[Callback("query", query, on_caller_thread=True)])
    assert session.execute("await query(), query.call()").value == ((7,), (7,))
    database.close()


@pytest.mark.parametrize("way", ["future", "join", "queue", "event"])
@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
def test_reentrance_from_another_thread(new_session: Callable[..., Any], call: str, way: str) -> None:
    """A thread that a callback waits for is refused its session, without any time limit."""
    refused: list[str] = []
    messages: queue.Queue[None] = queue.Queue()
    over = threading.Event()

    def use() -> None:
        try:
            session.execute("1")
        except planaria.SessionBusy as error:
            refused.append(str(error))

    def use_and_report() -> None:
        use()
        messages.put(None)
        over.set()

    def inside() -> None:
        with ThreadPoolExecutor(1) as pool:
            if way == "future":
                pool.submit(use).result()
            elif way == "join":
                (thread := threading.Thread(target=use)).start()
                thread.join()
            else:
                threading.Thread(target=use_and_report).start()
                messages.get() if way == "queue" else over.wait()

    session = new_session(callbacks=[inside], limits=planaria.Limits(timeout=None))
    assert session.run(call).is_ok
    assert [("waits for this thread" in one) for one in refused] == [True]


@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
@pytest.mark.parametrize("is_pooled", [False, True], ids=["same thread", "another thread"])
def test_refusal_in_the_code(new_session: Callable[..., Any], call: str, is_pooled: bool) -> None:
    """What refuses a callback its own session is a SessionBusy in the code, too."""

    def inside() -> Any:
        with ThreadPoolExecutor(1) as pool:
            use = partial(session.execute, "1")
            return pool.submit(use).result().value if is_pooled else use().value

    session = new_session(callbacks=[inside], limits=planaria.Limits(timeout=None))
    assert session.run(call).error.type == "SessionBusy"
    caught = f"import planaria_kernel.errors\ntry: {call}\nexcept planaria_kernel.errors.SessionError as e: x = e\nrepr(x)"
    assert session.execute(caught).value.startswith("SessionBusy(")


def test_session_errors_in_the_code(new_session: Callable[..., Any]) -> None:
    """A SessionError of any class arrives as the nearest one that planaria has."""

    class Own(planaria.SessionClosed):
        """An exception of the host's own."""

    given = [Own("a"), planaria.CapabilityError("fork", "none"), planaria.ToolNotFound("b", tool="t")]

    def inside(number: int) -> None:
        raise given[number]

    session = new_session(callbacks=[inside])
    kinds = [session.run(f"await inside({number})").error.type for number in range(len(given))]
    assert kinds == ["SessionClosed", "SessionError", "ToolNotFound"]


@pytest.mark.parametrize("call", ["await inside()", "inside.call()"])
def test_another_event_loop(call: str) -> None:
    """A session that is in use under one event loop is refused to others, also for closing, without any time
    limit.
    """

    async def main() -> None:
        def inside() -> None:
            with ThreadPoolExecutor(1) as pool:
                with pytest.raises(planaria.SessionBusy, match="another event loop"):
                    pool.submit(lambda: asyncio.run(session.close())).result()
                pool.submit(lambda: asyncio.run(session.run("1"))).result()

        async with planaria.AsyncSession(callbacks=[inside], limits=planaria.Limits(timeout=None)) as session:
            error = (await session.run(call)).error
            assert error is not None
            assert error.type == "SessionBusy"
            assert (await session.run("2")).value == 2

    asyncio.run(main())


def test_another_thread_waits_its_turn(new_session: Callable[..., Any]) -> None:
    """A thread that the callback does not wait for gets its turn, though the callback waits for others."""
    entered, waiting = threading.Event(), threading.Event()

    def inside() -> str:
        entered.set()
        waiting.wait(60)
        return "over"

    session = new_session(callbacks=[inside])
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.execute, "await inside()")
        assert entered.wait(60)
        second = pool.submit(session.execute, "2")
        assert wait([second], 0.3).not_done
        waiting.set()
        assert (first.result().value, second.result().value) == ("over", 2)


def test_overrun(new_session: Callable[..., Any]) -> None:
    """A callback that takes longer than its time gives TimeoutError in the guest, and the session goes on."""
    release = threading.Event()

    def hang() -> None:
        release.wait(600)

    session = new_session(callbacks=[hang, later], limits=planaria.Limits(callback_timeout=0.1))
    source = "try: {}\nexcept TimeoutError as e: x = str(e)\nx"
    for call in ("await hang()", "hang.call()", "await later(1, 600)", "later.call(1, 600)"):
        assert "longer than 0.1 s" in session.execute(source.format(call)).value
    release.set()
    assert session.execute("await later(5, 0)").value == 5


@pytest.mark.parametrize("kind", ["plain", "asynchronous", "unbounded"])
def test_overrun_does_not_hang_the_exit(kind: str) -> None:
    """The interpreter ends although a callback hangs and the session was never closed."""
    source = f"""
import asyncio, planaria, threading
def hang(): threading.Event().wait()
async def hang_later(): await asyncio.sleep(1e6)
kind = {kind!r}
limits = planaria.Limits(callback_timeout=None if kind == "unbounded" else 0.1)
session = planaria.Session(callbacks=[hang, hang_later], limits=limits)
if kind == "plain":
    print(session.run("await hang()").error.type)
elif kind == "asynchronous":
    print(session.run("await hang_later()").error.type)
else:
    print(type(session.run("await hang_later()", timeout=0.2).error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode, done.stderr) == ("TimeoutError\n", 0, "")


def test_blocking_call_after_a_timer(new_session: Callable[..., Any]) -> None:
    """A blocking call has its whole time, also after the code has waited for a timer."""
    session = new_session(callbacks=[later])
    assert session.execute("import asyncio\nawait asyncio.sleep(0.01)\nlater.call(3, 0.1)").value == 3
