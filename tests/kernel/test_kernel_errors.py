"""Error reports: the user's frames, the right line, and no way to lose the report."""

from __future__ import annotations

import sys
from typing import Any

import pytest


def test_traceback(host: Any) -> None:
    """The traceback has the user's frames with source lines and carets, and nothing of the kernel or
    libraries.
    """
    host.run("import json\ndef f(x):\n    return json.loads(x)")
    error = host.error("y = 1\nf('{')")
    assert (error["type"], error["module"]) == ("JSONDecodeError", "json.decoder")
    trace = error["traceback"]
    assert "  File \"<cell 2>\", line 2, in <module>\n    f('{')\n" in trace
    assert '  File "<cell 1>", line 3, in f\n    return json.loads(x)\n' in trace
    assert trace.count("File ") == 2
    assert error["lineno"] == 3


def test_carets(host: Any) -> None:
    """The place within the line is marked as Python marks it."""
    assert "    ~^~\n" in host.error("1/0")["traceback"]


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ("x = 1\ny = = 2", 2, "y = = 2"),
        ("def f():\nreturn", 2, "return"),
        ("(", 1, "("),
        ("x = 'a", 1, "x = 'a"),
    ],
)
def test_syntax_error(host: Any, source: str, line: int, text: str) -> None:
    """A SyntaxError points at the line, with its text and no frames."""
    error = host.error(source)
    assert error["lineno"] == line
    assert text in error["traceback"]
    assert f'File "<cell 1>", line {line}' in error["traceback"]
    assert "Traceback" not in error["traceback"]


def test_chained(host: Any) -> None:
    """Causes and contexts are shown, each with user frames only."""
    error = host.error("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('outer') from e")
    assert "direct cause" in error["traceback"]
    assert "ZeroDivisionError: division by zero" in error["traceback"]
    assert error["type"] == "ValueError"
    assert error["lineno"] == 4


def test_group(host: Any) -> None:
    """An exception group is shown with its members."""
    error = host.error("raise ExceptionGroup('several', [ValueError('a'), TypeError('b')])")
    assert "ValueError: a" in error["traceback"]
    assert "TypeError: b" in error["traceback"]


@pytest.mark.parametrize(
    ("source", "code"),
    [("raise SystemExit", 0), ("import sys; sys.exit(3)", 3), ("raise SystemExit('bye')", 1)],
)
def test_exit(host: Any, source: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """SystemExit ends the cell with its status, and a text goes to standard error."""
    error = host.error(source)
    assert (error["type"], error["exit_code"]) == ("SystemExit", code)
    assert capsys.readouterr().err == ("bye\n" if code == 1 else "")
    assert host.value("1") == 1


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError",
        "return str(self)",
        "return 5",
        "raise KeyboardInterrupt",
        "raise SystemExit",
        "1/0",
    ],
)
def test_hostile_text(host: Any, body: str) -> None:
    """An exception whose own text raises, recurses or is none is reported by its type."""
    error = host.error(
        f"class Bad(Exception):\n    def __str__(self): {body}\n    __repr__ = __str__\nraise Bad"
    )
    assert error["type"] == "Bad"
    assert error["lineno"] == 4
    assert "Bad" in error["traceback"]


def test_deep_recursion(host: Any) -> None:
    """Unbounded recursion is a RecursionError with a short traceback."""
    error = host.error("def f(n): return f(n + 1)\nf(0)")
    assert error["type"] == "RecursionError"
    assert len(error["traceback"]) < 3000
    assert host.value("1") == 1


def test_deep_traceback(host: Any) -> None:
    """Of a very deep stack the outermost and the innermost frames are shown, and how many are not."""
    source = """
def f(n): return g(n - 1)
def g(n): return f(n - 1) if n > 0 else 1 / 0
import sys
limit = sys.getrecursionlimit()
sys.setrecursionlimit(10_000)
try:
    f(5_000)
finally:
    sys.setrecursionlimit(limit)
"""
    trace = host.error(source)["traceback"]
    assert trace.count("in f\n") + trace.count("in g\n") == 999
    assert f"  … {5_003 - 1000} frames left out …\n" in trace
    assert trace.endswith("ZeroDivisionError: division by zero\n")


def test_memory_error(host: Any) -> None:
    """MemoryError is reported like any other."""
    assert host.error("x = bytearray(1 << 62)")["type"] in ("MemoryError", "OverflowError")


def test_huge_message(host: Any) -> None:
    """A message of megabytes is cut, and says so."""
    error = host.error("raise ValueError('x' * 10_000_000)")
    assert len(error["message"]) < 100_000
    assert "left out" in error["message"]


def test_long_chain(host: Any) -> None:
    """A chain of thousands of contexts still gives a report of bounded size."""
    source = (
        "def f(n):\n    error = None\n    for i in range(n):\n        new = ValueError(i)\n"
        "        new.__context__ = error\n        error = new\n    raise error\nf(5000)"
    )
    error = host.error(source)
    assert error["type"] == "ValueError"
    assert len(error["traceback"]) < 400_000


def test_exception_with_hostile_class(host: Any) -> None:
    """An exception whose attributes raise is still reported."""
    source = (
        "class Bad(Exception):\n    @property\n    def __cause__(self): raise OSError\n"
        "    def __getattribute__(self, name): raise OSError(name)\nraise Bad"
    )
    assert host.error(source)["type"] == "Bad"


def test_base_exception(host: Any) -> None:
    """Exceptions that do not derive from Exception end the cell, not the kernel."""
    assert host.error("class Stop(BaseException): ...\nraise Stop('x')")["message"] == "x"
    assert host.error("raise KeyboardInterrupt")["type"] == "KeyboardInterrupt"
    assert host.error("raise GeneratorExit")["type"] == "GeneratorExit"
    assert host.error("raise StopIteration(5)")["type"] == "StopIteration"


def test_notes_and_suggestions(host: Any) -> None:
    """Notes are shown, and so is what Python suggests for a misspelt name."""
    assert "a note" in host.error("e = ValueError('x'); e.add_note('a note'); raise e")["traceback"]
    if sys.version_info >= (3, 12):  # before, only the interpreter itself could
        assert "Did you mean: 'value'" in host.error("value = 1\nvalu")["traceback"]


def test_key_error(host: Any) -> None:
    """The message of a KeyError is the key as Python shows it."""
    assert host.error("{}['k']")["message"] == "'k'"


def test_missing_modules(host: Any) -> None:
    """The message for a missing module is CPython's, and the traceback says how to add its package."""
    error = host.error("import nonexistent.xyz")
    assert error["message"] == "No module named 'nonexistent'"
    assert "site-packages" not in error["traceback"]
    assert "packages=['nonexistent']" in error["traceback"]
    assert "deps.add('nonexistent')" in error["traceback"]
    assert "display()" in host.error("from IPython.display import display")["traceback"]
    assert "packages=" not in host.error("import os.nonexistent")["traceback"]
