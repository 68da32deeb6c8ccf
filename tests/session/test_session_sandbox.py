"""Sandboxes: executions that know nothing of each other."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

import planaria


def double(x: int) -> int:
    return 2 * x


def test_each_execution_is_fresh() -> None:
    """Neither variables nor files nor changed modules are there the next time; arguments are."""
    sandbox = planaria.Sandbox(
        callbacks=iter([double]), env={"WHO": "me"}, stdin="line\n", execution_timeout_ms=60_000
    )
    for count in (1, 2):
        result = sandbox.execute(
            "import os, math\nassert 'x' not in globals() and not os.path.exists('f') and math.pi > 3\n"
            "x = math.pi = 1; open('f', 'w').write('y')\n(await double(4), os.environ['WHO'], input())"
        )
        assert result.value == (8, "me", "line")
        assert result.execution_count == sandbox.execution_count == count


def test_errors_and_storage() -> None:
    """Errors are those of a session; a storage that was given is shared and kept."""
    storage = planaria.VfsStorage()
    sandbox = planaria.Sandbox(vfs=storage)
    assert sandbox.run("1 / 0").error is not None
    with pytest.raises(planaria.ExecutionError, match="ZeroDivisionError"):
        sandbox.execute("1 / 0")
    with pytest.raises(planaria.TimeoutError):
        sandbox.execute("while True: pass", timeout=0.2)
    sandbox.execute("open('/data/f', 'w').write('kept')")
    assert sandbox.execute("open('/data/f').read()").value == "kept"


def test_in_parallel() -> None:
    """One sandbox may be used from many threads, and with await many times at once."""
    sandbox = planaria.Sandbox()
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda n: sandbox.execute(f"x = {n}\nprint(x)").stdout, range(12))
        assert list(results) == [f"{n}\n" for n in range(12)]

    async def main() -> list[str]:
        sandbox = planaria.AsyncSandbox()
        results = await asyncio.gather(*(sandbox.execute(f"print({n})") for n in range(12)))
        assert sandbox.execution_count == 12
        return [result.stdout for result in results]

    assert asyncio.run(main()) == [f"{n}\n" for n in range(12)]


def test_misuse() -> None:
    """Wrong arguments are refused when the sandbox is made; an execution cannot wait in it."""
    with pytest.raises(TypeError, match="tiemout"):
        planaria.Sandbox(tiemout=5)  # type: ignore[call-arg]
    with pytest.raises(planaria.CallbackError):
        planaria.Sandbox(callbacks=[5])  # type: ignore[list-item]

    def later() -> None:
        raise planaria.Suspend

    with pytest.raises(planaria.SessionError, match="use a Session"):
        planaria.Sandbox(callbacks=[later]).run("await later()")
