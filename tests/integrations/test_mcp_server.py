"""`planaria mcp`, as clients of the SDK see it."""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from http_servers import serve
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.stdio import stdio_client as stdio_transport
from mcp.shared.exceptions import MCPError
from mcp_clients import COMMAND, MODES, http_server, named_sessions, run, stdio_client, text, with_client

import planaria

pytestmark = pytest.mark.slow


_DISPLAYS_HTML = """
class Bold:
    def _repr_html_(self):
        return "<b>x</b>"

display(Bold())
"""


@pytest.mark.parametrize("mode", MODES)
def test_the_server_lists_its_five_tools(mode: str) -> None:
    """Over standard input and output a client finds five tools, each with a schema of its output."""

    async def main() -> None:
        async with stdio_client(mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert sorted(tools) == ["read_file", "run_bash", "run_python", "sessions", "write_file"]
            assert all(tool.output_schema for tool in tools.values())
            assert tools["run_python"].annotations.open_world_hint is False
            assert tools["read_file"].annotations.read_only_hint is True

    run(main)


def test_configurations_of_clients_start_the_server() -> None:
    """Each configuration in the documentation names the command that serves."""
    page = Path(__file__).parents[2] / "docs" / "integrations" / "mcp.md"
    rows = [line.split("|")[1:3] for line in page.read_text("utf-8").splitlines() if "planaria" in line]
    commands = {}
    for client, cell in (row for row in rows if len(row) == 2):
        if found := re.search(r"-- (planaria .*)`", cell):
            commands[client.strip()] = found[1].split()
        elif found := re.search(r"\{.*\}", cell):
            given = json.loads(found[0])
            for servers in ("mcpServers", "context_servers"):
                given = given.get(servers, {}).get("planaria", given)
            commands[client.strip()] = [given["command"], *given["args"]]
    clients = ["Claude Code", "Claude Desktop", "Codex", "Cursor", "VS Code", "Windsurf", "Zed"]
    assert sorted(commands) == clients
    assert {tuple(command) for command in commands.values()} == {("planaria", "mcp")}

    async def main() -> None:
        program = str(Path(sys.executable).with_name("planaria"))
        server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
        async with Client(server) as client:
            assert text(await client.call_tool("run_python", {"code": "6 * 7"})) == "42"

    run(main)


def test_log_has_no_ends_of_executions(tmp_path: Path) -> None:
    """What a call ended with is in its result, and not on standard error, which clients keep as a log."""

    async def main() -> None:
        with (tmp_path / "log").open("w") as log:
            server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ))
            async with Client(stdio_transport(server, errlog=log)) as client:
                for arguments in (
                    {"code": "while True: pass", "timeout": 0.5},
                    {"code": "1 / 0"},
                    {"cod": ""},
                ):
                    assert (await client.call_tool("run_python", arguments)).is_error

    run(main)
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.parametrize("mode", MODES)
def test_python_keeps_its_state(mode: str) -> None:
    """Variables stay from call to call; the value, the output and the number of the execution come back."""

    async def main() -> None:
        async with stdio_client(mode=mode) as client:
            await client.call_tool("run_python", {"code": "x = 40"})
            result = await client.call_tool("run_python", {"code": "print('adding')\nx + 2"})
            assert not result.is_error
            assert text(result) == "adding\n42"
            found = result.structured_content
            assert (found["value"], found["stdout"], found["execution_count"]) == (42, "adding\n", 2)

    run(main)


def test_an_exception_is_an_error_of_the_tool() -> None:
    """What the code raises comes as an error whose text is the traceback and whose structure names it."""

    async def main(client: Client) -> None:
        result = await client.call_tool("run_python", {"code": "print('so far')\n1 / 0"})
        assert result.is_error
        assert text(result).startswith("so far\nTraceback (most recent call last):")
        assert text(result).endswith("ZeroDivisionError: division by zero")
        error = result.structured_content["error"]
        assert (error["type"], error["lineno"]) == ("ZeroDivisionError", 2)

    with_client(main, named_sessions())


def test_bash_shares_the_files_of_python() -> None:
    """A script of a session sees what its Python wrote; its exit status is reported and is not an error."""

    async def main(client: Client) -> None:
        await client.call_tool("run_python", {"code": "open('a.txt', 'w').write('b\\na\\n')"})
        result = await client.call_tool("run_bash", {"command": "sort a.txt - ; exit 3", "stdin": "c\n"})
        assert not result.is_error
        assert text(result) == "a\nb\nc\nexit status 3"
        assert result.structured_content["exit_code"] == 3

    with_client(main, named_sessions())


