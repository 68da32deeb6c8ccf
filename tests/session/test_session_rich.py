"""Rich outputs: displays, representations, figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import planaria

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n"


def test_display(session: Any) -> None:
    """display() shows every representation that an object has; data of images are bytes."""
    result = session.execute(
        "class Rich:\n"
        "    def _repr_html_(self): return '<b>x</b>'\n"
        f"    def _repr_png_(self): return {PNG!r}\n"
        "    def __repr__(self): return 'plain'\n"
        "display(Rich(), 'text')\n"
        "display({'text/markdown': '*a*', 'application/json': {'a': [1]}}, raw=True, metadata={'k': 1})\n"
        "Rich()"
    )
    first, second, third, last = result.outputs
    assert first.data == {"text/html": "<b>x</b>", "image/png": PNG, "text/plain": "plain"}
    assert second.data == {"text/plain": "'text'"}
    assert (third.data["application/json"], third.metadata) == ({"a": [1]}, {"k": 1})
    assert last.data == first.data
    assert isinstance(result.value, planaria.Repr)
    assert (str(first), result.repr) == ("plain", "plain")
    bundle, metadata = first._repr_mimebundle_()
    assert isinstance(bundle["image/png"], str)
    assert metadata == {}
    page = result._repr_html_()
    assert "image/png;base64," in page
    assert "<b>x</b>" not in page  # shown in a frame of its own


def test_mime_bundles(session: Any) -> None:
    """`_repr_mimebundle_` wins, with metadata; a representation that raises is reported on standard error."""
    result = session.execute(
        "class A:\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/plain': 'own', 'text/x-own': 'y'}, {'text/x-own': {'w': 1}}\n"
        "    def _repr_html_(self): raise ValueError('broken')\n"
        "A()"
    )
    assert result.outputs[0].data == {"text/plain": "own", "text/x-own": "y"}
    assert result.outputs[0].metadata == {"text/x-own": {"w": 1}}
    assert "broken" in result.stderr


def test_clear_output(session: Any) -> None:
    """clear_output() forgets what was shown before."""
    result = session.execute("display(1)\nclear_output()\ndisplay(2)")
    assert [str(output) for output in result.outputs] == ["2"]


def test_plain_values_have_no_outputs(session: Any) -> None:
    """A value without rich forms is a value and a text only; a silent one is neither."""
    result = session.execute("[1, 2]")
    assert (result.outputs, result.repr, result.value) == ([], "[1, 2]", [1, 2])
    assert session.execute("[1, 2];").repr is None


def test_flood_of_displays(new_session: Callable[..., Any]) -> None:
    """Rich outputs are bounded like the streams, and the result says so."""
    session = new_session(limits=planaria.Limits(output=10_000))
    result = session.execute("for i in range(1000): display('x' * 1000)")
    assert result.outputs_truncated
    assert 0 < len(result.outputs) < 10
    assert not session.execute("display(1)").outputs_truncated


@pytest.mark.full
def test_data_frame(session: Any) -> None:
    """A data frame is shown as a table."""
    result = session.execute("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
    assert "<table" in result.outputs[0].data["text/html"]


@pytest.mark.full
def test_figures(session: Any) -> None:
    """Figures of matplotlib that are open at the end of a cell are shown as PNG, each once."""
    result = session.execute(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('t');", timeout=300
    )
    assert [output.data["image/png"][:8] for output in result.outputs] == [PNG]
    assert session.execute("1").outputs == []
    shown = session.execute("plt.plot([1]); plt.show()\nplt.plot([2]); plt.show()\n5", timeout=300)
    assert (len(shown.outputs), shown.value) == (2, 5)
    # Characters that no font has: one word on how to get one, after matplotlib's own.
    boxes = session.execute("plt.plot([1])\nplt.title('\u4e2d \uac00 \u3042');", timeout=300)
    assert boxes.stderr.count("missing from font") == 3
    assert boxes.stderr.count("fonts-noto-cjk") == 1
    assert (
        "fonts-noto-cjk" not in session.execute("plt.plot([1])\nplt.title('\U0001f600');", timeout=300).stderr
    )


_MAKE_FONT = """
import matplotlib, os
from fontTools.ttLib import TTFont

