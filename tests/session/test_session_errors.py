"""What is reported of code that raises."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import planaria


def error_of(session: Any, source: str) -> Any:
    result = session.run(source)
    assert result.error is not None
    assert not result.is_ok
    assert result.value is None
    return result.error


def test_execution_error(session: Any) -> None:
    """An exception comes with its type, message, user frames with source lines, line, and what was
    printed.
    """
    source = (
        "def f(x):\n    return 1 / x\nprint('before')\nimport sys; print('there', file=sys.stderr)\nf(0)\n"
    )
    with pytest.raises(planaria.ExecutionError) as raised:
        session.execute(source)
    error = raised.value
    assert (error.type, error.message, error.lineno) == ("ZeroDivisionError", "division by zero", 2)
    assert (error.stdout, error.stderr) == ("before\n", "there\n")
    assert error.traceback == (
        "Traceback (most recent call last):\n"
        '  File "<cell 1>", line 5, in <module>\n'
        "    f(0)\n"
        "    ~^^^\n"
        '  File "<cell 1>", line 2, in f\n'
        "    return 1 / x\n"
        "           ~~^~~\n"
        "ZeroDivisionError: division by zero\n"
    )
    assert str(error) == "ZeroDivisionError: division by zero"
    assert error.exit_code is None


def test_frames_of_other_cells(session: Any) -> None:
    """A frame of an earlier cell shows that cell's name and line."""
    session.execute("def g():\n    raise KeyError('k')")
    error = error_of(session, "1\ng()")
    assert '"<cell 2>", line 2' in error.traceback
    assert "raise KeyError('k')" in error.traceback
    assert (error.type, error.message, error.lineno) == ("KeyError", "'k'", 2)


def test_frames_of_libraries(session: Any) -> None:
    """Frames of the standard library and of the kernel are left out."""
    error = error_of(session, "import json\njson.loads('{')")
    assert error.type == "JSONDecodeError"
    assert "json/" not in error.traceback
    assert "kernel" not in error.traceback
    assert error.lineno == 2


@pytest.mark.parametrize(
    ("source", "kind", "line", "shown"),
    [
        ("x = 1\ny = (", "SyntaxError", 2, "y = ("),
        ("def f():\nreturn 1", "IndentationError", 2, "return 1"),
        ("if 1:\n\tx = 1\n        y = 2", "TabError", 3, "y = 2"),
        ("return 5", "SyntaxError", 1, "return 5"),
        ("'unfinished", "SyntaxError", 1, "'unfinished"),
        ("x = 1 +* 2", "SyntaxError", 1, "x = 1 +* 2"),
    ],
)
def test_syntax_errors(session: Any, source: str, kind: str, line: int, shown: str) -> None:
    """A SyntaxError names the line and shows it with a mark below the place."""
    error = error_of(session, source)
    assert (error.type, error.lineno) == (kind, line)
    assert shown in error.traceback
    assert "^" in error.traceback or kind == "TabError"  # of which Python names the line only
    assert '"<cell 1>"' in error.traceback


@pytest.mark.parametrize("source", ["x = '\x00'", "\ud800", "x = '\ud800'", "# coding: nonsense\nx = 1"])
def test_unusual_sources(session: Any, source: str) -> None:
    """Source that cannot be compiled is an error of the execution like any other."""
    result = session.run(source)
    assert result.error is None or isinstance(result.error, planaria.ExecutionError)
    assert session.execute("1").value == 1


@pytest.mark.parametrize(
    ("source", "code", "stderr"),
    [
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit(None)", 0, ""),
        ("exit(4)", 4, ""),
        ("quit()", 0, ""),
        ("import sys; sys.exit('no way')", 1, "no way\n"),
        ("import sys; sys.exit(True)", 1, ""),
        ("import asyncio\nawait asyncio.sleep(0)\nexit(5)", 5, ""),
    ],
)
def test_exit(session: Any, source: str, code: int, stderr: str) -> None:
    """SystemExit ends the execution with its status, and the session goes on."""
    session.execute("kept = 1")
    error = error_of(session, f"print('out')\n{source}\nkept = 2")
    assert isinstance(error, planaria.Exited)
    assert (error.exit_code, error.type, error.stdout, error.stderr) == (code, "SystemExit", "out\n", stderr)
    assert session.execute("kept").value == 1


