"""Claude's own tools on sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.lib.tools import BetaBuiltinFunctionTool, ToolError

import planaria
from planaria.integrations.anthropic import agent_toolset, async_tools, tools


@pytest.fixture(scope="module")
def session() -> Iterator[planaria.Session]:
    with planaria.Session() as session:
        yield session


@pytest.fixture(scope="module")
def by_name(session: planaria.Session) -> dict[str, BetaBuiltinFunctionTool]:
    return {tool.name: tool for tool in tools(session, max_characters=40)}


def failure(tool: BetaBuiltinFunctionTool, **given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        tool.call(given)
    return str(caught.value)


def test_entries_are_those_of_the_api(by_name: dict[str, BetaBuiltinFunctionTool]) -> None:
    """Claude's own tools are named by their types, Python by its schema."""
    entries = {name: tool.to_dict() for name, tool in by_name.items()}
    assert entries.pop("run_python")["input_schema"]["required"] == ["code"]
    assert entries == {
        "bash": {"type": "bash_20250124", "name": "bash"},
        "str_replace_based_edit_tool": {
            "type": "text_editor_20250728",
            "name": "str_replace_based_edit_tool",
            "max_characters": 40,
        },
        "memory": {"type": "memory_20250818", "name": "memory"},
    }


def test_shell_state_is_kept_until_a_restart(by_name: dict[str, BetaBuiltinFunctionTool]) -> None:
    """Variables and the directory stay for later commands; `restart` gives back the first state."""
    bash = by_name["bash"]
    bash.call({"command": "x=3; cd /tmp; f() { echo function; }"})
    assert bash.call({"command": 'echo "$x $PWD"; f'}) == "3 /tmp\nfunction"
    assert "status 3" in failure(bash, command="exit 3")
    bash.call({"restart": True})
    assert bash.call({"command": 'echo "${x-unset} $PWD"'}) == "unset /home/user"
    assert failure(bash) == "bash: `command` is missing"


def test_editor(session: planaria.Session, by_name: dict[str, BetaBuiltinFunctionTool]) -> None:
    """Each command of the editor, and what it says when it cannot be done."""
    editor = by_name["str_replace_based_edit_tool"]
    editor.call({"command": "create", "path": "/tmp/d/f", "file_text": "one\ntwo\none\n"})
    assert "in lines 1, 3" in failure(
        editor, command="str_replace", path="/tmp/d/f", old_str="one", new_str=""
    )
    assert "not in the file" in failure(
        editor, command="str_replace", path="/tmp/d/f", old_str="x", new_str=""
    )
    editor.call({"command": "str_replace", "path": "/tmp/d/f", "old_str": "two\n", "new_str": "2\n"})
    editor.call({"command": "insert", "path": "/tmp/d/f", "insert_line": 1, "insert_text": "new"})
    assert session.files.read_text("/tmp/d/f") == "one\nnew\n2\none\n"
    shown = editor.call({"command": "view", "path": "/tmp/d/f", "view_range": [2, 3]})
    assert shown == "     2\tnew\n     3\t2"
    assert editor.call({"command": "view", "path": "/tmp/d"}) == "/tmp/d/\n/tmp/d/f"
    assert editor.call({"command": "view", "path": "/tmp/d/f"}).endswith("\n[truncated]")
    assert "1 and 5" in failure(editor, command="view", path="/tmp/d/f", view_range=[7, 9])
    assert "between 0 and 4" in failure(
        editor, command="insert", path="/tmp/d/f", insert_line=9, insert_text=""
    )
    session.files.write_bytes("/tmp/d/b", b"\xff\xfe")
    assert failure(editor, command="view", path="/tmp/d/b") == "/tmp/d/b: not a text file in UTF-8"
    assert "no command 'undo_edit'" in failure(editor, command="undo_edit", path="/tmp/d/f")


def test_memory_is_a_directory_of_the_session(
    session: planaria.Session, by_name: dict[str, BetaBuiltinFunctionTool]
) -> None:
    """Its files are in /memories, which other tools see; other paths are refused."""
    memory = by_name["memory"]
    assert memory.call({"command": "view", "path": "/memories"}) == "/memories/"
    memory.call({"command": "create", "path": "/memories/a/b.md", "file_text": "hello\n"})
    memory.call({"command": "rename", "old_path": "/memories/a/b.md", "new_path": "/memories/c/d.md"})
    assert by_name["bash"].call({"command": "cat /memories/c/d.md"}) == "hello"
    memory.call({"command": "create", "path": "/memories/x", "file_text": ""})
    taken = failure(memory, command="rename", old_path="/memories/x", new_path="/memories/c")
    assert taken == "/memories/c: File exists"
    memory.call({"command": "delete", "path": "/memories/c"})
    assert session.files.listdir("/memories/a") == []
    for path in ("/etc/passwd", "/memories/../etc/passwd", "/memories2"):
        assert (
            failure(memory, command="view", path=path) == f"{path}: the files of this tool are in /memories"
        )


async def test_cancelled_run_stops_what_executes() -> None:
    """Cancelling the call of an asynchronous tool stops its program; the session can be used after it."""
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    with planaria.Session(on_output=lambda *_: loop.call_soon_threadsafe(started.set)) as session:
        python = async_tools(session)[0]
        call = asyncio.create_task(python.call({"code": "print('begun', flush=True)\nwhile True: pass"}))
        await asyncio.wait_for(started.wait(), 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await python.call({"code": "1 + 1"}) == "2"


async def test_toolset_of_self_hosted_environments() -> None:
    """The six tools work on the session's files, report failures, and close the session if they are to."""
    session = planaria.Session()
    toolset = {tool.name: tool for tool in agent_toolset(session, cwd="/tmp", closes_session=True)}
    assert list(toolset) == ["bash", "read", "write", "edit", "glob", "grep"]

    async def call(name: str, **given: Any) -> Any:
        return await toolset[name].call(given)

    async def fails(name: str, **given: Any) -> str:
        with pytest.raises(ToolError) as caught:
            await call(name, **given)
        return str(caught.value)

    await call("write", file_path="d/f.txt", content="a\nb\nab\n")
    assert await call("bash", command="cd d; cat f.txt") == "a\nb\nab"
    assert await call("bash", command="pwd") == "/tmp/d"
    assert "timed out" in await fails("bash", command="sleep 1000", timeout_ms=100)
    await call("bash", restart=True)
    assert await call("bash", command="pwd") == "/tmp"
    assert await call("read", file_path="/tmp/d/f.txt") == "a\nb\nab\n"
    assert await call("read", file_path="d/f.txt", view_range=[2, 0]) == "b\nab\n"
    assert "in lines 1, 3" in await fails("edit", file_path="d/f.txt", old_string="a", new_string="c")
    await call("edit", file_path="d/f.txt", old_string="a", new_string="c", replace_all=True)
    assert await call("glob", pattern="**/*.txt") == "/tmp/d/f.txt"
    assert await call("glob", pattern="*.rs", path="d") == "no matches"
    assert await call("grep", pattern="c.?$") == "/tmp/d/f.txt:1:c\n/tmp/d/f.txt:3:cb"
    assert "regex" in await fails("grep", pattern="(")
    assert await fails("read", file_path="nope") == "nope: No such file or directory"
    assert await fails("read", other=1) == "read: missing a required argument: 'file_path'"
    session.files.write_bytes("/tmp/p.png", b"\x89PNG")
    [block] = await call("read", file_path="p.png")
    assert block["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert toolset["bash"].close is not None
    await toolset["bash"].close()
    assert session.is_closed
