"""The six tools of self-hosted environments (`agent_toolset_20260401`) on a session."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from anthropic.lib.tools import BetaAsyncFunctionTool, BetaFunctionToolResultType
from anthropic.types.beta import (
    BetaManagedAgentsAgentToolset20260401BashInput,
    BetaManagedAgentsAgentToolset20260401EditInput,
    BetaManagedAgentsAgentToolset20260401GlobInput,
    BetaManagedAgentsAgentToolset20260401GrepInput,
    BetaManagedAgentsAgentToolset20260401ReadInput,
    BetaManagedAgentsAgentToolset20260401WriteInput,
)
from pydantic import BaseModel

from planaria.integrations.anthropic.client_tools import bash_function
from planaria.integrations.anthropic.content import PDF, content
from planaria.integrations.awaited import in_thread
from planaria.integrations.command_backend import CommandBackend
from planaria.integrations.file_editing import EditingError, FileEditing
from planaria.integrations.result_content import Image as Media
from planaria.integrations.session_tools import Answer, SessionTool, session_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planaria.session._sync.session import Session

__all__ = ["agent_toolset"]

#: Seconds that a command may take unless it says how many, as with Anthropic's own tools.
_BASH_TIMEOUT: Final = 120
#: So many paths are listed, and so many bytes of matching lines.
_MOST_PATHS: Final = 200
_MOST_OUTPUT: Final = 100 * 1024
#: So much of a text file is read, unless lines are asked for.
_MOST_TEXT: Final = 256 * 1024
#: The types of files that are read as images and documents, by the ends of their names.
_MEDIA: Final = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".pdf": PDF,
}
_DESCRIPTIONS: Final = {
    "bash": "Run a command in a bash shell, whose variables and working directory are kept.",
    "read": "Read a text file, an image or a PDF.",
    "write": "Write a file, creating the directories above it.",
    "edit": "Replace a string in a file.",
    "glob": "List the paths that match a pattern, newest first.",
    "grep": "Search files for a regular expression.",
}
_INPUTS: Final[dict[str, type[BaseModel]]] = {
    "bash": BetaManagedAgentsAgentToolset20260401BashInput,
    "read": BetaManagedAgentsAgentToolset20260401ReadInput,
    "write": BetaManagedAgentsAgentToolset20260401WriteInput,
    "edit": BetaManagedAgentsAgentToolset20260401EditInput,
    "glob": BetaManagedAgentsAgentToolset20260401GlobInput,
    "grep": BetaManagedAgentsAgentToolset20260401GrepInput,
}
#: Lists what matches a pattern under a directory, newest first.
_GLOB: Final = """
import glob, os, sys

root, pattern = sys.argv[1:]
found = [os.path.join(root, name) for name in glob.glob(pattern, root_dir=root, recursive=True)]
for path in sorted(found, key=lambda path: os.lstat(path).st_mtime, reverse=True):
    print(path)
"""


def agent_toolset(
    session: Session, *, cwd: str | None = None, closes_session: bool = False
) -> list[BetaAsyncFunctionTool[Any]]:
    """The tools bash, read, write, edit, glob and grep for an `EnvironmentWorker` and for tool runners.

    Args:
        session: the session on which they work.
        cwd: the directory in which bash starts and to which paths are relative, by default that of the
            session.
        closes_session: whether the session is closed when the worker closes its tools.
    """
    backend = CommandBackend(session, cwd=cwd, closes_session=False)
    files = _Files(backend)
    functions: dict[str, Callable[..., Answer]] = {
        "bash": bash_function(session, _BASH_TIMEOUT, backend.cwd),
        "read": files.read,
        "write": files.write,
        "edit": files.edit,
        "glob": files.glob,
        "grep": files.grep,
    }
    first = session_tools(session)[0]
    tools = [
        _tool(first.beside(name, _DESCRIPTIONS[name], (), function), _INPUTS[name])
        for name, function in functions.items()
    ]
    if closes_session:

        async def close() -> None:
            await in_thread(session.close)

        tools[0].close = close
    return tools


def _tool(tool: SessionTool, schema: type[BaseModel]) -> BetaAsyncFunctionTool[Any]:
    # Its annotations are evaluated by pydantic.
    async def call(**arguments: Any) -> BetaFunctionToolResultType:
        return content(await tool.acall(**arguments))

    return BetaAsyncFunctionTool(call, name=tool.name, description=tool.description, input_schema=schema)


class _Files:
    """The tools for files."""

    def __init__(self, backend: CommandBackend) -> None:
        self._backend = backend
        self._editing = FileEditing(backend.files)

    def read(self, file_path: str, view_range: Sequence[int] | None = None) -> Answer:
        try:
            data = self._backend.files.read(file_path)
        except OSError as error:
            return _failed(f"{file_path}: {error.strerror}")
        suffix = posixpath.splitext(file_path)[1].lower()
        if suffix in _MEDIA and not view_range:
            return Answer("", [Media(_MEDIA[suffix], data)])
        if len(data) > _MOST_TEXT and not view_range:
            return _failed(
                f"{file_path}: {len(data)} bytes are more than the {_MOST_TEXT} that are read at once; give "
                "view_range, as in [1, 500]"
            )
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return _failed(f"{file_path}: neither text in UTF-8 nor an image or PDF by its name")
        if view_range:
            first, last = view_range
            text = "\n".join(text.split("\n")[max(first, 1) - 1 : last if last > 0 else None])
        return Answer(text)

    def write(self, file_path: str, content: str) -> Answer:
        return _edited(lambda: self._editing.create(file_path, content))

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool | None = None
    ) -> Answer:
        everywhere = bool(replace_all)
        return _edited(
            lambda: self._editing.replace(file_path, old_string, new_string, everywhere=everywhere)
        )

    def glob(self, pattern: str, path: str | None = None) -> Answer:
        root = self._backend.files.absolute(path or "")
        found = self._backend.run(["python3", "-c", _GLOB, root, pattern])
        if found.exit_code:
            return _failed(found.stderr)
        paths = found.stdout.splitlines()
        more = [f"[{len(paths) - _MOST_PATHS} more]"] if len(paths) > _MOST_PATHS else []
        return Answer("\n".join(paths[:_MOST_PATHS] + more) or "no matches")

    def grep(self, pattern: str, path: str | None = None) -> Answer:
        root = self._backend.files.absolute(path or "")
        found = self._backend.run(["rg", "--line-number", "--with-filename", "-e", pattern, "--", root])
        if found.exit_code > 1:
            return _failed(found.stderr)
        lines = found.stdout
        if len(lines) > _MOST_OUTPUT:
            lines = lines[:_MOST_OUTPUT].rpartition("\n")[0] + "\n[truncated]"
        return Answer(lines.rstrip("\n") or "no matches")


def _edited(operation: Callable[[], str]) -> Answer:
    try:
        return Answer(operation())
    except EditingError as error:
        return _failed(str(error))


def _failed(message: str) -> Answer:
    return Answer(message.rstrip("\n"), is_error=True)
