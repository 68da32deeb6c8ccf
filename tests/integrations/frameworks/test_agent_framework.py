"""Agents of the Microsoft Agent Framework on sessions."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

import pytest
from mcp_tool_directory import PROCESS, define_server, is_there

import planaria
from planaria.integrations.agent_framework import PlanariaCodeActProvider, tools

pytestmark = pytest.mark.anyio

caller: ContextVar[str] = ContextVar("caller")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_tools_give_text_and_figures() -> None:
    """A figure is data beside the text; what fails is text."""
    with planaria.Session() as session:
        run_python, *_ = tools(session)
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nx = 3\nx"
        assert [one.type for one in await run_python.invoke(arguments={"code": code})] == ["text", "data"]
        [failed] = await run_python.invoke(arguments={"code": "x / 0"})
        assert failed.text.endswith("ZeroDivisionError: division by zero")


async def test_tools_of_code_run_in_the_context_of_the_caller() -> None:
    """Tools that code calls run on the agent's loop, with its context variables, and give values."""

    async def who(times: int = 1) -> list[str]:
        """Who calls."""
        return [caller.get()] * times

    caller.set("Ann")
    provider = PlanariaCodeActProvider(tools=[who])
    execute = provider._execute
    assert "def who(*, times: int = 1) -> Any:" in execute.description
    [text] = await execute.invoke(arguments={"code": "(await tools.who(times=2)) + tools.who()"})
    assert text.text == "['Ann', 'Ann', 'Ann']"
    provider.close()


async def test_tools_are_closed_with_the_provider(tmp_path: Path) -> None:
    """Servers of the storage's tools end with the session."""
    define_server(tmp_path / "tools")
    provider = PlanariaCodeActProvider(storage=planaria.FileStorage(tmp_path))
    process = provider.session.execute(PROCESS).value
    assert is_there(process)
    provider.close()
    assert not is_there(process)
