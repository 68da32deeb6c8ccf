"""Making, closing and collecting sessions, and what is said of misuse."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria

pytestmark = pytest.mark.slow


def test_close() -> None:
    """Closing twice is harmless; anything else afterwards is SessionClosed."""
    with planaria.Session() as session:
        session.execute("1")
        waiting = session.start("import asyncio; await asyncio.sleep(600)")
    session.close()
    assert session.is_closed
    uses: list[Callable[[], Any]] = [
        lambda: session.execute("1"),
        lambda: session.run("1"),
        lambda: session.start("1"),
        session.reset,
        session.clear_state,
        session.fork,
        session.undo,
        session.redo,
        lambda: session.rewind(0),
        lambda: session.checkpoint("x"),
        waiting.step,
        session.__enter__,
        lambda: session.files,
    ]
    for use in uses:
        with pytest.raises(planaria.SessionClosed, match="closed"):
            use()
    session.interrupt()


def test_close_while_code_runs() -> None:
    """Closing from another thread interrupts the code, whose error says that the session is closed."""
    with planaria.Session(on_stdout=lambda text: began.set()) as session:
        began = threading.Event()
        closer = threading.Thread(target=lambda: (began.wait(), session.close()))
        closer.start()
        error = session.run("print('begun', flush=True)\nwhile True: pass").error
        closer.join()
    assert isinstance(error, planaria.Interrupted)
    assert str(error) == "interrupted; the session is closed"


def test_close_of_async_sessions() -> None:
    """An asynchronous session closes likewise."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            await session.execute("1")
        await session.close()
        for use in (session.run("1"), session.reset(), session.fork(), session.undo(), session.__aenter__()):
            with pytest.raises(planaria.SessionClosed):
                await use

    asyncio.run(main())


def resources() -> tuple[int, int]:
    """How many mappings and descriptors this process has."""
    maps = len(Path("/proc/self/maps").read_text().splitlines()) if os.path.exists("/proc/self/maps") else 0
    return maps, len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0


def vanishes(reference: weakref.ref[Any]) -> bool:
    """Whether it has no references any more, once other threads have left the last call."""
    end = time.monotonic() + 30
    while reference() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    return reference() is None


@pytest.mark.parametrize("how", ["close", "forget", "fork", "reset", "crash"])
def test_sessions_leave_nothing(how: str) -> None:
    """Sessions that are closed, forgotten, forked, reset or crashed give back their mappings and
    descriptors.
    """

    async def callback() -> int:
        return 1

    def life() -> weakref.ref[planaria.Session]:
        session = planaria.Session(callbacks=[callback])
        session.execute("x = await callback()")
        session.execute("y = 2")
        if how == "fork":
            session.fork(2)
        elif how == "reset":
            session.reset()
        elif how == "crash":
            session.run("import os; os._exit(1)")
        if how != "forget":
            session.close()
        return weakref.ref(session)

    life()
    gc.collect()
    before = resources()
    seen = [life() for _ in range(200 if how == "close" else 60)]
    assert all(vanishes(one) for one in seen)
    after = resources()
    assert after[0] - before[0] < 20
    assert after[1] - before[1] < 10


def test_forgotten_without_the_collector() -> None:
    """A session without references releases its memory at once, not only when cycles are collected."""
    sessions = [planaria.Session() for _ in range(4)]
    sessions[0].execute("x = 1")
    sessions[1].fork()
    sessions[2].execute("x = 1")
    sessions[2].undo()
    sessions[3].snapshot_state()
    machines = [weakref.ref(one._engine.executor._machine) for one in sessions]  # type: ignore[attr-defined]
    gc.disable()
    try:
        sessions.clear()
        time.sleep(0.05)  # another thread may be looking at one of them
        assert [one() for one in machines] == [None] * 4
    finally:
        gc.enable()


def test_few_pages_are_written() -> None:
    """What a session allocates lies together, and settings that are the usual ones are not sent to it: the
    first execution writes to fewer than a hundred pages of its memory.
    """
    with planaria.Session() as session:
        session.execute("x = 1")
        executor: Any = session._engine.executor
        state = executor.capture()
        assert 0 < len(state.pages) < 100


def test_forgotten_while_waiting() -> None:
    """A session that waits, with a call on its way, is collected as well."""

    async def hang() -> None:
        await asyncio.sleep(600)

    def life() -> weakref.ref[planaria.Session]:
        session = planaria.Session(callbacks=[hang])
        session.run("import asyncio\ntask = asyncio.create_task(hang())\nawait asyncio.sleep(0.01)")
        return weakref.ref(session)

    async def life_with_await() -> weakref.ref[planaria.AsyncSession]:
        session = planaria.AsyncSession(callbacks=[hang])
        await session.run("import asyncio\ntask = asyncio.create_task(hang())\nawait asyncio.sleep(0.01)")
        await session.close()
        return weakref.ref(session)

    life()
    assert vanishes(asyncio.run(life_with_await()))
    closed = planaria.Session(callbacks=[hang])
    closed.run("import asyncio\ntask = asyncio.create_task(hang())\nawait asyncio.sleep(0.01)")
    closed.close()
    reference = weakref.ref(closed)
    del closed
    assert vanishes(reference)


