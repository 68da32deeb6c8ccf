"""Agents of Strands on sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from strands.sandbox import ExecutionResult, StreamChunk
from strands.sandbox.errors import SandboxPathNotFoundError, SandboxTimeoutError

import planaria
from planaria.integrations.strands import PlanariaSandbox

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[PlanariaSandbox]:
    sandbox = PlanariaSandbox(limits=planaria.Limits(timeout=60))
    yield sandbox
    sandbox.close()
    assert sandbox.session.is_closed


async def test_output_is_streamed(sandbox: PlanariaSandbox) -> None:
    """Chunks come with their streams, whole characters each; the result has all of it."""
    chunks = [chunk async for chunk in sandbox.execute_streaming("echo é; echo b >&2; exit 3")]
    assert chunks[-1] == ExecutionResult(3, "é\n", "b\n")
    streamed = [chunk for chunk in chunks if isinstance(chunk, StreamChunk)]
    assert "".join(chunk.data for chunk in streamed if chunk.stream_type == "stdout") == "é\n"
    assert "".join(chunk.data for chunk in streamed if chunk.stream_type == "stderr") == "b\n"


async def test_directory_environment_and_limit(sandbox: PlanariaSandbox) -> None:
    """`cwd` and `env` are the command's own; a command beyond its time raises with what it wrote."""
    done = await sandbox.execute("echo $PWD $X | cat", cwd="/tmp", env={"X": "a b"})
    assert done.stdout == "/tmp a b\n"
    with pytest.raises(SandboxTimeoutError) as caught:
        await sandbox.execute("echo begun; sleep 1000", timeout=0.3)
    assert caught.value.stdout == "begun\n"
    with pytest.raises(ValueError, match="name for an environment variable"):
        await sandbox.execute("true", env={"1x": ""})


async def test_code(sandbox: PlanariaSandbox) -> None:
    """Programs of Python and bash run in processes of their own; other languages are refused."""
    done = await sandbox.execute_code(
        "import os; print(os.environ['X']); raise SystemExit(3)", "python", env={"X": "y"}
    )
    assert (done.exit_code, done.stdout) == (3, "y\n")
    assert (await sandbox.execute_code("echo ${X-unset}", "bash")).stdout == "unset\n"
    with pytest.raises(ValueError, match="python3 and bash"):
        await sandbox.execute_code("1", "node")


async def test_cancelled_command_stops(sandbox: PlanariaSandbox) -> None:
    """Leaving the stream, or cancelling its task, stops the command; the next one runs."""
    stream = sandbox.execute_streaming("echo begun; sleep 1000; touch late")
    assert await anext(stream) == StreamChunk("begun\n", "stdout")
    await stream.aclose()
    task = asyncio.create_task(sandbox.execute("sleep 1000; touch late"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await sandbox.execute("ls late")).exit_code == 2


async def test_files(sandbox: PlanariaSandbox) -> None:
    """Files are bytes; directories are listed with sizes; what is missing raises the errors of Strands."""
    await sandbox.write_file("d/f", b"\0ab")
    await sandbox.write_text("d/e/g", "é")
    assert await sandbox.read_file("/home/user/d/f") == b"\0ab"
    listed = [(entry.name, entry.is_dir, entry.size) for entry in await sandbox.list_files("d")]
    assert listed == [("e", True, None), ("f", False, 3)]
    await sandbox.remove_file("d/f")
    with pytest.raises(FileNotFoundError):
        await sandbox.remove_file("d/f")
    with pytest.raises(IsADirectoryError):
        await sandbox.remove_file("d")
    for path in ("d/f", "d/e/g"):
        with pytest.raises(SandboxPathNotFoundError):
            await sandbox.list_files(path)


async def test_tools_give_text_and_figures(sandbox: PlanariaSandbox) -> None:
    """The sandbox brings three tools; a figure of `run_python` is an image of its result."""
    tools = {tool.tool_name: tool for tool in sandbox.get_tools()}
    assert list(tools) == ["sandbox_shell", "sandbox_file_editor", "run_python"]

    async def call(code: str) -> Any:
        use = {"toolUseId": "1", "name": "run_python", "input": {"code": code}}
        [event] = [event async for event in tools["run_python"].stream(use, {})]
        return event["tool_result"]

    failed = await call("x = 3\nx / 0")
    assert failed["status"] == "error"
    drawn = await call("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nx")
    assert drawn["status"] == "success"
    assert drawn["content"][0]["text"].endswith("3")
    assert drawn["content"][1]["image"]["format"] == "png"