def test_files_are_read_and_written() -> None:
    """A file arrives as text or, when it is not UTF-8, as base64; a missing one is an error that says so."""

    async def main(client: Client) -> None:
        data = base64.b64encode(b"\xff\x00").decode()
        await client.call_tool("write_file", {"path": "in/a.txt", "content": "grün\n"})
        await client.call_tool("write_file", {"path": "/tmp/b", "content": data, "encoding": "base64"})
        first = await client.call_tool("read_file", {"path": "in/a.txt"})
        assert text(first) == "grün\n"
        assert first.structured_content == {
            "path": "in/a.txt",
            "content": "grün\n",
            "encoding": "utf-8",
            "size": 6,
        }
        second = await client.call_tool("read_file", {"path": "/tmp/b"})
        assert second.structured_content["encoding"] == "base64"
        assert text(second) == data
        missing = await client.call_tool("read_file", {"path": "nowhere"})
        assert missing.is_error
        assert "No such file or directory" in text(missing)
        wrong = await client.call_tool("write_file", {"path": "c", "content": "%", "encoding": "base64"})
        assert wrong.is_error
        assert "content is not base64" in text(wrong)

    with_client(main, named_sessions())


def test_images_are_image_content() -> None:
    """An image that the code displays comes as image content, beside the text."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    code = f"""
import base64

class Dot:
    def _repr_png_(self):
        return base64.b64decode({png!r})

display(Dot())
print("shown")
"""

    async def main(client: Client) -> None:
        result = await client.call_tool("run_python", {"code": code})
        assert [block.type for block in result.content] == ["text", "image"]
        assert text(result) == "shown"
        assert (result.content[1].mime_type, result.content[1].data) == ("image/png", png)

    with_client(main, named_sessions())


def test_rich_values_are_named_and_kept_in_the_resource() -> None:
    """What `_repr_html_` and `_repr_mimebundle_` give is named by its MIME types, and in the result's resource."""

    async def main(client: Client) -> None:
        code = (
            "class Rich:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'application/json': {'a': 1}}\n"
            "    def _repr_html_(self): return '<b>bold</b>'\n    def __repr__(self): return 'rich'\nRich()"
        )
        result = await client.call_tool("run_python", {"code": code})
        types = [["application/json", "text/html", "text/plain"]]
        assert result.structured_content["outputs"] == types
        assert "<b>bold</b>" not in text(result)
        [whole] = (await client.read_resource("planaria://sessions/default/results/1")).contents
        data = json.loads(whole.text)["outputs"][0]["data"]
        assert data == {"application/json": {"a": 1}, "text/html": "<b>bold</b>", "text/plain": "rich"}

    with_client(main, named_sessions())


def test_sessions_are_apart() -> None:
    """Each name is a session of its own; a fork begins with the state of its origin."""

    async def main(client: Client) -> None:
        await client.call_tool("run_python", {"code": "x = 1", "session": "a"})
        forked = await client.call_tool("sessions", {"action": "fork", "session": "a", "names": ["b", "c"]})
        assert [one["name"] for one in forked.structured_content["sessions"]] == ["a", "b", "c"]
        await client.call_tool("run_python", {"code": "x = 2", "session": "b"})
        values = []
        for name in ("a", "b", "c"):
            result = await client.call_tool("run_python", {"code": "x", "session": name})
            values.append(result.structured_content["value"])
        assert values == [1, 2, 1]
        other = await client.call_tool("run_python", {"code": "x", "session": "d"})
        assert other.structured_content["error"]["type"] == "NameError"

    with_client(main, named_sessions())


