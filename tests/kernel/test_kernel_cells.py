"""Cells: what a notebook user expects of them."""

from __future__ import annotations

import ast
import gc
import linecache
import pickle
import sys
from typing import Any

import pytest

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol import Repr, decode


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("x = 1", None),
        ("1 + 1", 2),
        ("a = 1\na + 1", 2),
        ("a = 1; a + 1", 2),
        ("1;", None),
        ("1; # shown not", None),
        ("1  # a; b", 1),
        ("';'", ";"),
        ("';' # ;", ";"),
        ("x = 5;", None),
        ("", None),
        ("   \n\n", None),
        ("# nothing", None),
        ("None", None),
        ("if True: 3", None),
        ("for i in range(3): i", None),
        ("[i * i for i in range(4)]", [0, 1, 4, 9]),
        ("'''a\nb'''", "a\nb"),
        ("lambda: 1", "function"),
        ("(yes := 4)", 4),
        ("import math", None),
        ("'a' 'b'", "ab"),
        ("@property\ndef f(self): ...", None),
    ],
)
def test_value(host: Any, source: str, value: Any) -> None:
    """The value of a cell is that of a last expression; `;` suppresses it, statements have none."""
    got = host.value(source)
    assert (got.type if isinstance(got, Repr) else got) == value


def test_state_lasts(host: Any) -> None:
    """Variables, functions and imports of one cell are there in the next."""
    host.run("import math\ndef f(x): return math.sqrt(x)")
    host.run("y = f(9)")
    assert host.value("y") == 3.0


def test_underscore(host: Any) -> None:
    """`_` is the last value that was shown, and is not a user variable."""
    host.run("41")
    host.run("z = 1")
    assert host.value("_ + 1") == 42
    assert list(host.send("names")[1]) == ["z"]


def test_main_is_a_module(host: Any) -> None:
    """Cells run in a real `__main__`: pickle, dataclasses and type hints work."""
    source = """
import dataclasses, pickle, typing, sys
@dataclasses.dataclass
class Point:
    x: 'int'
assert __name__ == "__main__" and sys.modules["__main__"].Point is Point
(pickle.loads(pickle.dumps(Point(3))).x, typing.get_type_hints(Point)["x"].__name__)
"""
    assert host.value(source) == (3, "int")


def test_future_statements_persist(host: Any) -> None:
    """A `from __future__` import holds for all cells after it."""
    host.run("from __future__ import annotations")
    assert host.value("def f(x: unknown): ...\nf.__annotations__") == {"x": "unknown"}


def test_source_is_found(host: Any) -> None:
    """`inspect.getsource` finds what a cell defined."""
    host.run("def f():\n    return 1  # here")
    assert host.value("import inspect; inspect.getsource(f)") == "def f():\n    return 1  # here"


def test_foreign_value(host: Any) -> None:
    """A value that is not serialisable arrives as a Repr with its text and type, also inside others."""
    host.run("class Thing:\n    def __repr__(self): return '<a thing>'")
    assert host.value("Thing()") == Repr("<a thing>", "Thing")
    assert host.value("[Thing(), 1]") == [Repr("<a thing>", "Thing"), 1]


@pytest.mark.parametrize("body", ["raise ValueError('no')", "return self.__repr__()", "return 5"])
def test_hostile_repr(host: Any, body: str) -> None:
    """A repr that raises, recurses or returns nonsense does not fail the cell."""
    host.run(f"class Thing:\n    def __repr__(self): {body}")
    assert host.value("Thing()").text.startswith("<Thing object; its repr raised")


def test_cyclic_and_deep_values(host: Any) -> None:
    """A value that contains itself, or is nested very deeply, arrives as a bounded Repr."""
    assert host.value("a = []; a.append(a); a").type == "list"
    got = host.value("b = []\nfor _ in range(100_000): b = [b]\nb")
    assert isinstance(got, Repr)
    assert len(got.text) < 100_000


def test_large_text_is_cut(host: Any) -> None:
    """The text of a large value is bounded, and the value itself arrives whole."""
    report = host.run("list(range(1_000_000))")
    assert len(report[1]["repr"]) < 100_000
    assert decode(report[1]["value"]) == list(range(1_000_000))


