"""Deep Agents (LangChain): a session as the sandbox of an agent. Needs `planaria[deepagents]`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from planaria.integrations.awaited import run_command
from planaria.integrations.command_backend import CommandOutputLimit, CommandTimeout
from planaria.integrations.session_choice import open_backend
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from planaria.integrations.command_backend import Completed

__all__ = ["PlanariaBackend"]

#: The exit status of a command whose time was over, as timeout(1) has it.
_TIMED_OUT: Final = 124


class PlanariaBackend(BaseSandbox):
    """A session as the backend of a deep agent: its files, and `execute` for bash.

    Args:
        session: an open session, which `close()` leaves open. None creates one.
        arguments: those of `planaria.Session` for the one that is created.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, session: Session | None = None, **arguments: Unpack[SessionArguments]) -> None:
        self._backend = open_backend(session, arguments)
        self._id = uuid.uuid4().hex

    @property
    def id(self) -> str:
        """Identifies this backend."""
        return self._id

    @property
    def session(self) -> Session:
        """The session, for checkpoints, forks, snapshots."""
        return self._backend.session

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a script in bash; its output and errors in the order in which they were written.

        `timeout` is in seconds; None is the session's limit. A command that takes longer has the status 124.
        """
        return _response(lambda: self._backend.run(command, timeout=timeout or None, merge_streams=True))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """`execute`, awaited; cancelling it stops the command."""
        try:
            done = await run_command(self._backend, command, timeout=timeout or None, merge_streams=True)
        except (CommandTimeout, CommandOutputLimit) as error:
            return _stopped(error)
        return ExecuteResponse(output=done.stdout, exit_code=done.exit_code)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files, creating the directories above them. What fails is in a response's `error`."""
        return [
            FileUploadResponse(path=path, error=_failure(partial(self._write, path, data)))
            for path, data in files
        ]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The contents of files. What fails is in a response's `error`."""
        responses = []
        for path in paths:
            contents: list[bytes] = []
            error = _failure(partial(self._read, path, contents))
            content = contents[0] if contents else None
            responses.append(FileDownloadResponse(path=path, content=content, error=error))
        return responses

    def close(self) -> None:
        """Stop what runs, and close the session unless it was given."""
        self._backend.close()

    def _write(self, path: str, data: bytes) -> None:
        self._backend.files.write(_absolute(path), data)

    def _read(self, path: str, contents: list[bytes]) -> None:
        contents.append(self._backend.files.read(_absolute(path)))


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not an absolute path")
    return path


def _failure(operation: Callable[[], object]) -> str | None:
    """What the protocol calls the error that an operation raises."""
    try:
        operation()
    except FileNotFoundError:
        return "file_not_found"
    except IsADirectoryError:
        return "is_directory"
    except PermissionError:
        return "permission_denied"
    except (NotADirectoryError, ValueError):
        return "invalid_path"
    except OSError as error:
        return str(error)
    return None


def _response(run: Callable[[], Completed]) -> ExecuteResponse:
    try:
        done = run()
    except (CommandTimeout, CommandOutputLimit) as error:
        return _stopped(error)
    return ExecuteResponse(output=done.stdout, exit_code=done.exit_code)


def _stopped(error: CommandTimeout | CommandOutputLimit) -> ExecuteResponse:
    """The response for a command that did not come to its end, or wrote too much."""
    output = error.output.stdout
    if isinstance(error, CommandOutputLimit):
        return ExecuteResponse(output=output, exit_code=error.output.exit_code, truncated=True)
    line = "" if not output or output.endswith("\n") else "\n"
    return ExecuteResponse(output=f"{output}{line}{error}\n", exit_code=_TIMED_OUT)
