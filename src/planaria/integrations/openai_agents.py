"""OpenAI Agents SDK: shell, patches and Python in a session. Needs `planaria[openai-agents]`."""

from __future__ import annotations

import json
from typing import Any

from agents import (
    ApplyPatchTool,
    FunctionTool,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellCommandRequest,
    ShellResult,
    ShellTool,
    Tool,
    ToolOutputImage,
    ToolOutputText,
    apply_diff,
)
from agents.editor import ApplyPatchOperation, ApplyPatchResult

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import CommandBackend, CommandOutputLimit, CommandTimeout
from planaria.integrations.session_tools import session_tools
from planaria.session._sync.session import Session

__all__ = ["PlanariaEditor", "PlanariaShell", "python_tool", "tools"]


def tools(session: Session) -> list[Tool]:
    """The tools `shell`, `apply_patch` and `run_python` on a session, for models that know the first two."""
    backend = CommandBackend(session, closes_session=False)
    return [
        ShellTool(executor=PlanariaShell(backend), environment={"type": "local"}),
        ApplyPatchTool(editor=PlanariaEditor(backend)),
        python_tool(session),
    ]


class PlanariaShell:
    """The executor of a ShellTool: each command is a script for bash, in a process of its own."""

    def __init__(self, backend: CommandBackend) -> None:
        self._backend = backend

    async def __call__(self, request: ShellCommandRequest) -> ShellResult:
        """Run the commands one after the other; what follows one that took too long is not run."""
        action = request.data.action
        seconds = action.timeout_ms / 1000 if action.timeout_ms else None
        outputs: list[ShellCommandOutput] = []
        for command in action.commands:
            outcome = ShellCallOutcome(type="exit", exit_code=0)
            try:
                done = await run_command(self._backend, command, timeout=seconds)
                outcome.exit_code = done.exit_code
            except CommandTimeout as error:
                done = error.output
                outcome = ShellCallOutcome(type="timeout")
            except CommandOutputLimit as error:
                done = error.output
                outcome.exit_code = done.exit_code
            outputs.append(ShellCommandOutput(done.stdout, done.stderr, outcome, command))
            if outcome.type == "timeout":
                break
        return ShellResult(output=outputs, max_output_length=action.max_output_length)


class PlanariaEditor:
    """The editor of an ApplyPatchTool, on the files of a session."""

    def __init__(self, backend: CommandBackend) -> None:
        self._files = backend.files

    async def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Create a file from its lines."""
        return await in_thread(self._write, operation, "", "create")

    async def update_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Change a file, and move it if that is asked for."""
        return await in_thread(self._update, operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        """Remove a file."""
        return await in_thread(self._delete, operation)

    def _update(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        try:
            before = self._files.read(operation.path).decode()
        except (OSError, UnicodeDecodeError) as error:
            return _failed(error)
        result = self._write(operation, before, "default")
        if operation.move_to and result.status == "completed":
            self._files.remove(operation.path)
        return result

    def _write(self, operation: ApplyPatchOperation, before: str, mode: Any) -> ApplyPatchResult:
        path = operation.move_to or operation.path
        try:
            self._files.write(path, apply_diff(before, operation.diff or "", mode).encode())
        except (OSError, ValueError) as error:
            return _failed(error)
        return ApplyPatchResult(status="completed", output=f"wrote {path}")

    def _delete(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        try:
            self._files.remove(operation.path)
        except (OSError, ValueError) as error:
            return _failed(error)
        return ApplyPatchResult(status="completed", output=f"removed {operation.path}")


def python_tool(session: Session) -> FunctionTool:
    """A tool `run_python` in which a session's variables are kept from call to call."""
    tool = session_tools(session)[0]

    async def invoke(_: Any, arguments: str) -> Any:
        answer = await tool.acall(**json.loads(arguments))
        images = [ToolOutputImage(image_url=image.url) for image in answer.images]
        return [ToolOutputText(text=answer.text), *images] if images else answer.text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def _failed(error: Exception) -> ApplyPatchResult:
    """The model sees what failed, and can try again."""
    return ApplyPatchResult(status="failed", output=str(error))