def test_repr_is_pythons(host: Any) -> None:
    """The text of ordinary values is exactly what repr() gives."""
    for source in [
        "{'b': 1, 'a': [1, (2,), {3}]}",
        "'x' * 50",
        "frozenset()",
        "[None, 1.5, b'x']",
        "10**30",
        "set()",
    ]:
        assert host.run(source)[1]["repr"] == repr(eval(source))


def test_clear(host: Any) -> None:
    """Clearing takes the user's variables and leaves modules, host functions and the kernel's names."""
    host.declare("f")
    host.run("import math\nx = 1\ndisplay = 5")
    host.send("clear")
    assert host.error("x")["type"] == "NameError"
    assert host.value("callable(display) and callable(f) and __name__ == '__main__'") is True
    assert host.send("names")[1] == {}


def test_evaluate(host: Any) -> None:
    """An expression can be evaluated without being a cell; its error is an error report."""
    host.run("x = 20")
    assert host.send("evaluate", "x + 1") == ("answer", 21)
    assert host.send("evaluate", "y")[0] == "error"
    host.run("a = []; a.append(a)")
    assert host.send("evaluate", "a")[1].type == "list"


def test_names(host: Any) -> None:
    """User variables are listed with the names of their types and short texts."""
    host.run("n = 1\ntext = 'x' * 1000\n_hidden = 2")
    names = host.send("names")[1]
    assert names["n"] == ("int", "1")
    assert names["_hidden"] == ("int", "2")
    assert len(names["text"][1]) < 300


def test_tier(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports of modules that this tier lacks are reported before anything has run, wherever they stand."""
    for name in ("numpy", "pandas"):  # other tests may have imported them
        monkeypatch.delitem(sys.modules, name, raising=False)
    host.send("configure", {"tier_modules": ["numpy", "pandas"]})
    source = "x = 1\ndef f():\n    import numpy.linalg, os\n    from pandas import DataFrame"
    assert host.run(source, tier="core") == (
        "tier",
        ["numpy", "pandas"],
    )
    assert host.error("x")["type"] == "NameError"
    assert host.value("important = 2; important") == 2


def test_import_that_reaches_a_stub(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import that could not be seen before is reported to the host when it is reached."""
    host.send("configure", {"tier_modules": ["no_such_module"]})
    monkeypatch.setattr(sys, "meta_path", [host.kernel.imports, *sys.meta_path])
    host.run("import importlib\nimportlib.import_module('no_such_module.inner')")
    assert host.stubs == [["no_such_module"]]


def test_interfering_with_display_hook(host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A display hook of the user's own does not cost the cell its value."""
    host.run("import sys\nsys.displayhook = print")
    assert host.value("1 + 1") == 2


def test_null_characters_and_surrogates(host: Any) -> None:
    """Source that Python cannot even read gives an error report."""
    assert host.run("x = '\0'")[0] == "error"
    assert host.run("x = '\ud800'")[0] == "error"
    assert host.value("1") == 1


def test_unknown_command(host: Any) -> None:
    """A command that the kernel does not know, or garbage, gives an error report."""
    assert host.send("fly")[0] == "error"
    host.command = b"\xff"
    host.kernel.enter()
    assert host.reports[-1][1]["type"] == ProtocolError.__name__


def test_begin(host: Any) -> None:
    """A command that begins with settings is done after the kernel has taken them, and not when it refuses them."""
    declared = {"callbacks": [{"name": "ask", "description": "", "signature": []}]}
    assert host.send("begin", declared, ("run", "x = ask.__name__", 1))[0] == "done"
    assert host.send("begin", {}, ("evaluate", "x")) == ("answer", "ask")
    report = host.send("begin", {"no such setting": 1}, ("run", "x = 2", 2))
    assert report[0] == "error"
    assert "no such setting" in report[1]["message"]
    assert host.send("evaluate", "x") == ("answer", "ask")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("\ufeff6 * 7", 42),
        ("    x = 6\n    x * 7", 42),
        ("\u00a0\u00a0x = 6\n\u00a0\u00a0x * 7", 42),
        ("if True:\n\u00a0   x = 42\nx", 42),
        ("\n\n   def f():\n       return 42\n   f()", 42),
        ('    text = """\n    a"""\n    text', "\na"),
    ],
)
def test_pasted_cells(host: Any, source: str, value: Any) -> None:
    """A cell runs without its byte order mark, no-break spaces in front of lines, and common indentation."""
    assert host.value(source) == value


