"""Rich output: display(), representations of values, figures."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest


def test_display(host: Any) -> None:
    """display() shows each object with its text and every representation it has."""
    host.run("class T:\n    def __repr__(self): return 't'\n    def _repr_html_(self): return '<b>t</b>'")
    host.run("display(T(), 5)")
    assert host.outputs == [
        ("display", {"text/html": "<b>t</b>", "text/plain": "t"}, {}),
        ("display", {"text/plain": "5"}, {}),
    ]


def test_rich_value(host: Any) -> None:
    """The value of a cell is shown when it is more than a text, and not otherwise."""
    host.run("class T:\n    def _repr_png_(self): return b'png', {'width': 5}")
    host.run("T()")
    kind, bundle, metadata = host.outputs.pop()
    assert (kind, bundle["image/png"], metadata) == ("result", b"png", {"image/png": {"width": 5}})
    host.run("[1]")
    host.run("T();")
    assert host.outputs == []


def test_mime_bundle_wins(host: Any) -> None:
    """`_repr_mimebundle_` wins over methods for single types, which fill in what it leaves out."""
    host.run(
        "class T:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/html': 'bundle', 'x/y': 1}, {'x/y': {'a': 1}}\n"
        "    def _repr_html_(self): return 'html'\n    def _repr_latex_(self): return '$x$'\ndisplay(T())"
    )
    _, bundle, metadata = host.outputs[0]
    assert (bundle["text/html"], bundle["x/y"], bundle["text/latex"]) == ("bundle", 1, "$x$")
    assert metadata == {"x/y": {"a": 1}}


def test_values_that_show_themselves(host: Any) -> None:
    """The last thing that a value shows by `_ipython_display_` is the value of the cell, also where it fails."""
    host.run(
        "class T:\n    def _ipython_display_(self):\n"
        "        display({'x/y': 1}, raw=True); display({'x/y': 2}, raw=True)"
    )
    host.run("T()")
    assert host.outputs == [("display", {"x/y": 1}, {}), ("result", {"x/y": 2}, {})]
    host.outputs.clear()
    host.run("class F:\n    def _ipython_display_(self): display({'x/y': 3}, raw=True); 1 / 0\nF()")
    assert host.outputs == [("result", {"x/y": 3}, {})]


@pytest.mark.parametrize("error", ["SystemExit(3)", "GeneratorExit()", "ValueError(1)"])
def test_values_that_fail_to_show_themselves(
    host: Any, capsys: pytest.CaptureFixture[str], error: str
) -> None:
    """What `_ipython_display_` raises is said on standard error and does not end the cell; what else a value has
    is shown.
    """
    host.run(
        f"class T:\n    def _ipython_display_(self): raise {error}\n    def _repr_html_(self): return 'h'"
    )
    assert host.run("display(T()); x = 1")[0] == "done"
    assert host.run("x")[1]["repr"] == "1"
    assert host.run("T()")[0] == "done"
    assert [(kind, bundle["text/html"]) for kind, bundle, _ in host.outputs] == [
        ("display", "h"),
        ("result", "h"),
    ]
    assert capsys.readouterr().err.count(f"T._ipython_display_ raised {error.partition('(')[0]}") == 2


def test_failing_representation(host: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A representation that raises is left out and named on standard error; None is left out silently."""
    host.run(
        "class T:\n    def _repr_html_(self): 1/0\n    def _repr_svg_(self): return None\nt = T()\ndisplay(t)"
    )
    assert list(host.outputs[0][1]) == ["text/plain"]
    assert "_repr_html_ raised ZeroDivisionError" in capsys.readouterr().err


def test_objects_that_answer_to_any_name(host: Any) -> None:
    """An object with `__getattr__` for everything, and a class, have no representations."""
    host.run("class Any:\n    def __getattr__(self, name): return lambda *a, **k: 'x'\ndisplay(Any(), Any)")
    assert [list(bundle) for _, bundle, _ in host.outputs] == [["text/plain"], ["text/plain"]]


def test_raw_and_filters(host: Any) -> None:
    """A raw mime bundle is shown as it is; include and exclude choose types."""
    host.run("display({'text/html': 'x'}, raw=True, metadata={'a': 1})")
    host.run("class T:\n    def _repr_html_(self): return 'h'\n    def _repr_svg_(self): return 's'")
    host.run("display(T(), include=['text/html'])\ndisplay(T(), exclude=['text/html', 'text/plain'])")
    assert [output[1] for output in host.outputs] == [
        {"text/html": "x"},
        {"text/html": "h"},
        {"image/svg+xml": "s"},
    ]


def test_clear_output(host: Any) -> None:
    """clear_output() asks the host to forget what was shown."""
    host.run("clear_output(wait=True)")
    assert host.outputs == [("clear", {}, {"wait": True})]


def test_too_large(host: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A representation over the bound is left out, and that is said."""
    host.run("class T:\n    def _repr_html_(self): return 'x' * 40_000_000\nt = T()\ndisplay(t)")
    assert list(host.outputs[0][1]) == ["text/plain"]
    assert "left out" in capsys.readouterr().err


def test_frame(host: Any) -> None:
    """A DataFrame is shown as HTML."""
    pytest.importorskip("pandas")
    host.run("import pandas as pd\npd.DataFrame({'a': [1]})")
    assert "<table" in host.outputs[0][1]["text/html"]


@pytest.fixture
def figures(host: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("matplotlib")
    from planaria_kernel.execution import figures

    monkeypatch.setenv("MPLBACKEND", figures.BACKEND)
    import matplotlib

    matplotlib.use(figures.BACKEND)
    figures.connect(host.kernel.display.show)
    yield host
    importlib.import_module("matplotlib.pyplot").close("all")


def test_figures_are_shown_at_the_end(figures: Any) -> None:
    """Figures that a cell has drawn are shown as PNG when it ends, once, and with an error too."""
    figures.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]); print()")
    assert [(kind, bundle["image/png"][:4]) for kind, bundle, _ in figures.outputs] == [
        ("display", b"\x89PNG")
    ]
    figures.run("plt.figure(); plt.plot([1])\nplt.figure(); plt.plot([2])\n1/0")
    assert len(figures.outputs) == 3
    figures.run("1")
    assert len(figures.outputs) == 3


def test_show(figures: Any) -> None:
    """plt.show() shows the figures at that moment, in order with text, and they are not shown again."""
    figures.run("import matplotlib.pyplot as plt\nplt.plot([1]); plt.show(); display('after')")
    assert ["image/png" in bundle for _, bundle, _ in figures.outputs] == [True, False]


def test_figure_as_value(figures: Any) -> None:
    """A figure that is the value of the cell is shown once; an empty one not at all."""
    figures.run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nfig")
    assert len(figures.outputs) == 1
    figures.run("plt.figure(); None")
    assert len(figures.outputs) == 1
    assert "matplotlib" in sys.modules
