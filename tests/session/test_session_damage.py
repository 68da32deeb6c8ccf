"""Code that damages the interpreter: the kernel does not depend on what code can reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import planaria

#: What code can do to modules that the kernel uses; the next execution is as if it had not happened.
HARMLESS = [
    "import sys; del sys.modules",
    "import sys; sys.modules = None",
    "import sys; sys.modules.clear()",
    "del __builtins__",
    "__builtins__ = None",
    "import builtins; builtins.__dict__.clear()",
    "import builtins; builtins.__import__ = None",
    "import sys; sys.excepthook = sys.displayhook = sys.unraisablehook = None",
    "import sys; sys.path = None; sys.meta_path.clear()",
    "import sys; sys.path[:] = ['/nowhere'] * 10_000",
    "import traceback; traceback.__dict__.clear()",
    "import linecache; linecache.cache = None",
    "import ast, inspect, re, functools, codecs\nfor m in (ast, inspect, re, functools, codecs): m.__dict__.clear()",
    "import asyncio; asyncio.get_running_loop = asyncio._set_running_loop = None",
    "import planaria_kernel.kernel, planaria_kernel.protocol.encoding as e\ne.__dict__.clear()",
    "import sys; sys.modules['__main__'] = None",
    "import warnings; warnings.simplefilter('error')",
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "import threading\nfor n in range(3): threading.Thread(target=lambda: 1 / 0).start()",
]


#: What a kernel of its own interpreter runs in: a sandbox, a process.
EXECUTORS: dict[str, Callable[[], planaria.Executor]] = {
    "wasm": planaria.WasmExecutor,
    "subprocess": planaria.SubprocessExecutor,
}


@pytest.fixture(params=EXECUTORS)
def any_session(request: pytest.FixtureRequest, new_session: Callable[..., planaria.Session]) -> Any:
    """A session whose code cannot damage more than its own interpreter."""
    return new_session(executor=EXECUTORS[request.param](), execution_timeout_ms=10_000)


@pytest.mark.parametrize("source", HARMLESS)
def test_the_next_execution_works(any_session: planaria.Session, source: str) -> None:
    """After the interpreter was damaged, output, values, errors and awaiting are as before."""
    session = any_session
    session.execute("x = 1")
    session.run(source)
    result = session.run("print('hello'); x + 1")
    assert (result.value, result.stdout, result.error) == (2, "hello\n", None)
    assert session.run("import asyncio\nawait asyncio.sleep(0, 5)").value == 5
    error = session.run("1 / 0").error
    assert isinstance(error, planaria.ExecutionError)
    assert str(error) == "ZeroDivisionError: division by zero"
    assert "1 / 0" in error.traceback


@pytest.mark.parametrize("source", HARMLESS)
def test_the_shell_works(session: planaria.Session, source: str) -> None:
    """After the interpreter was damaged and a cell was executed, the shell is as before."""
    session.run(source)
    session.run("1")
    assert session.bash("echo hello").stdout == "hello\n"


def test_no_builtin_is_needed(any_session: planaria.Session) -> None:
    """Whichever builtin function code replaces, what it prints and evaluates next arrives."""
    session = any_session
    session.execute(_REPLACE)
    for name in session.execute("[n for n in saved if n[0].islower() and n != 'print']").value:
        session.run(f"vars_of_builtins.update(saved); builtins.{name} = broken")
        result = session.run("print('hello')\nx + 1")
        assert (name, result.value, result.stdout, result.error) == (name, 2, "hello\n", None)


_REPLACE = """
import builtins
x = 1
vars_of_builtins = vars(builtins)
saved = dict(vars_of_builtins)

def broken(*arguments, **named):
    raise ValueError("broken")
"""


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("import builtins; builtins.len = None", "builtins.len"),
        ("import asyncio.tasks as t; t.__dict__.clear()", "asyncio"),
    ],
)
def test_what_cost_an_execution_is_named(
    new_session: Callable[..., planaria.Session], source: str, named: str
) -> None:
    """An execution without a result because of damage says what was replaced, and the one after it works."""
    session = new_session()
    session.run(source)
    results = [session.run("import asyncio\nprint('hello')\nawait asyncio.sleep(0, 5)") for _ in range(2)]
    assert results[0].value == 5 or named in str(results[0].error)
    assert (results[1].value, results[1].stdout) == (5, "hello\n")


def test_closed_output_says_how_to_go_on(new_session: Callable[..., planaria.Session]) -> None:
    """When code closed its standard output, the error says so, and `undo` brings it back."""
    session = new_session()
    session.execute("x = 1")
    session.run("import os; os.close(1); os.close(2)")
    assert "undo() or reset()" in str(session.run("print('hello')").error)
    session.undo(2)
    assert session.execute("print('hello'); x").stdout == "hello\n"