def test_exit_without_closing() -> None:
    """A program that ends with open sessions, waiting or not, ends at once and says nothing."""
    source = """
import asyncio, planaria, threading
async def hang(): await asyncio.sleep(1e6)
a = planaria.Session(callbacks=[hang]); a.execute("x = 1")
b = planaria.Session(callbacks=[hang]); b.start("import asyncio; await asyncio.sleep(1e6)")
c = planaria.Session(callbacks=[hang]); c.execute("import asyncio\\nt = asyncio.create_task(hang())\\nawait asyncio.sleep(0)")
threading.Thread(target=planaria.Session().run, args=("while True: pass",), daemon=True).start()
print("end")
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"execution_timeout_ms": 0}, ValueError, "execution_timeout_ms=0"),
        ({"execution_timeout_ms": "5"}, TypeError, "execution_timeout_ms must be a number"),
        ({"limits": {"timeout": 5}}, TypeError, "Limits"),
        (
            {"limits": planaria.Limits(timeout=5), "execution_timeout_ms": 500},
            TypeError,
            r"execution_timeout_ms= and Limits\(timeout=\) are the same limit",
        ),
        ({"limits": 5}, TypeError, "Limits"),
        ({"stdin": 5}, TypeError, "stdin"),
        ({"stdin": b"x"}, TypeError, "stdin"),
        ({"env": {"A": 5}}, TypeError, "env"),
        ({"env": {"A=B": "x"}}, ValueError, "env"),
        ({"env": ["A=5"]}, TypeError, "env"),
        ({"on_stdout": 5}, TypeError, "on_stdout"),
        ({"on_output": "print"}, TypeError, "on_output"),
        ({"seed": "x"}, TypeError, "seed"),
        ({"vfs": "/tmp"}, TypeError, "vfs"),
        ({"mounts": "/tmp"}, TypeError, "mounts"),
        ({"mounts": ["/tmp"]}, TypeError, "mounts"),
        ({"timeout": 5}, TypeError, "timeout"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    """Arguments of the wrong kind are refused by name when the session is made."""
    for make in (planaria.Session, planaria.AsyncSession):
        with pytest.raises(kind, match=message):
            make(**arguments)


def test_misuse_of_methods(session: Any) -> None:
    """Methods say what they take."""
    session.execute("1")
    for use, kind, message in (
        (lambda: session.execute(b"1"), TypeError, "code must be a str"),
        (lambda: session.execute("1", timeout=0), ValueError, "timeout=0"),
        (lambda: session.run("1", -5), ValueError, "timeout=-5"),
        (lambda: session.run("1", "5"), TypeError, "timeout must be a number"),
        (lambda: session.fork(-1), ValueError, "fork"),
        (lambda: session.fork("2"), ValueError, "fork"),
        (lambda: session.checkpoint(""), TypeError, "label"),
        (lambda: session.checkpoint(5), TypeError, "label"),
        (lambda: session.rewind("nowhere"), planaria.SessionError, "nowhere"),
        (lambda: session.rewind(17), planaria.SessionError, "17"),
        (lambda: session.rewind(None), TypeError, "label"),
        (lambda: session.undo(0), ValueError, "undo"),
        (lambda: session.undo(2), planaria.SessionError, "1 execution"),
        (session.redo, planaria.SessionError, "nothing to redo"),
    ):
        with pytest.raises(kind, match=message):
            use()
    assert session.execution_count == 1


def test_environment_and_seed(new_session: Callable[..., Any]) -> None:
    """`env` adds to the usual variables and nothing comes from the host; `seed` repeats every random
    number.
    """
    os.environ["PLANARIA_TEST_SECRET"] = "leak"
    session = new_session(env={"MINE": "1"})
    assert session.execute(
        "import os; os.environ['MINE'], os.environ['HOME'], 'PLANARIA_TEST_SECRET' in os.environ"
    ).value == (
        "1",
        "/home/user",
        False,
    )
    source = "import random, os, uuid\n(random.random(), os.urandom(4), str(uuid.uuid4()))"
    first, second = (new_session(seed=5).execute(source).value for _ in range(2))
    assert first == second
    assert len({new_session().execute(source).value for _ in range(3)}) == 3
    session.reset()
    assert session.execute("import os; os.environ['MINE']").value == "1"


def test_keywords_that_there_are_not(tmp_path: Path) -> None:
    """A wrong keyword is a TypeError that names the class that was called and what may have been meant."""
    for call, words in (
        (
            lambda: planaria.Session(tiemout=1),  # type: ignore[call-arg]
            r"Session\(\) got an unexpected .* 'tiemout'. Did you mean limits=.*timeout",
        ),
        (
            lambda: planaria.Session.from_base(tmp_path, tiemout=1),  # type: ignore[call-arg]
            r"Session.from_base\(\) got .* 'tiemout'. Did you mean 'timeout'\?",
        ),
        (lambda: planaria.Session(volumes=[]), r"Session\(\) got .*'volumes'. Did you mean 'mounts'\?"),  # type: ignore[call-arg]
        (
            lambda: planaria.Sandbox(resource_limits=1),  # type: ignore[call-arg]
            r"Sandbox\(\) got .*'resource_limits'. Did you mean 'limits'\?",
        ),
        (lambda: planaria.AsyncSession(limit=1), r"AsyncSession\(\) got .*'limit'. Did you mean 'limits'\?"),  # type: ignore[call-arg]
        (lambda: planaria.Bash(zzzz=1), r"got an unexpected keyword argument 'zzzz'\Z"),  # type: ignore[call-arg]
        (lambda: planaria.Session(1), r"Session\(\) takes only keyword arguments"),  # type: ignore[call-arg,arg-type,misc]
    ):
        with pytest.raises(TypeError, match=words):
            call()
