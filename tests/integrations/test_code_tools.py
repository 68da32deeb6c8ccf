"""What code finds under `tools` beside the tools of a framework."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_tool_directory import PROCESS, define_server, is_there

import planaria
from planaria.integrations.code_tools import CodeTools, FrameworkTool


def greet(name: str) -> str:
    """Greet by name."""
    return f"hello {name}"


def shout() -> FrameworkTool:
    """A tool as an adapter makes it."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return FrameworkTool("shout", "Say it louder.", schema, lambda given: given["text"].upper())


def test_tools_that_were_read_are_closed_and_read_again(tmp_path: Path) -> None:
    """Sessions share the tools of a directory, which stay open until they are closed, and can be used again."""
    code_tools = CodeTools({"tools": define_server(tmp_path / "tools")})
    processes = set()
    for _ in range(2):
        with planaria.Session(tools=code_tools.with_tools([shout()])) as session:
            assert session.execute("tools.shout(text='a')").value == "A"
            processes.add(session.execute(PROCESS).value)
    [process] = processes
    assert is_there(process)
    code_tools.close()
    assert not is_there(process)
    with planaria.Session(tools=code_tools.with_tools([])) as session:
        again = session.execute(PROCESS).value
    assert again != process
    code_tools.close()
    assert not is_there(again)


def test_registry_of_the_caller() -> None:
    """A registry stays as it was and open; its middleware stands around a framework's tools too."""

    class Refuses:
        def before(self, call: planaria.ToolCall) -> None:
            raise planaria.ToolDenied(f"{call.name} is not allowed")

    given = planaria.ToolRegistry([greet], middleware=[Refuses()])
    code_tools = CodeTools({"tools": given})
    with planaria.Session(tools=code_tools.with_tools([shout()])) as session:
        for code in ("tools.greet(name='Ann')", "tools.shout(text='a')"):
            assert "is not allowed" in str(session.run(code).error)
    code_tools.close()
    assert [tool.name for tool in given] == ["greet"]


def test_name_that_both_have() -> None:
    """A tool of the framework with the name of another tool is an error."""
    with pytest.raises(planaria.ToolDefinitionError, match="there is a tool 'shout' already"):
        CodeTools({"tools": [shout()]}).with_tools([shout()])
