"""AG2: a session as the environment of shell and code tools, and its own tools. Needs `planaria[ag2]`."""

from __future__ import annotations

import inspect
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast

from ag2 import ToolResult, tool
from ag2.events.input_events import ImageInput
from ag2.tools.code import CodeRunResult
from ag2.tools.sandbox import ExecResult, SandboxBase
from ag2.tools.sandbox.factory import SingletonFactory

from planaria.integrations.awaited import in_thread, run_command
from planaria.integrations.command_backend import CommandOutputLimit, CommandTimeout
from planaria.integrations.session_choice import open_backend
from planaria.integrations.session_tools import SessionTool, session_tools
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from ag2.context import ConversationContext
    from ag2.tools.code import CodeLanguage
    from ag2.tools.final.function_tool import FunctionTool

__all__ = ["PlanariaCodeEnvironment", "PlanariaEnvironment", "PlanariaSandbox", "tools"]

#: The exit status of a command whose time was over, as timeout(1) has it.
_TIMED_OUT: Final = 124


def tools(session: Session) -> list[FunctionTool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session, which stays open."""
    return [_tool(one) for one in session_tools(session)]


class PlanariaSandbox(SandboxBase):
    """A session as a sandbox: each command is a process of its own.

    Args:
        session: an open session, which `aclose()` leaves open. None creates one.
        arguments: those of `planaria.Session` for the one that is created.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, session: Session | None = None, **arguments: Unpack[SessionArguments]) -> None:
        self._backend = open_backend(session, arguments)

    @property
    def session(self) -> Session:
        """The session, for checkpoints, forks, snapshots."""
        return self._backend.session

    @property
    def workdir(self) -> PurePosixPath:
        """Where commands start."""
        return PurePosixPath(self._backend.cwd)

    @property
    def host_workdir(self) -> Path | None:
        """None: the host does not have it."""
        return None

    async def exec(
        self, argv: list[str], *, env: dict[str, str] | None = None, timeout: float | None = None
    ) -> ExecResult:
        """Run a program. One that takes more than `timeout` seconds is stopped and has the status 124."""
        if not argv:
            return ExecResult("", 2)
        try:
            done = await run_command(self._backend, argv, env=env, timeout=timeout, merge_streams=True)
        except CommandTimeout as error:
            return ExecResult(f"{error.output.stdout}{error}", _TIMED_OUT)
        except CommandOutputLimit as error:
            return ExecResult(f"{error.output.stdout}\n[truncated]", error.output.exit_code)
        return ExecResult(done.stdout.strip(), done.exit_code)

    async def put_file(self, path: PurePosixPath, content: bytes) -> None:
        """Write a file in the working directory, creating the directories above it."""
        await in_thread(self._backend.files.write, self._relative(path), content)

    async def remove_file(self, path: PurePosixPath) -> None:
        """Remove a file in the working directory, if it is there."""
        if await in_thread(self._backend.files.exists, self._relative(path)):
            await in_thread(self._backend.files.remove, str(path))

    async def aclose(self) -> None:
        """Stop what runs, and close the session unless it was given."""
        await in_thread(self._backend.close)

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: AG2 copies its tools when it registers them, and the copies share the session."""
        return self

    def _relative(self, path: PurePosixPath) -> str:
        """A path that stays in the working directory. Raises ValueError for another one."""
        real = PurePosixPath(self._backend.files.real_path(str(path)))
        if path.is_absolute() or not real.is_relative_to(self.workdir):
            raise ValueError(f"{path}: the path must be relative to {self.workdir} and stay in it")
        return str(path)


class PlanariaEnvironment(SingletonFactory):
    """The environment of `SandboxShellTool` and `SandboxCodeTool`: a `PlanariaSandbox` for all their calls.

    Args:
        session: an open session, which `aclose()` leaves open. None creates one.
        arguments: those of `planaria.Session` for the one that is created.
    """

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(self, session: Session | None = None, **arguments: Unpack[SessionArguments]) -> None:
        super().__init__(PlanariaSandbox(session, **arguments))

    @property
    def session(self) -> Session:
        """The session, for checkpoints, forks, snapshots."""
        return cast(PlanariaSandbox, self.sandbox).session

    async def aclose(self) -> None:
        """Stop what runs, and close the session unless it was given."""
        await self.sandbox.aclose()


class PlanariaCodeEnvironment:
    """The environment of a `SandboxCodeTool` whose code shares a session: variables and imports are kept.

    Args:
        session: the session, which stays open.
    """

    def __init__(self, session: Session) -> None:
        python, bash, *_ = session_tools(session)
        self._tools = {"python": (python, "code"), "bash": (bash, "command")}

    @property
    def supported_languages(self) -> tuple[CodeLanguage, ...]:
        """The languages it runs."""
        return ("python", "bash")

    async def run(
        self, code: str, language: CodeLanguage, *, context: ConversationContext | None = None
    ) -> CodeRunResult:
        """Execute a program; what it raises is its output, with the status 1."""
        if language not in self._tools:
            return CodeRunResult(f"{language!r} is not a language of this sandbox: python, bash", 2)
        run, argument = self._tools[language]
        answer = await run.acall(**{argument: code})
        return CodeRunResult(answer.text, int(answer.is_error))

    def __deepcopy__(self, memo: object) -> Self:
        """Itself: AG2 copies its tools when it registers them, and the copies share the session."""
        return self


def _tool(given: SessionTool) -> FunctionTool:
    async def call(**arguments: Any) -> ToolResult:
        answer = await given.acall(**arguments)
        images = [ImageInput(data=image.data, media_type=cast(Any, image.mime)) for image in answer.images]
        return ToolResult(*([answer.text] if answer.text else []), *images)

    # AG2 passes the arguments that a signature names.
    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if argument.is_required else None,
            annotation=argument.type if argument.is_required else argument.type | None,
        )
        for argument in given.arguments
    ]
    cast(Any, call).__signature__ = inspect.Signature(parameters, return_annotation=ToolResult)
    return tool(call, name=given.name, description=given.description, schema=cast(Any, given.schema))
