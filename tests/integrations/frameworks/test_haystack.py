"""Agents of Haystack on sessions."""

from __future__ import annotations

import pytest

import planaria
from planaria.integrations.haystack import tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_tools_give_text_and_figures() -> None:
    """A figure is image content; what fails is text; a tool can be invoked and awaited."""
    with planaria.Session() as session:
        run_python, run_bash, *_ = tools(session)
        [text, image] = run_python.invoke(code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\nx = 3\nx")
        assert text.text.endswith("3")
        assert image.mime_type == "image/png"
        [text] = await run_python.invoke_async(code="x / 0")
        assert text.text.endswith("ZeroDivisionError: division by zero")
        [text] = await run_bash.invoke_async(command="sleep 100", timeout=0.5)
        assert "TimeoutError" in text.text
