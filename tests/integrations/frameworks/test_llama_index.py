"""Agents of LlamaIndex on sessions."""

from __future__ import annotations

import pytest

import planaria
from planaria.integrations.llama_index import code_execute_fn, tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_tools_give_text_and_figures() -> None:
    """A figure is an image block; what fails is text; one session is behind all tools, awaited or not."""
    with planaria.Session(callbacks=[{"name": "length", "fn": len}]) as session:
        run_python, run_bash, read_file, _ = tools(session)
        assert "await length(" in run_python.metadata.description
        assert sorted(run_python.metadata.get_parameters_dict()["properties"]) == ["code", "timeout"]
        drawn = await run_python.acall(
            code="import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('f', 'w').write('x')"
        )
        assert [block.block_type for block in drawn.blocks] == ["text", "image"]
        assert run_bash.call(command="cat f; exit 3").content == "x\nexit status 3"
        assert "No such file" in (await read_file.acall(path="absent")).content
        assert await code_execute_fn(session)("await length('abc')") == "3"