def test_hard_exit(session: Any) -> None:
    """os._exit ends the guest itself: its status is reported, and the session goes back to the state before."""
    session.execute("kept = 1")
    session.checkpoint("here")
    error = error_of(session, "print('out', flush=True)\nkept = 2\nimport os; os._exit(7)")
    assert isinstance(error, planaria.Exited)
    assert (error.exit_code, error.type, error.stdout) == (7, "SystemExit", "out\n")
    assert "went back" in error.message
    assert session.run("import os; os._exit(0)").exit_code == 0
    assert session.execute("kept").value == 1


def test_exceptions_that_misbehave(session: Any) -> None:
    """Exceptions whose own methods raise, chained ones, groups and huge messages are all reported."""
    assert error_of(session, "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E").type == "E"
    assert error_of(session, "raise type('A' * 1000, (Exception,), {})").type == "A" * 1000
    chained = error_of(session, "try: 1 / 0\nexcept Exception as e: raise ValueError('later') from e")
    assert "direct cause" in chained.traceback
    group = error_of(session, "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])")
    assert group.type == "ExceptionGroup"
    assert "TypeError: 2" in group.traceback
    assert len(error_of(session, "raise ValueError('x' * 10_000_000)").message) < 100_000
    assert error_of(session, "raise BaseException('base')").message == "base"
    assert error_of(session, "raise KeyboardInterrupt").type == "KeyboardInterrupt"
    assert error_of(session, "raise ValueError('\\ud800')").message == "\ud800"


def test_code_that_destroys_the_kernel(session: Any) -> None:
    """Whatever the guest does to its own kernel, or sends in host calls, leaves a session that works."""
    session.execute("kept = 1")
    for source in (
        "import _host; _host.call(b'')",
        "import _host; _host.call(b'Zoo')",
        "import _host; _host.call(b'R')",
        "import _host; _host.call(b'C' + b'\\xff' * 100)",
        "import sys; sys.modules.clear()",
        "import builtins; builtins.__dict__.clear()",
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Kernel': o._commands = None",
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Kernel': o._report = print",
        "import sys; sys.stdout = None; print(1)",
        "import sys; sys.stdout.close()",
        "import os; os.close(1); print(2)",
        "import os; os.abort()",
        "import ctypes; ctypes.string_at(0)",
    ):
        with planaria.Session() as victim:
            victim.execute("kept = 1")
            victim.run(source)
            victim.run("1")
            victim.reset()
            assert victim.execute("2").value == 2, source
    assert session.execute("kept").value == 1


def test_forged_outputs(session: Any) -> None:
    """An output that cannot be read is shown as one that says so; with names other than texts it is a crash."""
    session.execute(
        "import _host\nfrom planaria_kernel.protocol import encode\n"
        "def show(data): _host.call(b'D' + encode(('display', data, {})))\n"
        "import datetime\nfar = encode(datetime.date(2024, 1, 1)).replace(encode(2024), encode(99999))\nkept = 1"
    )
    result = session.execute(
        "_host.call(b'D' + encode(('display', {'text/plain': '#'}, {})).replace(encode('#'), far))\n5"
    )
    assert result.value == 5
    assert "cannot be shown" in result.outputs[0].data["text/plain"]
    assert isinstance(session.run("show({1: 'x'})").error, planaria.CrashError)
    assert session.execute("show({'text/plain': 1})\nkept").value == 1