def make_font(path, name, characters):
    font = TTFont(os.path.join(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"))
    for table in font["cmap"].tables:
        table.cmap = {ord(character): "H" for character in characters}
    for record in font["name"].names:
        record.string = name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    font.save(path)
"""


@pytest.mark.full
def test_fonts_of_the_session(session: Any) -> None:
    """Chinese, Japanese and Korean characters are drawn with a font in the session's directories of fonts."""
    session.execute(f"{_MAKE_FONT}import matplotlib.pyplot as plt", timeout=300)
    draw = "plt.plot([1])\nplt.title('a \u4e2d \uac00');"
    boxes = session.execute(draw, timeout=300)
    session.execute("make_font('/usr/share/fonts/cjk/Han.ttf', 'Han', '\u4e2d')", timeout=300)
    half = session.execute(draw, timeout=300)
    assert half.stderr.count("missing from font") == 1
    session.execute("make_font(os.path.expanduser('~/.local/share/fonts/Hangul.ttf'), 'Hangul', '\uac00')")
    session.files.write_text("/home/user/.local/share/fonts/broken.ttf", "no font")
    whole = session.execute(draw, timeout=300)
    assert whole.stderr == ""
    named = session.execute("plt.plot([1])\nplt.title('\uac00', family='Hangul');", timeout=300)
    assert named.stderr == ""
    assert len({result.outputs[0].data["image/png"] for result in (boxes, half, whole)}) == 3


def test_text_of_results(session: Any) -> None:
    """A result reads like a terminal, in a notebook like a page with everything escaped."""
    result = session.run("print('<out>')\nimport sys; print('err', file=sys.stderr)\n'<v>'")
    assert str(result) == "<out>\n'<v>'\nerr"
    assert repr(result) == "<Result 1: value='<v>', stdout='<out>\\n', stderr='err\\n'>"
    assert "&lt;out&gt;" in result._repr_html_()
    assert "<out>" not in result._repr_html_()
    failed = session.run("1 / 0")
    assert str(failed).endswith("ZeroDivisionError: division by zero")
    assert "Traceback" in str(failed)
    assert repr(failed) == "<Result 2: error=ZeroDivisionError: division by zero>"
    assert repr(session.run("x = 1")) == "<Result 3: ok>"
    assert (result.exit_code, failed.exit_code) == (0, 1)


def test_outputs_are_shown_and_saved_by_type(tmp_path: Path) -> None:
    """An output's repr has types and sizes; `save` writes the type of the suffix, and refuses another."""
    image = planaria.Output({"text/plain": "<Figure>", "image/png": bytes(45_000)})
    assert repr(image) == "<Output image/png 45 KB, text/plain 8 bytes>"
    image.save(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes() == bytes(45_000)
    image.save(tmp_path / "figure")
    assert (tmp_path / "figure").read_bytes() == bytes(45_000)
    image.save(str(tmp_path / "figure.txt"))
    assert (tmp_path / "figure.txt").read_text() == "<Figure>"
    with pytest.raises(ValueError, match="image/png, text/plain"):
        image.save(tmp_path / "figure.svg")
    result = planaria.Result(outputs=[planaria.Output({"text/plain": "x"}), image])
    assert result.figures == [image]


def test_results_as_json(new_session: Callable[..., Any]) -> None:
    """A result is JSON with the value's repr, the output, rich outputs as base64, and the error."""
    session = new_session()
    shown = json.loads(
        session.run("print('out')\ndisplay({'image/png': b'x'}, raw=True)\n{1: object}").to_json()
    )
    assert (shown["value"], shown["stdout"], shown["error"]) == ("{1: <class 'object'>}", "out\n", None)
    assert shown["outputs"][0] == {"image/png": "eA=="}
    error = json.loads(session.run("1 / 0").to_json(indent=1))["error"]
    assert (error["type"], error["message"]) == ("ZeroDivisionError", "ZeroDivisionError: division by zero")
    assert "line 1" in error["traceback"]


def test_objects_of_a_host_notebook(session: Any) -> None:
    """In a notebook of the host, sessions, snapshots and files show themselves as tables, with text escaped."""
    session.run("x = '<b>'")
    session.files.write_text("<i>.txt", "four")
    assert "x = &#x27;&lt;b&gt;&#x27;" in session._repr_html_()
    assert "<td>&lt;i&gt;.txt</td><td>4</td>" in session.files._repr_html_()
    snapshot = session.snapshot_state()
    assert f"<td>{snapshot.digest[:12]}</td>" in snapshot._repr_html_()


def test_mime_bundles_of_a_host_notebook(session: Any) -> None:
    """They have a plain text, too, and strings that a notebook can store; a result has its only figure."""
    session.files.write_text("broken-\udcff", "")
    result = session.run("display({'image/png': b'x'}, raw=True)\n'<b>'")
    for shown in (session, session.files, session.snapshot_state(), result):
        bundle = shown._repr_mimebundle_()
        assert json.loads(json.dumps(bundle, ensure_ascii=False).encode("utf-8")) == bundle
        assert bundle["text/html"] == shown._repr_html_().replace("\udcff", "?")
        assert bundle["text/plain"] == repr(shown)
        assert "<b>" not in bundle["text/html"]
    assert result._repr_mimebundle_()["image/png"] == "eA=="
    two = session.run("display({'image/png': b'x'}, raw=True)\ndisplay({'image/png': b'y'}, raw=True)")
    assert "image/png" not in two._repr_mimebundle_()
