"""Agents of Google ADK on sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from google.adk.tools.environment import EnvironmentToolset

import planaria
from planaria.integrations.google_adk import PlanariaCodeExecutor, PlanariaEnvironment

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def environment() -> AsyncIterator[PlanariaEnvironment]:
    environment = PlanariaEnvironment()
    with pytest.raises(RuntimeError, match="initialize"):
        _ = environment.working_dir
    await environment.initialize()
    yield environment
    await environment.close()
    assert not environment.is_initialized


async def test_commands(environment: PlanariaEnvironment) -> None:
    """Scripts run in the working directory, with their streams and status; a limit is reported."""
    await environment.initialize()
    done = await environment.execute("pwd; echo b >&2; exit 3")
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (3, "/home/user\n", "b\n", False)
    late = await environment.execute("echo begun; sleep 1000", timeout=0.3)
    assert (late.timed_out, late.stdout) == (True, "begun\n")


async def test_files(environment: PlanariaEnvironment) -> None:
    """Files are bytes; directories above them are created; a missing one is FileNotFoundError."""
    await environment.write_file(Path("d/f"), b"\0a")
    await environment.write_file(Path("/tmp/g"), "é")
    assert await environment.read_file(environment.working_dir / "d/f") == b"\0a"
    assert await environment.read_file(Path("/tmp/g")) == "é".encode()
    with pytest.raises(FileNotFoundError):
        await environment.read_file(Path("nope"))


async def test_tools_of_adk(environment: PlanariaEnvironment) -> None:
    """ADK's own tools execute, edit and read in the session."""
    tools = {tool.name: tool for tool in await EnvironmentToolset(environment=environment).get_tools()}

    async def call(name: str, **arguments: Any) -> Any:
        return await tools[name].run_async(args=arguments, tool_context=cast(Any, None))

    [execute] = [name for name in tools if "exec" in name.lower()]
    [write] = [name for name in tools if "write" in name.lower()]
    await call(write, path="w.txt", content="hello\n")
    done = await call(execute, command="cat w.txt")
    assert "hello" in str(done)
    assert environment.session.files.read_text("w.txt") == "hello\n"


def execute(
    executor: PlanariaCodeExecutor, code: str, conversation: str | None, *files: File
) -> CodeExecutionResult:
    given = CodeExecutionInput(code=code, execution_id=conversation, input_files=list(files))
    return executor.execute_code(cast(InvocationContext, None), given)


async def test_code_executor_keeps_variables_by_conversation() -> None:
    """Each conversation has its variables and files; figures are output files; failures are stderr."""
    executor = PlanariaCodeExecutor(timeout_seconds=60, limits=planaria.Limits(timeout=30))
    data = File("sales.csv", b"day,units\nmo,3\n", "text/csv")
    done = execute(executor, "rows = open('sales.csv').read()\nlen(rows)", "a", data)
    assert (done.stdout, done.stderr, done.exit_code) == ("15", "", 0)
    failed = execute(executor, "print('x')\nrows.sum()", "a")
    assert (failed.stdout, failed.exit_code) == ("x\n", 1)
    assert failed.stderr.endswith("AttributeError: 'str' object has no attribute 'sum'\n")
    warned = execute(executor, "import warnings; warnings.warn('careful')", "a")
    assert (warned.stderr, "careful" in warned.stdout) == ("", True)
    drawn = execute(executor, "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\nplt.show()", "a")
    [figure] = drawn.output_files
    assert (figure.mime_type, figure.content[:4]) == ("image/png", b"\x89PNG")
    assert figure.name.endswith(".png")
    assert "NameError" in execute(executor, "rows", "b").stderr
    first = executor.session("a")
    executor.close("a")
    assert (first.is_closed, executor.session("b").is_closed) == (True, False)
    executor.close()
