"""Ctrl-C, interrupts from other threads, cancellation."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import planaria

pytestmark = pytest.mark.slow

WAITS = [
    "while True: n += 1",
    "import time\nn = 1\ntime.sleep(600)",
    "import asyncio\nn = 1\nawait asyncio.sleep(600)",
    "n = 1\nawait hang()",
    "n = 1\nhang.call()",
    "n = 1\nawait hang_here()",
    "n = 1\nhang_here.call()",
    "n = 1\ninput()",
    "n = 1\nopen(0).read()",
]


async def hang() -> None:
    await asyncio.sleep(600)


def hang_here() -> None:
    time.sleep(600)


def blocked(prompt: str) -> str:
    time.sleep(600)
    return ""


def when_running(session: Any, then: Callable[[], Any]) -> threading.Thread:
    """Call `then` once the session has been executing for a while."""

    def watch() -> None:
        while session.run_in_progress is None:
            time.sleep(0.01)
        time.sleep(0.3)
        then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize("source", WAITS)
def test_control_c(new_session: Callable[..., Any], source: str) -> None:
    """SIGINT stops the guest whatever it waits in, raises KeyboardInterrupt here, and the state is kept."""
    session = new_session(callbacks=[hang, hang_here], stdin=blocked)
    session.execute("n = 0")
    thread = when_running(session, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        session.run(source)
    thread.join()
    assert session.execute("n > 0").value is True
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert [entry.code for entry in session.history][1] == source


def test_control_c_in_a_program() -> None:
    """A program that is interrupted ends like any other, after the session has shown what it holds."""
    source = """
import os, planaria, signal, sys, threading, time
session = planaria.Session(on_stdout=lambda text: os.kill(os.getpid(), signal.SIGINT))
try:
    session.run("n = 1\\nprint('now', flush=True)\\nwhile True: n += 1")
except KeyboardInterrupt:
    print("interrupted", session.execute("n > 0").value, flush=True)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted True\n"
    assert "KeyboardInterrupt" in done.stderr
    assert done.returncode == -signal.SIGINT


def test_control_c_twice(new_session: Callable[..., Any]) -> None:
    """A second SIGINT stops code that ignores the first one, without the time of grace."""
    session = new_session(limits=planaria.Limits(grace=600.0))
    session.execute("n = 0")
    session.checkpoint("here")

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = when_running(session, twice)
    with pytest.raises(KeyboardInterrupt):
        session.run("n = 1\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass")
    thread.join()
    assert session.execute("n").value == 0


def test_a_handler_of_ones_own(new_session: Callable[..., Any]) -> None:
    """A SIGINT handler that the program has set is left alone and runs while the guest does."""
    session = new_session(execution_timeout_ms=1500)
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        thread = when_running(session, lambda: os.kill(os.getpid(), signal.SIGINT))
        result = session.run("import time\nwhile True: time.sleep(0)")
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
    assert isinstance(result.error, planaria.TimeoutError)


@pytest.mark.parametrize("source", WAITS[:5])
def test_interrupt_from_a_thread(new_session: Callable[..., Any], source: str) -> None:
    """`interrupt()` from another thread ends the execution with Interrupted, and the state is kept."""
    session = new_session(callbacks=[hang])
    session.execute("n = 0")
    thread = when_running(session, session.interrupt)
    result = session.run(source)
    thread.join()
    assert isinstance(result.error, planaria.Interrupted)
    assert result.error.state == "kept"
    assert session.execute("n > 0").value is True


def test_interrupts_at_any_moment(new_session: Callable[..., Any]) -> None:
    """Interrupts that hit the kernel itself, or nothing at all, never break or stick to a session."""

    async def quick() -> int:
        return 1

    session = new_session(callbacks=[quick], limits=planaria.Limits(grace=600.0))
    session.execute("import asyncio")
    stop = threading.Event()

    def shoot() -> None:
        while not stop.is_set():
            session.interrupt()
            time.sleep(0.0007)

    thread = threading.Thread(target=shoot)
    thread.start()
    kinds = set()
    try:
        for _ in range(150):
            result = session.run("for i in range(20): x = await quick()\nawait asyncio.sleep(0.001)\nx")
            kinds.add(type(result.error))
            assert result.error is None or result.error.state == "kept"
    finally:
        stop.set()
        thread.join()
    assert kinds <= {type(None), planaria.Interrupted}
    assert planaria.Interrupted in kinds
    assert session.execute("await quick()").value == 1


@pytest.mark.parametrize("source", [*WAITS[:5], "await asyncio.gather(hang(), hang())"])
def test_cancelling_a_task(source: str) -> None:
    """Cancelling the task that awaits an execution interrupts the guest and keeps the session."""

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[hang]) as session:
            await session.execute("import asyncio\nn = 0")
            task = asyncio.create_task(session.run("n = 1\n" + source))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await session.execute("n > 0")).value is True
            assert len(session.history) == 3
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await session.run("n = 7\n" + source)
            assert (await session.execute("n > 0")).value is True

    asyncio.run(main())


