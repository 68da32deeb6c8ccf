"""`planaria.widget`, clicked as its page does it: by messages."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("anywidget", reason="the extra `widget` is not installed")

import planaria


def click(widget: Any, action: str, *nodes: str, session: int = 0) -> None:
    """Send what the page sends."""
    widget._handle_custom_msg({"action": action, "nodes": list(nodes), "session": session}, [])


def identifier(widget: Any, code: str) -> str:
    return next(node["identifier"] for node in widget.nodes if node["code"] == code)


def test_clicks(session: Any) -> None:
    """Clicks rewind, fork and compare; what cannot be done is said."""
    session.run("x = 1")
    session.run("x = 2")
    widget = planaria.widget(session)
    click(widget, "compare", identifier(widget, "x = 1"), identifier(widget, "x = 2"))
    assert widget.comparison == "~ x: int = 1 -> int = 2"
    click(widget, "fork", identifier(widget, "x = 1"))
    assert [one.execute("x").value for one in widget.sessions] == [2, 1]
    gone = identifier(widget, "x = 2")
    click(widget, "rewind", identifier(widget, "x = 1"))
    assert (widget.message, widget.comparison) == ("", "")
    assert session.execute("x").value == 1
    click(widget, "rewind", gone)
    assert "no longer kept" in widget.message
    click(widget, "nonsense")
    assert "nonsense" in widget.message
    widget.sessions[1].close()


def test_text_of_the_guest(session: Any) -> None:
    """The page gets the text of cells as it is, and its module sets no HTML."""
    session.run("x = '</script><b>'")
    session.checkpoint("<i>\udcff")
    widget = planaria.widget(session)
    assert identifier(widget, "x = '</script><b>'")
    assert widget.nodes[-1]["labels"] == ["<i>?"]
    module = str(widget.get_state()["_esm"])
    assert "textContent" in module
    assert "innerHTML" not in module
    assert "insertAdjacentHTML" not in module
