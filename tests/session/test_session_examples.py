"""Short programs that show what a session is for."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType
from typing import Any

import pytest

import planaria


def test_first_example() -> None:
    """State stays between executions, is counted, cleared and reset."""
    session = planaria.Session()
    session.execute("x = 42")
    session.execute("y = x * 2")
    result = session.execute("print(f'{x}, {y}')")
    assert result.stdout == "42, 84\n"
    assert session.execution_count == 3
    session.files.write_text("kept.txt", "kept")
    session.clear_state()
    assert session.execute("'x' in globals(), open('kept.txt').read()").value == (False, "kept")
    session.execute("x = 1")
    session.reset()
    assert session.execution_count == 0
    assert session.execute("'x' in globals()").value is False


def test_timeout_example() -> None:
    """After a timeout the session has the state that the code had reached."""
    session = planaria.Session(execution_timeout_ms=500)
    session.execute("n = 0")
    with pytest.raises(planaria.TimeoutError):
        session.execute("while True: n += 1")
    result = session.execute("print(n)")
    assert int(result.stdout) > 0


def test_callback_example() -> None:
    """A host function counts over executions."""
    counter = {"value": 0}

    def increment() -> dict[str, int]:
        counter["value"] += 1
        return {"count": counter["value"]}

    session = planaria.Session(
        callbacks=[{"name": "increment", "fn": increment, "description": "Increment counter"}]
    )
    session.execute("c1 = await increment()")
    assert session.execute("c2 = await increment(); print(c2['count'])").stdout == "2\n"


def test_async_example() -> None:
    """The asynchronous session gives the value of the last expression."""

    async def main() -> Any:
        async with planaria.AsyncSession() as s:
            result = await s.run("[i * i for i in range(4)]")
            return result.value

    assert asyncio.run(main()) == [0, 1, 4, 9]


def test_fork_example() -> None:
    """Copies continue by themselves, and a session goes back to where it was."""
    session = planaria.Session()
    session.execute("x = 10")
    a, b, c = session.fork(3)
    a.execute("x += 1")
    b.execute("x += 2")
    assert [one.execute("x").value for one in (session, a, b, c)] == [10, 11, 12, 10]
    session.checkpoint("before cleaning")
    session.execute("x = None")
    session.rewind("before cleaning")
    assert session.execute("x").value == 10
    session.execute("x = 999")
    session.undo()
    assert session.execute("x").value == 10


def test_execution_example() -> None:
    """An execution waits for an answer from outside and goes on with it."""

    def approve(amount: int) -> None:
        raise planaria.Suspend

    session = planaria.Session(callbacks=[approve])
    run = session.start("ok = await approve(amount=900)\nprint('paid' if ok else 'refused')")
    assert [(call.name, call.kwargs) for call in run.pending] == [("approve", {"amount": 900})]
    assert (
        repr(run.pending) == f"[HostCall(id={run.pending[0].id}, name='approve', kwargs={{'amount': 900}})]"
    )
    assert session.run_in_progress is not None
    session.run_in_progress.resolve(session.run_in_progress.pending[0].id, True)
    assert run.result().stdout == "paid\n"


def test_module_is_lazy() -> None:
    """Importing the package loads neither the engine nor numpy, and every public name is there."""
    import subprocess

    code = (
        "import planaria, sys; print([m for m in ('wasmtime', 'numpy', 'click', 'rich') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
    assert isinstance(planaria, ModuleType)
    for name in (
        "Session",
        "AsyncSession",
        "Sandbox",
        "AsyncSandbox",
        "Limits",
        "Result",
        "CallbackRegistry",
    ):
        assert name in dir(planaria)
        assert getattr(planaria, name).__name__ == name
    assert dir(planaria) == sorted([*planaria.__all__, "__version__", "errors"])
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        planaria.Sesion  # noqa: B018
