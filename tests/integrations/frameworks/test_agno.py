"""Agents of Agno on sessions."""

from __future__ import annotations

from agno.tools.function import FunctionCall

import planaria
from planaria.integrations.agno import tools


def test_tools_give_text_and_figures() -> None:
    """A figure is an image of the result; what fails is text; the parameters are the tool's own."""
    with planaria.Session() as session:
        run_python = tools(session)[0]
        assert run_python.to_dict()["parameters"]["required"] == ["code"]
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nx = 3\nx"
        drawn = FunctionCall(function=run_python, arguments={"code": code}).execute().result
        assert drawn.content.endswith("3")
        assert [image.mime_type for image in drawn.images] == ["image/png"]
        failed = FunctionCall(function=run_python, arguments={"code": "x / 0"}).execute().result
        assert failed.content.endswith("ZeroDivisionError: division by zero")
