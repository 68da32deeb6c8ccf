"""The tools that Claude was trained on and that the client runs: bash, text editor, memory; and Python."""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool

from planaria.integrations.anthropic.content import content
from planaria.integrations.command_backend import CommandBackend
from planaria.integrations.file_editing import EditingError, FileEditing
from planaria.integrations.session_tools import Answer, SessionTool, answer_of, session_tools
from planaria.limits import NOT_GIVEN
from planaria.session import kernel_queries

if TYPE_CHECKING:
    from collections.abc import Callable

    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import BetaToolUnionParam

    from planaria.session._sync.session import Session

__all__ = ["async_tools", "bash_function", "tools"]

#: Where Claude's memory is, for the model and in the session.
_MEMORY: Final = "/memories"


def tools(session: Session, *, max_characters: int | None = None) -> list[BetaBuiltinFunctionTool]:
    """Tools for `Anthropic().beta.messages.tool_runner`: `run_python`, bash, the text editor and memory.

    Args:
        session: an open session, which stays open.
        max_characters: how much of a file the text editor shows.
    """
    return [_Tool(tool, entry) for tool, entry in _tools(session, max_characters)]


def async_tools(session: Session, *, max_characters: int | None = None) -> list[BetaAsyncBuiltinFunctionTool]:
    """`tools`, for `AsyncAnthropic().beta.messages.tool_runner`. Cancelling a run stops what it executes."""
    return [_AsyncTool(tool, entry) for tool, entry in _tools(session, max_characters)]


class _Tool(BetaBuiltinFunctionTool):
    def __init__(self, tool: SessionTool, entry: BetaToolUnionParam) -> None:
        self._tool = tool
        self._entry = entry

    def to_dict(self) -> BetaToolUnionParam:
        return self._entry

    def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002
        return content(self._tool.call(**_arguments(input)))


class _AsyncTool(BetaAsyncBuiltinFunctionTool):
    def __init__(self, tool: SessionTool, entry: BetaToolUnionParam) -> None:
        self._tool = tool
        self._entry = entry

    def to_dict(self) -> BetaToolUnionParam:
        return self._entry

    async def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002
        return content(await self._tool.acall(**_arguments(input)))


def _arguments(given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TypeError(f"the input of a tool must be an object, not {given!r}")
    return given


def _tools(session: Session, max_characters: int | None) -> list[tuple[SessionTool, BetaToolUnionParam]]:
    """Each tool with its entry in a request."""
    python = session_tools(session)[0]
    files = CommandBackend(session, closes_session=False).files
    files.make_dir(_MEMORY)
    editor: BetaToolUnionParam = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
    if max_characters is not None:
        editor["max_characters"] = max_characters
    return [
        (
            python,
            {
                "name": python.name,
                "description": python.description,
                "input_schema": python.schema,
            },
        ),
        (
            python.beside("bash", "", (), bash_function(session)),
            {"type": "bash_20250124", "name": "bash"},
        ),
        (
            python.beside(editor["name"], "", (), _editing(FileEditing(files), max_characters)),
            editor,
        ),
        (
            python.beside("memory", "", (), _editing(FileEditing(files, _in_memory), None)),
            {"type": "memory_20250818", "name": "memory"},
        ),
    ]


def bash_function(
    session: Session, timeout: float | None = None, cwd: str | None = None
) -> Callable[..., Answer]:
    """The function of a tool that runs commands in the session's shell, or starts the shell again.

    Args:
        session: the session.
        timeout: seconds that a command may take; None for what the session allows.
        cwd: where the shell starts; None for where it is.
    """
    if cwd is not None:
        session.bash(f"cd -- {shlex.quote(cwd)}")
    beginning = session._ask(kernel_queries.state)

    def bash(
        command: str | None = None, restart: bool | None = None, timeout_ms: int | None = None
    ) -> Answer:
        if restart:
            session._ask(lambda engine: kernel_queries.restore_state(engine, beginning))
            return Answer("the shell was started again")
        if not command:
            return Answer("bash: `command` is missing", is_error=True)
        seconds = timeout_ms / 1000 if timeout_ms else timeout
        result = session._run_script(command, NOT_GIVEN if seconds is None else seconds)
        return replace(answer_of(result), is_error=result.exit_code != 0)

    return bash


def _editing(editing: FileEditing, most: int | None) -> Callable[..., Answer]:
    """The function of a tool that views and edits files."""

    def edit(command: str | None = None, **given: Any) -> Answer:
        try:
            match {"command": command, **given}:
                case {"command": "view", "path": str(path), **rest}:
                    text = editing.view(path, rest.get("view_range"), most)
                case {"command": "create", "path": str(path), "file_text": str(new)}:
                    text = editing.create(path, new)
                case {"command": "str_replace", "path": str(path), "old_str": str(old), **rest}:
                    text = editing.replace(path, old, rest.get("new_str") or "")
                case {
                    "command": "insert",
                    "path": str(path),
                    "insert_line": int(line),
                    "insert_text": str(new),
                }:
                    text = editing.insert(path, line, new)
                case {"command": "delete", "path": str(path)}:
                    text = editing.delete(path)
                case {"command": "rename", "old_path": str(path), "new_path": str(new_path)}:
                    text = editing.rename(path, new_path)
                case _:
                    names = ", ".join(given) or "no others"
                    return Answer(f"there is no command {command!r} with arguments {names}", is_error=True)
        except EditingError as error:
            return Answer(str(error), is_error=True)
        return Answer(text)

    return edit


def _in_memory(path: str) -> str:
    place = posixpath.normpath(path)
    if place != _MEMORY and not place.startswith(f"{_MEMORY}/"):
        raise ValueError(f"{path}: the files of this tool are in {_MEMORY}")
    return place