def test_what_is_indented_wrongly_stays_an_error(host: Any) -> None:
    """Indentation that is not common to all lines is an error at its line."""
    error = host.error("    x = 1\n      y = 2")
    assert (error["type"], error["lineno"]) == ("IndentationError", 2)
    assert host.error("x = 1\n  y = 2")["lineno"] == 2


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("%load_ext autoreload", "leave it out"),
        ("%conda install requests", "deps.add"),
        ("x = %unknown f()", "plain Python"),
        ("%%unknown\nx", "plain Python"),
        ("%cd /\n%unknown", "plain Python"),
        ("x = 1\n%autoreload 2", "leave it out"),
        ("%%time\nx = 1\n%unknown", "plain Python"),
    ],
)
def test_syntax_of_ipython_is_explained(host: Any, source: str, hint: str) -> None:
    """A magic that there is not is a SyntaxError that says what to write instead."""
    error = host.error(source)
    assert error["type"] == "SyntaxError"
    assert hint in error["message"]


@pytest.mark.parametrize("source", ["x = 5 %", "x != ", "a ! b"])
def test_other_mistakes_keep_their_message(host: Any, source: str) -> None:
    """A `%` or `!` in a line of Python says nothing of magic commands."""
    message = host.error(source)["message"]
    assert "IPython" not in message
    assert "shell" not in message


class _Parses:
    """Garbage that parses something when it is collected, as formatting a traceback does."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        def parse(depth: int) -> None:
            if depth:
                parse(depth - 1)
            else:
                ast.parse("x = 1")

        parse(20)


def test_finalizers_that_parse(host: Any) -> None:
    """A cell runs also when the garbage collector runs at any point of its compilation and finalizers parse."""
    source = "\n".join(f"x{number} = [{number}, (1, 2), dict(a=3)]" for number in range(100)) + "\nx99"
    thresholds = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for number in range(20):
            for _ in range(50):
                _Parses()
            assert host.value(f"{source} + [{number}]") == [99, (1, 2), {"a": 3}, number]
    finally:
        gc.set_threshold(*thresholds)


@pytest.mark.parametrize(
    ("source", "is_kept"),
    [
        ("x = 1", False),
        ("x = 1\nx", False),
        ("def f(): 1 / 0", True),
        ("f = lambda: 1 / 0", True),
        ("class A: x = 1", True),
        ("try:\n    1 / 0\nexcept Exception as error:\n    kept = error", True),
        ("import sys; frame = sys._getframe()", True),
        ("1 / 0", True),
    ],
)
def test_sources_are_kept_while_something_may_show_them(host: Any, source: str, is_kept: bool) -> None:
    """The source of a cell can be looked up by its name as long as a function, a frame or a traceback of it
    may be left, and is forgotten with it otherwise.
    """
    host.run(source)
    name = f"<cell {host.count}>"
    assert (name in linecache.cache) == is_kept
    for _ in range(3):  # from the cells compiled before, too
        host.run(source)
        assert (f"<cell {host.count}>" in linecache.cache) == is_kept


def test_name_of_a_cell_is_a_string(host: Any) -> None:
    """What code sees of the name of its cell can be pickled and sent as the string that it is."""
    code = "import pickle, sys; sys._getframe().f_code.co_filename"
    assert host.value(code) == f"<cell {host.count}>"
    host.run("import pickle, sys; data = pickle.dumps(sys._getframe().f_code.co_filename)")
    found = pickle.loads(host.value("data"))
    assert (type(found), found) == (str, f"<cell {host.count - 1}>")


def test_code_that_runs_again_has_the_name_of_its_cell(host: Any) -> None:
    """A source that comes again runs under the name of each cell, and what is left of an earlier one keeps the
    name of that.
    """
    host.run("import sys\nkept = []")
    nothing_left = "name = sys._getframe().f_code.co_filename"
    frame_left = "kept.append(sys._getframe())"
    error_left = (
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    kept.append(error.__traceback__.tb_frame)"
    )
    names = []
    for source in [nothing_left, frame_left, error_left] * 3:
        host.run(source)
        if source == nothing_left:
            assert host.value("name") == f"<cell {host.count - 1}>"
        else:
            names.append(f"<cell {host.count}>")
    assert host.value("[frame.f_code.co_filename for frame in kept]") == names