def test_states_are_kept_and_taken_back() -> None:
    """checkpoint, rewind, undo, reset and close do to a session what its methods do."""

    async def main(client: Client) -> None:
        async def manage(action: str, **arguments: Any) -> Any:
            return await client.call_tool("sessions", {"action": action, **arguments})

        async def value(code: str) -> Any:
            return (await client.call_tool("run_python", {"code": code})).structured_content["value"]

        await value("x = [1]")
        await manage("checkpoint", label="first")
        await value("x.append(2)")
        await value("x.append(3)")
        assert not (await manage("undo")).is_error
        assert await value("x") == [1, 2]
        await manage("rewind", label="first")
        assert await value("x") == [1]
        await manage("reset")
        assert await value("'x' in globals()") is False
        assert (await manage("list")).structured_content["sessions"][0]["name"] == "default"
        assert (await manage("close")).structured_content["sessions"] == []

    with_client(main, named_sessions())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "new", "session": "../a"}, "'../a' is not a name for a session"),
        ({"action": "undo", "session": "nobody"}, "there is no session 'nobody'"),
        ({"action": "close", "session": "nobody"}, "there is no session 'nobody'"),
        ({"action": "new", "session": "there"}, "there is a session 'there' already"),
        ({"action": "fork", "session": "there"}, "fork needs the names of the copies"),
        ({"action": "fork", "session": "there", "names": ["there"]}, "there is a session 'there' already"),
        ({"action": "rewind", "session": "there"}, "rewind needs a label"),
        ({"action": "rewind", "session": "there", "label": "never"}, "never"),
        ({"action": "undo", "session": "there", "count": 9}, "undo"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: dict[str, Any], message: str) -> None:
    """A request about sessions that cannot be fulfilled is an error whose text says why."""

    async def main(client: Client) -> None:
        await client.call_tool("sessions", {"action": "new", "session": "there"})
        result = await client.call_tool("sessions", arguments)
        assert result.is_error
        assert message in text(result)
        assert "Error executing" not in text(result)

    with_client(main, named_sessions())


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("run_python", {}, "run_python needs the argument 'code'"),
        ("run_python", {"code": 5}, "code must be a string, not 5"),
        ("run_python", {"code": "1", "timeout": -1}, "timeout must be greater than 0, not -1"),
        ("run_python", {"code": "1", "timeout": "soon"}, "timeout must be a number, not 'soon'"),
        (
            "run_python",
            {"code": "1", "sesion": "a"},
            "run_python has no argument 'sesion'; did you mean 'session'?",
        ),
        (
            "run_bash",
            {"zzz": "ls"},
            "run_bash has no argument 'zzz'; there is 'command', 'session', 'stdin', 'timeout'",
        ),
        ("sessions", {"action": "undo", "count": 0}, "count must be at least 1, not 0"),
        ("sessions", {"action": "undo", "count": 1.5}, "count must be a whole number, not 1.5"),
        ("sessions", {"action": "fork", "names": "b"}, "names must be a list, not 'b'"),
        ("sessions", {"action": "fork", "names": ["b", 2]}, "names[1] must be a string, not 2"),
        (
            "sessions",
            {"action": "rewind", "label": []},
            "label must be a string or a whole number, not []",
        ),
        (
            "write_file",
            {"path": 1, "content": "a", "encoding": "latin"},
            "path must be a string, not 1; encoding must be 'utf-8' or 'base64', not 'latin'",
        ),
    ],
)
def test_wrong_arguments_are_named(tool: str, arguments: dict[str, Any], message: str) -> None:
    """A call with wrong arguments is an error that says which argument is wrong and what it must be."""

    async def main(client: Client) -> None:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert text(result) == message

    with_client(main, named_sessions())


def test_without_a_store_too_many_sessions_are_refused() -> None:
    """When as many sessions are live as there may be, another one is refused until one is closed."""

    async def main(client: Client) -> None:
        await client.call_tool("run_python", {"code": "1", "session": "a"})
        refused = await client.call_tool("run_python", {"code": "1", "session": "b"})
        assert refused.is_error
        assert "there are 1 live sessions; close one" in text(refused)
        await client.call_tool("sessions", {"action": "close", "session": "a"})
        assert not (await client.call_tool("run_python", {"code": "1", "session": "b"})).is_error

    with_client(main, named_sessions(most=1))


def test_with_a_store_idle_sessions_make_room() -> None:
    """With a store the session that was not used for longest is closed, and restored when it is named."""

    async def main(client: Client) -> None:
        for name in "abc":
            await client.call_tool("run_python", {"code": f"x = {name!r}", "session": name})
        listed = (await client.call_tool("sessions", {"action": "list"})).structured_content["sessions"]
        assert {one["name"]: one["live"] for one in listed} == {"a": False, "b": True, "c": True}
        result = await client.call_tool("run_python", {"code": "x", "session": "a"})
        assert result.structured_content["value"] == "a"

    with_client(main, named_sessions(planaria.MemoryStore(), most=2))


