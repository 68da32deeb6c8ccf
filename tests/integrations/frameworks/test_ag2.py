"""AG2's tools on sessions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest
from ag2 import Agent
from ag2.events import ToolCallEvent, ToolResultEvent
from ag2.testing import TestConfig
from ag2.tools import SandboxCodeTool, SandboxShellTool
from ag2.tools.code import CodeEnvironment
from ag2.tools.sandbox import CodeAdapter, Sandbox, SandboxFactory

import planaria
from planaria.integrations.ag2 import PlanariaCodeEnvironment, PlanariaEnvironment, PlanariaSandbox, tools


@pytest.fixture
async def sandbox() -> AsyncIterator[PlanariaSandbox]:
    async with PlanariaSandbox() as sandbox:
        yield sandbox


async def test_sandbox(sandbox: PlanariaSandbox) -> None:
    """Programs run with both streams as one output, the status of a shell, an environment and a limit."""
    assert isinstance(sandbox, Sandbox)
    assert (sandbox.workdir, sandbox.host_workdir) == (PurePosixPath("/home/user"), None)
    done = await sandbox.exec(["sh", "-c", "echo $X; echo b >&2; exit 3"], env={"X": "a"})
    assert (done.output, done.exit_code) == ("a\nb", 3)
    assert (await sandbox.exec(["no-such-program"])).exit_code == 127
    assert (await sandbox.exec(["sleep", "1000"], timeout=0.2)).exit_code == 124


async def test_files_stay_in_the_working_directory(sandbox: PlanariaSandbox) -> None:
    """Files are written and removed below the working directory; other paths are refused."""
    await sandbox.put_file(PurePosixPath("d/f"), b"\0data")
    assert sandbox.session.files.read_bytes("d/f") == b"\0data"
    await sandbox.remove_file(PurePosixPath("d/f"))
    await sandbox.remove_file(PurePosixPath("d/f"))
    sandbox.session.files.symlink("/tmp", "link")
    for path in ("/tmp/f", "../f", "link/f"):
        with pytest.raises(ValueError, match="must be relative"):
            await sandbox.put_file(PurePosixPath(path), b"")


async def test_adapters_of_ag2_run_on_a_session() -> None:
    """AG2's own adapters run commands and programs in the sandbox, and close what they created."""
    environment = PlanariaEnvironment()
    assert isinstance(environment, SandboxFactory)
    done = await CodeAdapter(environment).run("print(6 * 7)", "python")
    assert (done.output, done.exit_code) == ("42", 0)
    call = ToolCallEvent("shell", arguments=json.dumps({"command": "echo hello | tr a-z A-Z"}))
    shell = SandboxShellTool(environment, name="shell")
    agent = Agent("agent", config=TestConfig(call, "done"), tools=[shell])
    reply = await agent.ask("go")
    results = [event for event in await reply.history.get_events() if isinstance(event, ToolResultEvent)]
    assert "HELLO" in str(results[0].result.parts[0])
    await environment.aclose()
    assert environment.session.is_closed


async def test_code_shares_a_session() -> None:
    """Variables are kept from call to call, also between Python and what a failure left."""
    with planaria.Session() as session:
        code = PlanariaCodeEnvironment(session)
        assert isinstance(code, CodeEnvironment)
        assert SandboxCodeTool(code).environment is code
        failed = await code.run("x = 3\nx.sum()", "python")
        assert failed.exit_code == 1
        assert failed.output.endswith("AttributeError: 'int' object has no attribute 'sum'")
        done = await code.run("x", "python")
        assert (done.output, done.exit_code) == ("3", 0)
        assert (await code.run("echo hi", "bash")).output == "hi"
        assert (await code.run("1", "javascript")).exit_code == 2


async def test_figures_are_images_of_results() -> None:
    """A figure is an image beside the text."""
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nx = 3\nx"
    call = ToolCallEvent("run_python", arguments=json.dumps({"code": code}))
    with planaria.Session() as session:
        agent = Agent("agent", config=TestConfig(call, "done"), tools=tools(session))
        reply = await agent.ask("go")
        events = await reply.history.get_events()
        [result] = [event.result for event in events if isinstance(event, ToolResultEvent)]
        text, image = result.parts
        assert str(text.content).endswith("3")
        assert (image.media_type, image.data[:4]) == ("image/png", b"\x89PNG")
