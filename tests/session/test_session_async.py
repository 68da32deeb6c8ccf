"""The asynchronous session beside the plain one."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from typing import Any

import pytest

import planaria


def test_same_methods_in_the_same_order() -> None:
    """Both kinds of session have the same public methods, with the same parameters, in the same order."""
    plain, awaiting = (
        [name for name in vars(kind) if not name.startswith("_")]
        for kind in (planaria.Session, planaria.AsyncSession)
    )
    assert plain == awaiting
    for name in plain:
        one, other = getattr(planaria.Session, name), getattr(planaria.AsyncSession, name)
        if callable(one):
            assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters)


def test_the_loop_is_free() -> None:
    """While the guest computes, other tasks of the loop go on; several sessions run together."""

    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticker = asyncio.create_task(tick())
        async with planaria.AsyncSession() as first, planaria.AsyncSession() as second:
            source = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass\n1"
            results = await asyncio.gather(first.run(source), second.run(source))
        assert [result.value for result in results] == [1, 1]
        assert ticks > 3
        ticker.cancel()

    asyncio.run(main())


def test_turns() -> None:
    """Executions of one session wait for each other in order."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            await session.execute("log = []")
            runs = (
                session.run(f"import asyncio\nlog.append({n})\nawait asyncio.sleep(0.01)\nlog.append({n})")
                for n in range(5)
            )
            await asyncio.gather(*runs)
            assert (await session.execute("log")).value == [n for n in range(5) for _ in range(2)]

    asyncio.run(main())


def test_loops_that_come_and_go() -> None:
    """A session goes on under another event loop when the one it was used under has ended."""

    async def hang() -> None:
        await asyncio.sleep(600)

    session = planaria.AsyncSession(callbacks=[hang])

    async def use(n: int) -> Any:
        source = "import asyncio\ntask = asyncio.create_task(hang())\nawait asyncio.sleep(0.001)\nx = globals().get('x', 0) + 1"
        await asyncio.gather(*(session.run(source) for _ in range(3)))
        return (await session.execute("x")).value

    assert [asyncio.run(use(n)) for n in range(3)] == [3, 6, 9]
    asyncio.run(session.close())


def test_errors_and_limits() -> None:
    """Errors, timeouts and limits are those of the plain session."""

    async def main() -> None:
        async with planaria.AsyncSession(limits=planaria.Limits(timeout=0.3, grace=0.3)) as session:
            assert (await session.run("1 / 0")).error is not None
            with pytest.raises(planaria.ExecutionError, match="ZeroDivisionError"):
                await session.execute("1 / 0")
            with pytest.raises(planaria.TimeoutError):
                await session.execute("x = 1\nwhile True: pass")
            await session.checkpoint("here")
            error = (await session.run("x = 2\nsum(range(10**11))")).error
            assert isinstance(error, planaria.TimeoutError)
            assert error.state == "rewound"
            assert (await session.execute("x")).value == 1
            with pytest.raises(planaria.TimeoutError):
                await session.execute("import asyncio; await asyncio.sleep(600)")
            session.files.write_text("f", "x")
            assert (await session.execute("open('f').read()")).value == "x"

    asyncio.run(main())


def test_interrupt() -> None:
    """`interrupt` from another thread ends the execution that is awaited."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            for source in ("while True: pass", "import asyncio; await asyncio.sleep(600)"):
                timer = threading.Timer(0.3, session.interrupt)
                timer.start()
                assert isinstance((await session.run(source)).error, planaria.Interrupted)
                timer.join()

    asyncio.run(main())


def test_listeners() -> None:
    """Listeners hear the output; what one raises is raised by the await."""

    async def main() -> None:
        heard: list[str] = []
        async with planaria.AsyncSession(on_stdout=heard.append) as session:
            await session.execute("print(1)\nprint(2)")
        assert "".join(heard) == "1\n2\n"

        def fail(text: str) -> None:
            raise LookupError(text)

        async with planaria.AsyncSession(on_stdout=fail) as session:
            with pytest.raises(LookupError):
                await session.execute("print(1)")
            assert (await session.run("2")).value == 2

    asyncio.run(main())


def test_work_is_done_beside_the_event_loop() -> None:
    """The thread of the event loop captures, restores and enters no kernel, whatever a session does."""
    called: set[str] = set()
    work = {"capture", "restore", "enter", "spawn", "_go_back", "pages", "decode_early", "boot_image"}

    def note(frame: Any, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name in work and "planaria" in frame.f_code.co_filename:
            called.add(f"{frame.f_globals['__name__']}.{frame.f_code.co_name}")

    async def main() -> None:
        session = planaria.AsyncSession(argv=["program", "argument"])
        await session.run("x = list(range(50_000)); x")
        await session.run("x.append(1)")
        await session.checkpoint("here")
        (copy,) = await session.fork()
        assert (await copy.run("len(x)")).value == 50_001
        await session.undo()
        await session.redo()
        await session.rewind("here")
        snapshot = await session.snapshot_state()
        await copy.restore_state(snapshot)
        assert (await copy.run("import sys; sys.argv")).value == ["program", "argument"]
        await session.bash("echo hello")
        await session.close()
        await copy.close()

    async def watched() -> None:
        sys.setprofile(note)
        try:
            await main()
        finally:
            sys.setprofile(None)

    asyncio.run(watched())
    assert called <= {"planaria.session._async.turns.enter"}


def test_files_before_the_first_execution() -> None:
    """The files of a session are there before anything was awaited."""

    async def main() -> None:
        session = planaria.AsyncSession(argv=["program"])
        session.files.write_text("note.txt", "here")
        assert (await session.run("open('note.txt').read()")).value == "here"
        await session.close()

    asyncio.run(main())


def test_closing_ends_the_execution_of_another_task() -> None:
    """Closing a session ends the execution of another task, and those that wait for their turn."""

    async def main() -> list[str]:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        session = planaria.AsyncSession(on_stdout=lambda _: loop.call_soon_threadsafe(begun.set))
        runs = [asyncio.create_task(session.run("print(1, flush=True)\nwhile True: pass")) for _ in range(2)]
        await begun.wait()
        await session.close()
        first, second = await asyncio.gather(*runs, return_exceptions=True)
        assert isinstance(first, planaria.Result)
        return [type(first.error).__name__, type(second).__name__]

    assert asyncio.run(main()) == ["Interrupted", "SessionClosed"]


def test_restoring_beside_the_event_loop() -> None:
    """A session may be restored on another thread, or by itself, while the event loop goes on; it is then used
    under the loop.
    """
    with planaria.Session() as session:
        session.execute("x = 7")
        data = bytes(session.snapshot_state())

    async def main() -> list[Any]:
        threads = set()
        first = await asyncio.to_thread(planaria.AsyncSession.from_snapshot, data)
        second = planaria.AsyncSession()
        restore = second._engine.executor.restore  # type: ignore[attr-defined]

        def watched(*arguments: Any, **named: Any) -> None:
            threads.add(threading.get_ident())
            restore(*arguments, **named)

        second._engine.executor.restore = watched  # type: ignore[attr-defined]
        await second.restore_state(data)
        assert threads
        assert threading.get_ident() not in threads
        async with first, second:
            return [(await one.execute("x")).value for one in (first, second)]

    assert asyncio.run(main()) == [7, 7]
