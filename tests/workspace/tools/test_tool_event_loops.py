"""HTTP and MCP tools in sessions, under asyncio and under Trio, with real servers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from demo_http_server import HttpServer, serving

import planaria
from planaria import ToolRegistry

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

HERE = Path(__file__).parent


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


@pytest.fixture
def tools(tmp_path: Path, server: HttpServer) -> Iterator[ToolRegistry]:
    """An HTTP interface, `web`, and an MCP server, `demo`."""
    (tmp_path / "web.yaml").write_text(
        textwrap.dedent(f"""
            name: web
            type: http
            base_url: {server.url}
            endpoints:
            - {{name: echo, path: "/echo/{{word}}"}}
            - {{name: slow, path: /slow, query: {{seconds: 600}}}}
            - {{name: late, path: /slow, query: {{seconds: 600}}, timeout: 0.2}}
            """)
    )
    script = str(HERE / "demo_mcp_server.py")
    (tmp_path / "demo.yaml").write_text(f"name: demo\ntype: mcp\ncommand: ${{PYTHON}}\nargs: [{script!r}]\n")
    registry = ToolRegistry()
    registry.load(tmp_path)
    yield registry
    registry.close()


async def test_calls(tools: ToolRegistry) -> None:
    """Code calls HTTP and MCP tools, one after another and together."""
    async with planaria.AsyncSession(tools=tools) as session:
        found = await session.execute("tools.web.echo(word='a')['path'], tools.demo.add(a=1, b=2)")
        assert found.value == ("/echo/a", 3)
        found = await session.execute(
            """
            import asyncio
            answers = await asyncio.gather(
                *[tools.web.echo.call_async(word=str(n)) for n in range(3)],
                *[tools.demo.meet.call_async(count=2) for _ in range(2)],
            )
            [answer if answer == "met" else answer["path"] for answer in answers]
            """
        )
        assert found.value == ["/echo/0", "/echo/1", "/echo/2", *["met"] * 2]


async def test_errors(tools: ToolRegistry) -> None:
    """Errors of both kinds reach the code: a time limit of an endpoint, and a tool that fails."""
    async with planaria.AsyncSession(tools=tools) as session:
        error = (await session.run("tools.web.late()")).error
        assert isinstance(error, planaria.ExecutionError)
        assert error.type == "ToolTimeout"
        assert "took longer than 0.2 s" in error.message
        error = (await session.run("tools.demo.fail()")).error
        assert isinstance(error, planaria.ExecutionError)
        assert error.type == "ToolCallError"


@pytest.mark.parametrize("code", ["tools.web.slow()", "tools.demo.wait(seconds=600)"])
async def test_cancelling(tools: ToolRegistry, code: str) -> None:
    """Cancelling an execution cancels the call that it waits for; session and tools can be used on."""
    async with planaria.AsyncSession(tools=tools) as session:
        assert (await session.execute("tools.demo.add(a=1)")).value == 2
        with anyio.move_on_after(0.5) as scope:
            await session.execute(code)
        assert scope.cancelled_caught
        assert (await session.execute("tools.web.echo(word='a')['path'], tools.demo.add(a=2)")).value == (
            "/echo/a",
            3,
        )
