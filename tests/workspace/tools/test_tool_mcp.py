"""MCP servers as tools: real servers, over all transports."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_processes import HERE, STDIO, free_port, running
from tool_calls import Define, Text, call

from planaria.errors import ToolArgumentError, ToolCallError, ToolDefinitionError, ToolNotFound, ToolTimeout
from planaria.workspace.tools.loading import load_tools
from planaria.workspace.tools.tool import Tool

pytestmark = pytest.mark.slow

PNG = b"\x89PNG\r\n\x1a\n\x00picture"
IMAGE = {"type": "image", "mime_type": "image/png", "data": PNG}


@pytest.fixture(scope="module", params=["stdio", "http", "sse"])
def demo(request: pytest.FixtureRequest) -> Iterator[Tool]:
    """The server of the tests over each transport; it is used by all tests that do not stop it."""
    if request.param == "stdio":
        [tool] = load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{STDIO}")], folder=HERE)
        yield tool
        tool.close()
        return
    port = free_port()
    path = "mcp" if request.param == "http" else "sse"
    text = f"name: demo\ntype: mcp\nurl: http://127.0.0.1:{port}/{path}\ntransport: {request.param}"
    with running(request.param, port):
        [tool] = load_tools([Text("demo.yaml", text)])
        yield tool
        tool.close()


def test_values(demo: Tool) -> None:
    """Text, structured content, images and resources come back as values."""
    assert call(demo, "add", a=40, b=2) == 42
    assert call(demo, "add", a=1) == 2
    assert call(demo, "weather", city="Rome") == {"city": "Rome", "degrees": 21.5, "days": [1, 2]}
    assert call(demo, "names") == ["a", "b"]
    assert call(demo, "greet", name="Ü") == "Hello, Ü!"
    assert call(demo, "picture") == IMAGE
    assert call(demo, "mixed") == ["text", IMAGE]
    assert call(demo, "both") == {"structured": {"size": 1}, "content": [IMAGE]}
    assert call(demo, "nothing") is None
    assert call(demo, "resources") == [
        {"type": "resource", "uri": "demo://note", "mime_type": "text/plain", "text": "note"},
        {"type": "resource", "uri": "demo://data", "mime_type": None, "data": b"\x00\xff"},
        {
            "type": "resource_link",
            "uri": "demo://link",
            "name": "link",
            "mime_type": None,
            "description": "Elsewhere",
        },
    ]


def test_functions(demo: Tool) -> None:
    """The server's tools are functions with typed parameters; their names become identifiers."""
    found = {one.name: one for one in demo.callables}
    assert found["add"].description == "Add two numbers."
    assert found["add"].returns == "int"
    assert [(one.name, one.type, one.required, one.default) for one in found["add"].parameters] == [
        ("a", "int", True, None),
        ("b", "int", False, 1),
    ]
    assert found["weather"].parameters[0].description == "Where"
    assert found["weather"].returns == "dict[str, Any]"
    assert call(demo, "odd_name_x", where="here") == "odd here"
    assert call(demo, "odd-name.x", where="there") == "odd there"


def test_arguments(demo: Tool) -> None:
    """Arguments that do not fit are refused, with a suggestion, before the server hears of them."""
    with pytest.raises(ToolArgumentError, match=r"demo.add\(\) has no parameter 'aa'; did you mean 'a'"):
        call(demo, "add", aa=1)
    with pytest.raises(ToolArgumentError, match="is missing 'a'"):
        call(demo, "add")
    with pytest.raises(ToolArgumentError, match="a is of type bytes, which JSON cannot represent"):
        call(demo, "add", a=b"1")
    with pytest.raises(ToolNotFound, match="did you mean 'add'"):
        call(demo, "addd")


def test_errors(demo: Tool) -> None:
    """What a tool of the server raises, and what it says of arguments, are errors with its text."""
    with pytest.raises(ToolCallError, match="it went wrong") as caught:
        call(demo, "fail")
    assert (caught.value.tool, caught.value.callable) == ("demo", "fail")
    with pytest.raises(ToolCallError, match="valid integer"):
        call(demo, "add", a="x")


def test_concurrent(demo: Tool) -> None:
    """Calls from one loop, and from several, run at the same time on one server."""

    async def meeting() -> list[Any]:
        # Each of them waits for the others.
        return await asyncio.gather(*(demo.call("meet", {"count": 5}) for _ in range(5)))

    assert asyncio.run(meeting()) == ["met"] * 5
    assert call(demo, "add", a=1) == 2


def test_new_tools(demo: Tool) -> None:
    """A tool that the server has got since it was asked is found."""
    with pytest.raises(ToolNotFound):
        call(demo, "grown")
    call(demo, "grow")
    assert call(demo, "grown") == "grown"


def test_cancelled(demo: Tool) -> None:
    """A call that is cancelled, or whose loop is gone, harms neither the server nor other calls."""

    left = []

    async def cancelling() -> None:
        task = asyncio.ensure_future(demo.call("wait", {"seconds": 60}))
        other = asyncio.ensure_future(demo.call("wait", {"seconds": 0.3}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await other == "waited"
        left.append(asyncio.ensure_future(demo.call("wait", {"seconds": 60})))
        await asyncio.sleep(0.1)

    asyncio.run(cancelling())
    assert call(demo, "add", a=1) == 2


def test_timeout(define_mcp: Define) -> None:
    """A call that takes too long is abandoned; the server goes on."""
    tool = define_mcp(STDIO + "timeout: 0.5")
    process = call(tool, "process")
    with pytest.raises(ToolTimeout, match=r"gave no answer within 0.5 s while calling 'wait'"):
        call(tool, "wait", seconds=60)
    assert call(tool, "process") == process


def test_published_server(define_mcp: Define) -> None:
    """A server that others wrote works as its documents say."""
    tool = define_mcp("command: ${PYTHON}\nargs: [-m, mcp_server_time, --local-timezone, Europe/Vienna]")
    assert {one.name for one in tool.callables} == {"get_current_time", "convert_time"}
    value = call(tool, "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Kathmandu")
    assert "17:45" in str(value)
    with pytest.raises(ToolCallError, match=r"(?i)timezone"):
        call(tool, "get_current_time", timezone="Nowhere/Land")


@pytest.mark.parametrize(
    ("rest", "line", "message"),
    [
        ("", 1, "either 'command' (a server to start) or 'url'"),
        ("command: a\nurl: http://x", 1, "either 'command'"),
        ("url: http://x\nargs: [a]", 1, "'args' is for a 'command'"),
        ("command: a\nheaders: {a: b}", 1, "'headers' are for a 'url'"),
        ("command: a\ntransport: sse", 1, "transport 'sse' needs a 'url'"),
        ("url: http://x\ntransport: stdio", 1, "transport 'stdio' needs a 'command'"),
        ("comand: a", 3, "did you mean 'command'"),
        ("command: a\ntimeout: -1", 4, "greater than 0"),
    ],
)
def test_definition_errors(rest: str, line: int, message: str) -> None:
    """What is wrong in a definition is reported with file and line."""
    with pytest.raises(ToolDefinitionError) as caught:
        load_tools([Text("demo.yaml", f"name: demo\ntype: mcp\n{rest}")])
    assert any(
        problem.startswith(f"demo.yaml:{line}:") and message in problem for problem in caught.value.problems
    )