def test_resources_have_files_and_whole_results() -> None:
    """Files of live sessions and the latest results can be read as resources; others are not found."""

    async def main(client: Client) -> None:
        await client.call_tool("write_file", {"path": "deep/a b.txt", "content": "here"})
        await client.call_tool("run_python", {"code": _DISPLAYS_HTML})
        [file] = (
            await client.read_resource("planaria://sessions/default/files/home/user/deep/a%20b.txt")
        ).contents
        assert file.text == "here"
        [whole] = (await client.read_resource("planaria://sessions/default/results/1")).contents
        assert json.loads(whole.text)["outputs"][0]["data"]["text/html"] == "<b>x</b>"
        [listed] = (await client.read_resource("planaria://sessions")).contents
        assert json.loads(listed.text)["sessions"][0]["name"] == "default"
        for missing in ("default/results/7", "default/files/nowhere", "other/files/a"):
            with pytest.raises(MCPError):
                await client.read_resource(f"planaria://sessions/{missing}")

    with_client(main, named_sessions())


def test_a_workspace_brings_its_tools(tmp_path: Path) -> None:
    """With --base, code calls the tools of the workspace, which the description of `run_python` shows."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "shout.yaml").write_text(
        "name: shout\ntype: cli\ncommand: tr\ndescription: Capital letters.\n"
        "recipes:\n  up:\n    description: Shout.\n    preset: {}\n"
    )

    async def main() -> None:
        async with stdio_client("--base", str(tmp_path)) as client:
            [tool] = [one for one in (await client.list_tools()).tools if one.name == "run_python"]
            assert tool.description is not None
            assert "class tools:" in tool.description
            assert "shout" in tool.description
            assert tool.annotations.open_world_hint is True
            await client.call_tool("run_python", {"code": "artifacts.save('n', 7)"})
            result = await client.call_tool(
                "run_python", {"code": "artifacts.load('n')", "session": "another"}
            )
            assert result.structured_content["value"] == 7

    run(main)


def test_two_clients_share_a_server() -> None:
    """Over HTTP two clients work at once, in the same session when they name the same one."""

    async def main(url: str) -> None:
        async def work(mode: str, name: str) -> None:
            async with Client(url, mode=mode) as client:
                for number in range(5):
                    code = f"total = globals().get('total', 0) + {number}\ntotal"
                    result = await client.call_tool("run_python", {"code": code, "session": name})
                assert result.structured_content["value"] == 10

        async with anyio.create_task_group() as group:
            group.start_soon(work, "auto", "first")
            group.start_soon(work, "legacy", "second")
        async with Client(url) as client:
            result = await client.call_tool("run_python", {"code": "total", "session": "second"})
            assert result.structured_content["value"] == 10

    with http_server() as (url, _):
        anyio.run(main, url)


def test_saved_sessions_survive_a_killed_server(tmp_path: Path) -> None:
    """With --store a server that is killed during an execution has lost that execution only."""

    async def before(url: str, kill: Callable[[], None]) -> None:
        async with Client(url) as client:
            await client.call_tool("run_python", {"code": "x = [1, 2]"})
            await client.call_tool("write_file", {"path": "a", "content": "kept"})
            with anyio.move_on_after(0.5):
                await client.call_tool("run_python", {"code": "x.append(3)\nwhile True: pass"})
            kill()

    async def after(url: str) -> None:
        async with Client(url) as client:
            listed = (await client.call_tool("sessions", {"action": "list"})).structured_content["sessions"]
            assert listed == [{"name": "default", "live": False, "executions": None}]
            result = await client.call_tool("run_python", {"code": "x, open('a').read()"})
            assert result.structured_content["repr"] == "([1, 2], 'kept')"

    with http_server("--store", str(tmp_path)) as (url, process):
        anyio.run(before, url, process.kill)
    with http_server("--store", str(tmp_path)) as (url, _):
        anyio.run(after, url)


@pytest.mark.parametrize("mode", MODES)
def test_options_open_the_network(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--allow`, `--deny` and `--secret` decide what code reaches, and the tools say that the world is open."""
    monkeypatch.setenv("KEY", "s3cr3t-value")
    servers = serve()
    place = f"http://localhost:{next(servers)}"
    options = ("--allow", place, "--deny", f"{place}/echo", "--secret", "KEY@localhost")

    async def main() -> None:
        async with stdio_client(*options, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["run_bash"].annotations.open_world_hint is True
            script = f"curl -sS {place}/chunked; echo; echo $KEY; curl -sS {place}/echo"
            result = await client.call_tool("run_bash", {"command": script})
            assert "one two three\nplanaria-secret-KEY-placeholder" in text(result)
            assert "is denied by a rule" in text(result)

    try:
        run(main)
    finally:
        servers.close()
