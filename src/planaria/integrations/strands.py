"""Strands Agents: a session as the sandbox of an agent. Needs `planaria[strands]`."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, cast

from strands.sandbox import ExecutionResult, FileInfo, Sandbox, StreamChunk
from strands.sandbox.errors import SandboxPathNotFoundError, SandboxTimeoutError
from strands.tools.tools import PythonAgentTool
from strands.vended_tools.file_editor import make_file_editor
from strands.vended_tools.shell import make_shell

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import CommandOutputLimit, CommandTimeout
from planaria.integrations.session_choice import open_backend
from planaria.integrations.session_tools import SessionTool, session_tools
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from strands.types.media import ImageFormat
    from strands.types.tools import AgentTool, ToolResult, ToolResultContent, ToolUse

__all__ = ["PlanariaSandbox"]

_STREAMS: Final[dict[int, Literal["stdout", "stderr"]]] = {1: "stdout", 2: "stderr"}


class PlanariaSandbox(Sandbox):
    """A session as the sandbox of an agent: `Agent(sandbox=PlanariaSandbox())`.

    It brings the tools `sandbox_shell` and `sandbox_file_editor`, and `run_python`, whose variables are kept.

    Args:
        session: an open session, which `close()` leaves open. None creates one.
        arguments: those of `planaria.Session` for the one that is created.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, session: Session | None = None, **arguments: Unpack[SessionArguments]) -> None:
        self._backend = open_backend(session, arguments)

    @property
    def session(self) -> Session:
        """The session, for checkpoints, forks, snapshots."""
        return self._backend.session

    def close(self) -> None:
        """Stop what runs, and close the session unless it was given."""
        self._backend.close()

    def get_tools(self) -> list[AgentTool]:
        """The tools that an agent gets."""
        place = f"Works in {self._backend.cwd} of a sandbox, on the files of run_python."
        return [
            make_shell(sandbox=self, name="sandbox_shell", description=f"Run a bash script. {place}"),
            make_file_editor(sandbox=self, name="sandbox_file_editor"),
            _tool(session_tools(self.session)[0]),
        ]

    async def execute_streaming(
        self,
        command: str,
        *,
        timeout: float | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamChunk | ExecutionResult, None]:
        """Run a script in bash; the process is its own. Leaving the generator stops it.

        Raises SandboxTimeoutError after `timeout` seconds.
        """
        async for chunk in self._stream(["bash", "-c", command], timeout, cwd, env):
            yield chunk

    async def execute_code_streaming(
        self,
        code: str,
        language: str,
        *,
        timeout: float | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamChunk | ExecutionResult, None]:
        """Run a program of Python or bash in a process of its own. Raises what `execute_streaming` does, and
        ValueError for other languages.
        """
        if language not in ("python", "python3", "bash", "sh"):
            raise ValueError(f"language={language!r}: the sandbox has python3 and bash")
        async for chunk in self._stream([language, "-c", code], timeout, cwd, env):
            yield chunk

    async def read_file(self, path: str, **kwargs: Any) -> bytes:
        """The contents of a file."""
        return await in_thread(self._backend.files.read, path)

    async def write_file(self, path: str, content: bytes, **kwargs: Any) -> None:
        """Write a file, creating the directories above it."""
        await in_thread(self._backend.files.write, path, content)

    async def remove_file(self, path: str, **kwargs: Any) -> None:
        """Remove a file, but not a directory."""

        def remove() -> None:
            if self._backend.files.stat(path).is_dir:
                raise IsADirectoryError(f"{path} is a directory")
            self._backend.files.remove(path)

        await in_thread(remove)

    async def list_files(self, path: str, **kwargs: Any) -> list[FileInfo]:
        """What is in a directory. Raises SandboxPathNotFoundError when there is no directory of the name."""
        try:
            entries = await in_thread(self._backend.files.list, path)
        except (FileNotFoundError, NotADirectoryError):
            raise SandboxPathNotFoundError(path) from None
        return [FileInfo(entry.name, entry.is_dir, None if entry.is_dir else entry.size) for entry in entries]

    async def _stream(
        self, argv: list[str], timeout: float | None, cwd: str | None, env: dict[str, str] | None
    ) -> AsyncGenerator[StreamChunk | ExecutionResult, None]:
        loop = asyncio.get_running_loop()
        output: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()

        def written(stream: int, data: bytes) -> None:
            loop.call_soon_threadsafe(output.put_nowait, (stream, data))

        running = asyncio.create_task(
            run_command(self._backend, argv, timeout=timeout, cwd=cwd, env=env, on_output=written)
        )
        running.add_done_callback(lambda _: output.put_nowait(None))
        decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in _STREAMS}
        try:
            while (chunk := await output.get()) is not None:
                stream, data = chunk
                text = decoders[stream].decode(data)
                if text:
                    yield StreamChunk(text, _STREAMS[stream])
            try:
                done = await running
            except CommandTimeout as error:
                raise SandboxTimeoutError(timeout, error.output.stdout, error.output.stderr) from error
            except CommandOutputLimit as error:
                done = error.output
            yield ExecutionResult(done.exit_code, done.stdout, done.stderr)
        finally:
            if not running.done():
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running


def _tool(tool: SessionTool) -> AgentTool:
    async def call(use: ToolUse, **_: Any) -> ToolResult:
        answer = await tool.acall(**use["input"])
        content: list[ToolResultContent] = [{"text": answer.text}] if answer.text else []
        for image in answer.images:
            kind = cast("ImageFormat", image.mime.removeprefix("image/"))
            content.append({"image": {"format": kind, "source": {"bytes": image.data}}})
        status: Literal["success", "error"] = "error" if answer.is_error else "success"
        return {"toolUseId": use["toolUseId"], "status": status, "content": content}

    return PythonAgentTool(
        tool.name,
        {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.schema}},
        call,
    )