@pytest.mark.parametrize("is_fresh", [False, True])
@pytest.mark.parametrize("ends", ["interrupt", "cancel"])
def test_stopping_what_is_about_to_begin(ends: str, is_fresh: bool) -> None:
    """An execution that is stopped in any moment between the call and its first line ends."""

    async def main() -> None:
        async with planaria.AsyncSession() as first:
            for turns in range(1, 9):
                session = planaria.AsyncSession(env={"A": "1"}) if is_fresh else first
                task = asyncio.create_task(session.run("while True: pass"))
                for _ in range(turns):
                    await asyncio.sleep(0)
                if ends == "cancel":
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
                else:
                    session.interrupt()
                    assert isinstance((await task).error, planaria.Interrupted)
                assert (await session.execute("6 * 7")).value == 42
                if is_fresh:
                    await session.close()

    asyncio.run(main())


def test_stopping_what_is_about_to_go_on() -> None:
    """An execution that is interrupted in any moment between an answer and its next line ends."""

    def ask() -> None:
        raise planaria.Suspend("a decision")

    async def main() -> None:
        async with planaria.AsyncSession(callbacks=[ask]) as session:
            for turns in range(1, 5):
                execution = await session.start("await ask()\nwhile True: pass")
                task = asyncio.create_task(execution.resolve(execution.pending[0].id, 1))
                for _ in range(turns):
                    await asyncio.sleep(0)
                session.interrupt()
                await task
                assert isinstance((await execution.result()).error, planaria.Interrupted)

    asyncio.run(main())


def test_cancelling_who_waits_for_the_turn() -> None:
    """Cancelling a task that waits for another's execution leaves that one alone."""

    async def main() -> None:
        async with planaria.AsyncSession() as session:
            first = asyncio.create_task(session.run("import asyncio; await asyncio.sleep(0.3); 1"))
            await asyncio.sleep(0.05)
            second = asyncio.create_task(session.run("2"))
            await asyncio.sleep(0.05)
            second.cancel()
            assert (await first).value == 1
            assert (await asyncio.gather(second, return_exceptions=True))[
                0
            ].__class__ is asyncio.CancelledError
            assert session.execution_count == 1

    asyncio.run(main())


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2])
def test_interrupts_that_hit_no_code_of_the_users(new_session: Callable[..., Any], seconds: float) -> None:
    """An interrupt that comes while the cell is compiled is raised again when its code runs."""
    session = new_session(limits=planaria.Limits(grace=60.0))
    session.execute("n = 0")
    result = session.run("n = 1\n" * 10_000 + f"while True: n += {seconds}", timeout=seconds)
    assert isinstance(result.error, planaria.TimeoutError)
    assert result.error.state == "kept"
    assert session.execute("n >= 1").value is True


def test_control_c_in_any_moment_of_a_sleep() -> None:
    """SIGINT before any step that the host takes for time.sleep() ends it, and never stops for good."""
    source = """
import planaria, signal, sys
from planaria.machine.machine import Machine

session = planaria.Session()
session.execute("import time")
steps = chosen = 0

def enter(frame, event, argument):
    callers, inside = frame, False
    while callers is not None and not inside:
        inside = callers.f_code is Machine.sleep.__code__
        callers = callers.f_back
    frame.f_trace_opcodes = inside
    return step if inside else None

def step(frame, event, argument):
    global steps
    if event in ("opcode", "line"):  # Python 3.12 may leave out opcodes
        steps += 1
        if steps == chosen:
            signal.raise_signal(signal.SIGINT)
    return step

interrupted = True
while interrupted:
    steps, chosen = 0, chosen + 1
    sys.settrace(enter)
    try:
        session.execute("time.sleep(0.05)")
        interrupted = False
    except KeyboardInterrupt:
        pass
    sys.settrace(None)
print(chosen > 10, chosen > steps, session.execute("1 + 1").value)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("True True 2\n", "")


def test_an_interrupted_import_goes_on(new_session: Callable[..., Any]) -> None:
    """A package whose import was interrupted is imported again as the same module, to which its submodules
    refer.
    """
    interrupts = iter([True, False])

    def pause() -> None:
        if next(interrupts):
            session.interrupt()

    session = new_session(callbacks=[pause])
    session.files.mkdir("package")
    session.files.write_text(
        "package/__init__.py",
        "from . import child\nimport builtins\nbuiltins.pause.call()\ntotal = child.two() + 1",
    )
    session.files.write_text(
        "package/child.py", "import package\ndef two(): return 2\ndef total(): return package.total"
    )
    session.execute("import builtins; builtins.pause = pause")
    assert isinstance(session.run("import package").error, planaria.Interrupted)
    assert session.execute("import package\npackage.total, package.child.total()").value == (3, 3)
    assert session.execute("import sys; package is sys.modules['package'] is package.child.package").value


def test_reading_a_device_without_end(new_session: Callable[..., Any]) -> None:
    """Code that reads a device to its end, which never comes, is stopped at its line and keeps its state."""
    session = new_session(limits=planaria.Limits(memory=None, grace=60))
    error = session.run("n = 1\nopen('/dev/urandom', 'rb').read()", timeout=0.3).error
    assert isinstance(error, planaria.TimeoutError)
    assert (error.state, session.execute("n").value) == ("kept", 1)
