"""Google ADK: a session as an agent's environment and code executor. Needs `planaria[google-adk]`."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any, Unpack, cast

from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult, File
from google.adk.environment import BaseEnvironment, ExecutionResult
from pydantic import PrivateAttr

from planaria.errors import ExecutionError
from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import CommandBackend, CommandOutputLimit, CommandTimeout
from planaria.integrations.result_content import result_images, result_text
from planaria.integrations.session_choice import check_choice, open_backend
from planaria.limits import NOT_GIVEN
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

__all__ = ["CodeExecutorArguments", "PlanariaCodeExecutor", "PlanariaEnvironment"]


class PlanariaEnvironment(BaseEnvironment):
    """A session as the environment of `EnvironmentToolset` and of skills.

    Args:
        session: an open session, which `close()` leaves open. None creates one in `initialize()`.
        arguments: those of `planaria.Session` for the one that is created.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, session: Session | None = None, **arguments: Unpack[SessionArguments]) -> None:
        check_choice(session, arguments)
        self._session = session
        self._arguments = arguments
        self._backend: CommandBackend | None = None

    @property
    def session(self) -> Session:
        """The session, for checkpoints, forks, snapshots. Raises RuntimeError before `initialize()`."""
        return self._ready().session

    @property
    def working_dir(self) -> Path:
        """Where commands start. Raises RuntimeError before `initialize()`."""
        return Path(self._ready().cwd)

    async def initialize(self) -> None:
        """Create the session."""
        if self._backend is None:
            self._backend = await in_thread(open_backend, self._session, self._arguments)
            self.is_initialized = True

    async def close(self) -> None:
        """Stop what runs, and close the session unless it was given."""
        if self._backend is not None:
            await in_thread(self._backend.close)
            self._backend = None
            self.is_initialized = False

    async def execute(self, command: str, *, timeout: float | None = None) -> ExecutionResult:
        """Run a script in bash, in a process of its own."""
        try:
            done = await run_command(self._ready(), command, timeout=timeout)
        except CommandTimeout as error:
            return ExecutionResult(-1, error.output.stdout, error.output.stderr, timed_out=True)
        except CommandOutputLimit as error:
            done = error.output
        return ExecutionResult(done.exit_code, done.stdout, done.stderr)

    async def read_file(self, path: Path) -> bytes:
        """The contents of a file. Raises FileNotFoundError and other OSErrors."""
        return await in_thread(self._ready().files.read, Path(path).as_posix())

    async def write_file(self, path: Path, content: str | bytes) -> None:
        """Write a file, creating the directories above it."""
        data = content.encode() if isinstance(content, str) else content
        await in_thread(self._ready().files.write, Path(path).as_posix(), data)

    def _ready(self) -> CommandBackend:
        if self._backend is None:
            raise RuntimeError("the environment has no session yet: call initialize() first")
        return self._backend


class CodeExecutorArguments(SessionArguments, total=False):
    """The fields of ADK's BaseCodeExecutor, explained there, and the arguments of `planaria.Session`."""

    optimize_data_file: bool
    stateful: bool
    error_retry_attempts: int
    code_block_delimiters: list[tuple[str, str]]
    execution_result_delimiters: tuple[str, str]
    timeout_seconds: int | None


class PlanariaCodeExecutor(BaseCodeExecutor):
    """Runs an agent's code in sessions, one for each conversation: variables and files are kept.

    Figures are output files. `optimize_data_file=True` gives the code the CSV files of a message.

    Args:
        session: an open session for all conversations. None creates one for each.
        fields: the fields of BaseCodeExecutor, and arguments of `planaria.Session`.
    """

    stateful: bool = True
    _session: Session | None = PrivateAttr(None)
    _arguments: SessionArguments = PrivateAttr(default_factory=SessionArguments)
    #: Those that were created, by the ids of executions.
    _sessions: dict[str | None, Session] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @suggest_session_options(CodeExecutorArguments.__annotations__)
    def __init__(self, session: Session | None = None, **fields: Unpack[CodeExecutorArguments]) -> None:
        own = {name: value for name, value in fields.items() if name in BaseCodeExecutor.model_fields}
        arguments = cast(SessionArguments, {name: given for name, given in fields.items() if name not in own})
        check_choice(session, arguments)
        super().__init__(**own)
        self._session = session
        self._arguments = arguments

    def session(self, execution_id: str | None = None) -> Session:
        """The session of a conversation, by the id of ADK's session; created when it is first used."""
        if self._session is not None:
            return self._session
        with self._lock:
            session = self._sessions.get(execution_id)
            if session is None or session.is_closed:
                session = self._sessions[execution_id] = Session(**self._arguments)
            return session

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        """Execute a program; what it raises is in `stderr`, for the model to repair."""
        session = self.session(code_execution_input.execution_id)
        for file in code_execution_input.input_files:
            content = base64.b64decode(file.content) if isinstance(file.content, str) else file.content
            session.files.write_bytes(file.name, content)
        seconds = self.timeout_seconds
        result = session.run(code_execution_input.code, NOT_GIVEN if seconds is None else seconds)
        error = ""
        if isinstance(result.error, ExecutionError) and result.error.traceback:
            error = result.error.traceback
        elif result.error is not None:
            error = f"{type(result.error).__name__}: {result.error}"
        figures = [
            File(f"figure_{result.execution_count}_{number}.{image.mime[6:]}", image.data, image.mime)
            for number, image in enumerate(result_images(result), start=1)
        ]
        # What is written to stderr counts as a failure with ADK, which a warning is not.
        return CodeExecutionResult(
            stdout=result.stdout if error else result_text(result),
            stderr=result.stderr + error if error else "",
            output_files=figures,
            exit_code=result.exit_code,
        )

    def close(self, execution_id: str | None = None) -> None:
        """Close the session of a conversation, or all that were created."""
        with self._lock:
            names = [*self._sessions] if execution_id is None else [execution_id]
            closed = [self._sessions.pop(name) for name in names if name in self._sessions]
        for session in closed:
            session.close()