def test_forged_reports(session: Any) -> None:
    """A report that the guest made up itself gives a result or an error of ours, never a broken session."""
    session.execute(
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Kernel': kernel = o\n"
        "from planaria_kernel.protocol import encode\nimport _host\n"
        "def forge(report): kernel._report = lambda _: (_host.call(b'R' + encode(report)), vars(kernel).pop('_report'))"
    )
    for report in (
        "('done', {'value': b'nonsense'})",
        "('done', {'value': 5})",
        "('done', {'value': b'', 'repr': 5})",
        "('error', {'type': 5, 'message': [], 'traceback': {}, 'lineno': 'x', 'exit_code': 'y'})",
        "('error', {})",
        "('error', {'given_up': [[], 'a', 99]})",
        "('error', {'given_up': 5})",
        "('waiting', [(1,)], None, [])",
        "('waiting', [], -5.0, [])",
        "('waiting', [], float('nan'), [])",
        "('waiting', [(2**70, 'print', (), {})], None, [])",
        "('tier', ['numpy'])",
        "('tier', 5)",
        "('answer', 5)",
        "()",
        "5",
    ):
        result = session.run(f"forge({report})", timeout=1.0)
        assert isinstance(result, planaria.Result)
        assert str(result) is not None
        assert repr(result)
        assert session.execute("1").value == 1, report


def test_raised_errors_show_where_the_code_failed(session: Any) -> None:
    """What `execute` raises has the traceback of the code as a note, once."""
    with pytest.raises(planaria.ExecutionError) as caught:
        session.execute("def f():\n    return 1 / 0\nf()", 60, name="mine")
    [note] = caught.value.__notes__
    assert note == caught.value.traceback.rstrip("\n")
    assert 'File "mine", line 2, in f' in note


def test_timeout_reports_line_and_state(session: Any) -> None:
    """The message of a timeout names what timed out, the line, and what was kept."""
    error = session.run("x = 1\nwhile True: pass", timeout=0.2).error
    assert str(error) == (
        "the execution timed out after 0.2 s at line 2; it was stopped at a line and the session has the state "
        "reached there"
    )
    assert session.execute("x").value == 1


def test_session_is_not_pickled(session: Any) -> None:
    """Pickling a session is a TypeError that names `snapshot_state`."""
    with pytest.raises(TypeError, match=r"snapshot_state\(\)"):
        pickle.dumps(session)


def test_session_shows_its_executions(session: Any) -> None:
    """The repr of a session has its executor and number of executions, and says when it is closed."""
    session.execute("1")
    assert repr(session).endswith(", 1 execution>")
    session.run("1 / 0")
    assert repr(session).endswith(", 2 executions>")
    session.close()
    assert repr(session) == "<Session closed>"


def test_ignored_exceptions(session: Any) -> None:
    """What Python reports of exceptions that it ignores, and of threads, has no frames of the kernel."""
    result = session.run(
        "import threading\n"
        "class Left:\n    def __del__(self):\n        exit(1)\n"
        "Left()\n"
        "threading.Thread(target=lambda: exec(b'1/0')).start()\n"
        "None"
    )
    assert result.is_ok
    assert "in __del__\n" in result.stderr
    assert "SystemExit: 1\n" in result.stderr
    assert "Exception in thread Thread-" in result.stderr
    assert "ZeroDivisionError: division by zero\n" in result.stderr
    assert "planaria_kernel" not in result.stderr


def test_surrogates_in_scripts(session: Any) -> None:
    """A script may have bytes that are not UTF-8, as os.fsdecode gives them; other lone surrogates are a
    ValueError that names the line, and nothing is executed.
    """
    count = session.execution_count
    with pytest.raises(ValueError, match=r"the script has a lone surrogate, '\\ud800', in line 2"):
        session.bash("echo a\necho '\ud800'")
    assert session.execution_count == count
    assert session.bash("echo '\udc80'").stdout_bytes == b"\x80\n"
