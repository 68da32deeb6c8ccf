"""Sandbox agents of the OpenAI Agents SDK on sessions."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from agents import RunConfig, Runner
from agents.run_config import SandboxRunConfig
from agents.sandbox import LocalSnapshotSpec, Manifest, SandboxAgent
from agents.sandbox.entries import File
from agents.sandbox.errors import ExecTimeoutError, WorkspaceReadNotFoundError
from agents.sandbox.manifest import Environment
from agents.testing import ScriptedModel, assistant_message, function_call

import planaria
from planaria.integrations.openai_sandbox import PlanariaSandboxClient

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_commands_and_files() -> None:
    """Commands run in the workspace, which has the manifest's files; files are read and written."""
    client = PlanariaSandboxClient()
    manifest = Manifest(
        entries={"data/a.txt": File(content=b"one\n")}, environment=Environment(value={"X": "y"})
    )
    session = await client.create(manifest=manifest)
    async with session:
        done = await session.exec("pwd; cat data/a.txt; echo $X; echo b >&2; exit 3")
        assert (done.exit_code, done.stdout, done.stderr) == (3, b"/workspace\none\ny\n", b"b\n")
        await session.write(Path("d/f"), io.BytesIO(b"\0x"))
        assert (await session.read(Path("/workspace/d/f"))).read() == b"\0x"
        with pytest.raises(WorkspaceReadNotFoundError):
            await session.read(Path("nope"))
        with pytest.raises(ExecTimeoutError):
            await session.exec("sleep 1000", timeout=0.3)
        assert "d" in [Path(entry.path).name for entry in await session.ls(Path("/workspace"))]
        assert await session.running()
    await client.delete(session)
    assert not await session.running()


async def test_sandboxes_are_found_again(tmp_path: Path) -> None:
    """A state finds its sandbox, in the store when it is not live; one that is gone is filled from its
    snapshot.
    """
    store = planaria.FileStore(tmp_path / "store")
    client = PlanariaSandboxClient(store)
    session = await client.create(snapshot=LocalSnapshotSpec(base_path=tmp_path / "archives"))
    async with session:
        await session.exec("mkdir -p d && echo kept > d/f && ln -s d/f link && touch /tmp/beside")
    saved = client.serialize_session_state(session.state)

    async def contents(client: PlanariaSandboxClient) -> tuple[bytes, bool]:
        async with await client.resume(client.deserialize_session_state(dict(saved))) as again:
            done = await again.exec("cat link; test -e /tmp/beside")
            return done.stdout, done.ok()

    assert await contents(client) == (b"kept\n", True)
    await client.delete(session)
    assert await contents(PlanariaSandboxClient()) == (b"kept\n", False)


async def test_sandbox_agent() -> None:
    """A sandbox agent runs commands and edits files with the SDK's own tools."""
    model = ScriptedModel(
        [
            [function_call("exec_command", {"cmd": "echo 3 > n; expr $(cat n) + 5"}, call_id="1")],
            [assistant_message("8")],
        ]
    )
    client = PlanariaSandboxClient()
    agent = SandboxAgent(name="agent", model=model, instructions="Count.")
    config = RunConfig(sandbox=SandboxRunConfig(client=client), tracing_disabled=True)
    result = await Runner.run(agent, "How many?", run_config=config)
    assert result.final_output == "8"
    [output] = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert "\n8" in output
