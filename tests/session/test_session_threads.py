"""Threads and processes: one session from many, many sessions at once, and forks of the host."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import planaria
from planaria.machine import stack

pytestmark = pytest.mark.slow


def test_first_sessions_of_a_process_on_many_threads() -> None:
    """Threads may make the first sessions of a process at once."""
    program = """
from concurrent.futures import ThreadPoolExecutor
import planaria

def run(number):
    with planaria.Session() as session:
        return session.execute(f"{number} + 1").value

with ThreadPoolExecutor(20) as threads:
    print(sum(threads.map(run, range(20))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "210\n"), done.stderr


def test_one_session_from_many_threads(session: Any) -> None:
    """Executions of one session never interleave: each has its own output and sees a whole number of
    others.
    """
    session.execute("n = 0")
    source = "before = n\nfor i in range(200): n += 1\nprint(n - before)\nn - before"

    def work(_: int) -> tuple[str, int]:
        result = session.execute(source)
        return result.stdout, result.value

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == [("200\n", 200)] * 40
    assert session.execute("n").value == 8000
    assert session.execution_count == 42


@pytest.mark.parametrize("switches", [True, False])
def test_many_sessions_at_once(switches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions on threads neither cross their outputs nor run out of each other's time, however stacks are
    made.
    """
    if switches and not stack.switches_stacks():
        pytest.skip("this Python does not let stacks be switched")
    monkeypatch.setattr(stack, "switches_stacks", lambda: switches)

    def work(number: int) -> None:
        heard: list[str] = []
        with planaria.Session(
            callbacks=[{"name": "me", "fn": lambda: number}], on_stdout=heard.append
        ) as session:
            for turn in range(5):
                result = session.execute(
                    f"import asyncio\nfor i in range(50): print({number})\n"
                    "await asyncio.sleep(0.001)\nassert await me() == me.call()\nawait me()",
                    timeout=300,
                )
                assert result.value == number
                assert set(result.stdout.split()) == {str(number)}
                if turn == 2 and number % 4 == 0:
                    stopped = session.run("while True: pass", timeout=0.1)
                    assert isinstance(stopped.error, planaria.TimeoutError)
            assert "".join(heard) == f"{number}\n" * 250

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))


@pytest.mark.parametrize("switches", [True, False])
def test_nested_sessions(
    switches: bool, monkeypatch: pytest.MonkeyPatch, new_session: Callable[..., Any]
) -> None:
    """Sessions used inside callbacks of others nest, with deep recursion in each, however stacks are made."""
    if switches and not stack.switches_stacks():
        pytest.skip("this Python does not let stacks be switched")
    monkeypatch.setattr(stack, "switches_stacks", lambda: switches)
    deep = "import json\ntry: json.loads('[' * 100_000)\nexcept RecursionError: x = 'deep'"
    inner = new_session()
    middle = new_session(callbacks=[{"name": "go", "fn": lambda: inner.execute(f"{deep}\nx").value}])
    outer = new_session(
        callbacks=[{"name": "go", "fn": lambda: middle.execute(f"{deep}\nx + go.call()").value}]
    )
    assert outer.execute(f"{deep}\nx + go.call() + await go()").value == "deep" * 5
    with pytest.raises(planaria.TimeoutError):
        inner.execute("while True: pass", timeout=0.1)
    assert outer.execute("go.call()").value == "deepdeep"


def test_time_of_nested_sessions(new_session: Callable[..., Any]) -> None:
    """When an inner session's time ends, the outer one goes on; when the outer's ends inside, it stops
    after.
    """
    inner = new_session()

    def run_inner(timeout: float) -> str:
        return type(inner.run("while True: pass", timeout=timeout).error).__name__

    outer = new_session(callbacks=[run_inner])
    assert outer.execute("run_inner.call(0.1), await run_inner(0.1)").value == (
        "TimeoutError",
        "TimeoutError",
    )
    result = outer.run("x = run_inner.call(0.6)\nwhile True: pass", timeout=0.3)
    assert isinstance(result.error, planaria.TimeoutError)
    assert inner.execute("1").value == outer.execute("1").value == 1


def in_child(work: Callable[[], Any]) -> None:
    """Do `work` in a forked child; it must end well, and soon enough not to have hung."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child hung")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_fork_of_the_host(new_session: Callable[..., Any]) -> None:
    """A child of the host goes on with the sessions it was born with, and with new ones; the parent's are
    its own.
    """

    async def callback() -> int:
        return 7

    session = new_session(callbacks=[callback])
    session.execute("x = await callback()")

    def work() -> None:
        assert session.execute("x += 1; x + await callback()").value == 15
        assert isinstance(session.run("while True: pass", timeout=0.2).error, planaria.TimeoutError)
        with planaria.Session(callbacks=[callback]) as fresh:
            assert fresh.execute("callback.call()").value == 7
            assert isinstance(fresh.run("while True: pass", timeout=0.2).error, planaria.TimeoutError)
        assert session.fork()[0].execute("x").value == 8
        in_child(lambda: session.execute("assert x == 8"))
        session.close()

    in_child(work)
    assert session.execute("x").value == 7
    assert isinstance(session.run("while True: pass", timeout=0.2).error, planaria.TimeoutError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_fork_while_others_execute(new_session: Callable[..., Any]) -> None:
    """In a child forked while another thread executes, that session is back at its last checkpoint, and
    works.
    """
    busy, idle = new_session(), new_session()
    busy.execute("n = 0")
    busy.checkpoint("here")
    idle.execute("m = 1")
    thread = threading.Thread(target=busy.run, args=("while True: n += 1",))
    thread.start()
    while busy.run_in_progress is None:
        time.sleep(0.01)
    time.sleep(0.1)

    def work() -> None:
        assert idle.execute("m").value == 1
        assert busy.execute("n").value == 0
        assert isinstance(busy.run("while True: pass", timeout=0.2).error, planaria.TimeoutError)
        with planaria.Session() as fresh:
            assert fresh.execute("2").value == 2

    try:
        in_child(work)
    finally:
        busy.interrupt()
        thread.join()
    assert busy.execute("n > 0").value is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_fork_inside_a_callback(new_session: Callable[..., Any]) -> None:
    """A callback may fork the host; both processes can use other sessions, and the parent goes on."""
    other = new_session()

    def fork() -> str:
        in_child(lambda: other.execute("assert 1 + 1 == 2"))
        return "parent"

    session = new_session(callbacks=[fork])
    assert session.execute("await fork(), fork.call()").value == ("parent", "parent")


def test_callback_that_waits_for_a_thread_that_waits_for_its_session(new_session: Callable[..., Any]) -> None:
    """A callback that waits for another thread, which uses the same session, ends with the time of the
    execution where their stacks do not show it, and the session goes on.
    """
    ended: queue.SimpleQueue[None] = queue.SimpleQueue()
    returned = threading.Event()

    def other_thread() -> None:
        with contextlib.suppress(planaria.SessionBusy):  # unless the execution has ended before it looks
            session.execute("1", timeout=None)
        ended.put(None)

    def call() -> None:
        threading.Thread(target=other_thread).start()
        ended.get()  # waits in C alone
        returned.set()

    session = new_session(callbacks=[call], limits=planaria.Limits(timeout=0.3))
    assert isinstance(session.run("await call()").error, planaria.TimeoutError)
    assert returned.wait(60)
    assert session.execute("2", timeout=None).value == 2


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(600)", "await wait()"])
def test_closing_from_another_thread(code: str) -> None:
    """Closing a session ends the execution of another thread, and those that wait for their turn."""
    begun = threading.Event()
    goes_on = threading.Event()
    outcomes: list[object] = []

    def wait() -> None:
        goes_on.wait()

    session = planaria.Session(callbacks=[wait], on_stdout=lambda _text: begun.set())

    def execute() -> None:
        try:
            outcomes.append(session.run(f"print('begun', flush=True)\n{code}").error)
        except planaria.SessionClosed as error:
            outcomes.append(error)

    threads = [threading.Thread(target=execute) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    session.close()
    goes_on.set()
    for thread in threads:
        thread.join()
    assert session.is_closed
    names = sorted(type(one).__name__ for one in outcomes)
    assert names == ["Interrupted", "SessionClosed", "SessionClosed"]
