"""The MCP server: what its tools and resources do with named sessions."""

from __future__ import annotations

import base64
import contextlib
import json
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Annotated, Any, Final, Literal, TypeVar

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from planaria import __version__
from planaria.errors import PlanariaError, SessionError, SnapshotError, StorageError
from planaria.integrations.mcp.arguments import ToolServer
from planaria.integrations.mcp.decisions import answer_pending
from planaria.integrations.mcp.outcome import Execution, tool_result
from planaria.integrations.named_sessions import NamedSession, NamedSessions
from planaria.limits import NOT_GIVEN, NotGiven
from planaria.session._async.session import AsyncSession
from planaria.session.report import as_json
from planaria.session.result import Output, Result

__all__ = ["create_server", "listen"]

T = TypeVar("T")

#: Seconds between two progress notifications of an execution.
_PROGRESS_INTERVAL: Final = 1.0
#: How much of the output a progress notification shows, in characters.
_PROGRESS_TEXT: Final = 200

_INSTRUCTIONS: Final = (
    "Python (CPython, with numpy, pandas, scipy, scikit-learn and matplotlib) and bash in a sandbox. "
    "A session keeps its variables, files and shell state from call to call; name one with `session` to have "
    "it to yourself. Python and bash of a session share its files, in /home/user. Figures come back as "
    "images."
)

SessionName = Annotated[str, Field(description="The session's name; a new name begins a new session")]
Timeout = Annotated[
    float | None,
    Field(description="Stop after so many seconds; the server's limit applies beside it", gt=0),
]
Action = Literal["list", "new", "fork", "checkpoint", "rewind", "undo", "interrupt", "reset", "close"]

#: What the call that runs now does with output as it arrives.
_output: ContextVar[Callable[[str], None] | None] = ContextVar("planaria_mcp_output", default=None)


def listen(_stream: str, text: str | Output) -> None:
    """Take output for progress notifications: the `on_output` of the sessions of a server."""
    write = _output.get()
    if write is not None and isinstance(text, str):
        write(text)


class SessionState(BaseModel):
    """One session, as `sessions` lists it."""

    name: str
    live: bool = Field(description="Whether it is in memory, rather than only saved")
    executions: int | None = None


class SessionList(BaseModel):
    """The structured output of `sessions`."""

    sessions: list[SessionState]


class FileContent(BaseModel):
    """The structured output of `read_file`."""

    path: str
    content: str
    encoding: Literal["utf-8", "base64"]
    size: int = Field(description="In bytes")


class Written(BaseModel):
    """The structured output of `write_file`."""

    path: str
    size: int


def create_server(
    sessions: NamedSessions,
    *,
    stubs: str = "",
    timeout: float | None = None,
    open_world: bool = False,
    name: str = "planaria",
) -> MCPServer[Any]:
    """An MCP server for sessions; run it with its `run("stdio")` or `run("streamable-http", port=…)`, and
    close the sessions afterwards.

    Args:
        sessions: the sessions; with `listen` as their `on_output`, long executions report progress.
        stubs: what code can call beside Python's own, as Python signatures (`ToolRegistry.stubs()`); it
            stands in the description of `run_python`.
        timeout: the most seconds that one execution may ask for; None leaves that to the sessions' limits.
        open_world: whether the code can reach something outside the sandbox: a network, tools.
        name: the server's name.
    """

    server = ToolServer(name, version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    calls = _Calls(sessions, timeout)
    runs = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=open_world)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

    description = (
        "Run Python code in a sandbox. Variables, imports and files stay for later calls of the same "
        "session. The value of the last expression is returned, as in a notebook; `await` works at top level."
    )
    if stubs:
        description += f"\nThe code can call these functions, also several in one program:\n{stubs}"

    @server.tool(title="Run Python", description=description, annotations=runs)
    async def run_python(
        code: str, context: Context[Any, Any], session: SessionName = "default", timeout: Timeout = None
    ) -> Annotated[CallToolResult, Execution] | InputRequiredResult:
        return await calls.execute(session, context, timeout, lambda one, most: one.run(code, most))

    @server.tool(title="Run bash", annotations=runs)
    async def run_bash(
        command: str,
        context: Context[Any, Any],
        session: SessionName = "default",
        stdin: str = "",
        timeout: Timeout = None,
    ) -> Annotated[CallToolResult, Execution] | InputRequiredResult:
        """Run a bash script in a sandbox, on the files of the session's Python. Variables, functions and the
        working directory stay for later calls. The usual commands are there (grep, sed, awk, find, jq, tar).
        """
        return await calls.execute(
            session, context, timeout, lambda one, most: one._run_script(command, most, stdin)
        )

    @server.tool(title="Read a file", annotations=reads)
    async def read_file(
        path: str, session: SessionName = "default"
    ) -> Annotated[CallToolResult, FileContent]:
        """Read a file of a session: as text, or as base64 when it is not UTF-8. Names that are not absolute
        are below /home/user.
        """
        data = await calls.with_session(session, lambda one: one.files.read_bytes(path))
        try:
            file = FileContent(path=path, content=data.decode(), encoding="utf-8", size=len(data))
        except UnicodeDecodeError:
            content = base64.b64encode(data).decode()
            file = FileContent(path=path, content=content, encoding="base64", size=len(data))
        return CallToolResult(
            content=[TextContent(text=file.content)], structured_content=file.model_dump(mode="json")
        )

    @server.tool(title="Write a file", annotations=writes)
    async def write_file(
        path: str,
        content: str,
        session: SessionName = "default",
        encoding: Literal["utf-8", "base64"] = "utf-8",
    ) -> Written:
        """Write a file of a session, in place of one that is there; its directories are created. Names that
        are not absolute are below /home/user.
        """
        try:
            data = content.encode() if encoding == "utf-8" else base64.b64decode(content, validate=True)
        except ValueError as error:
            raise ToolError(f"content is not {encoding}: {error}") from None

        def write(one: AsyncSession) -> None:
            folder = path.rpartition("/")[0]
            if folder:
                one.files.mkdir(folder, parents=True, exist_ok=True)
            one.files.write_bytes(path, data)

        await calls.with_session(session, write, save=True)
        return Written(path=path, size=len(data))

    @server.tool(name="sessions", title="Manage sessions", annotations=writes)
    async def manage_sessions(
        action: Action,
        session: SessionName = "default",
        label: Annotated[
            str | int | None,
            Field(description="For checkpoint and rewind: a label; for rewind also a number of executions"),
        ] = None,
        names: Annotated[list[str] | None, Field(description="For fork: the names of the copies")] = None,
        count: Annotated[int, Field(description="For undo: how many executions", ge=1)] = 1,
    ) -> SessionList:
        """List sessions, or change one: `new` (an empty one), `fork` (running copies under `names`),
        `checkpoint` (keep the state under `label`), `rewind` (go back to a label, or to the state after so
        many executions), `undo` (take back the last `count` executions), `interrupt` (stop what runs),
        `reset` (a fresh interpreter, files stay), `close` (end it and delete what was saved).
        Returns the sessions that there are then.
        """
        await calls.manage(action, session, label, names or [], count)
        return SessionList(sessions=await calls.states())

    @server.resource("planaria://sessions", title="The sessions", mime_type="application/json")
    async def session_list() -> str:
        return SessionList(sessions=await calls.states()).model_dump_json()

    @server.resource("planaria://sessions/{session}/files/{+path}", title="A file of a session")
    async def session_file(session: str, path: str) -> str | bytes:
        named = sessions.live(session)
        if named is None:
            raise ResourceNotFoundError(f"there is no live session {session!r}")
        try:
            data = await anyio.to_thread.run_sync(named.session.files.read_bytes, f"/{path.lstrip('/')}")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ResourceNotFoundError(str(error)) from None
        except (OSError, PlanariaError) as error:
            raise ResourceError(str(error)) from None
        kind = mimetypes.guess_type(path)[0] or ""
        try:
            return data if kind.startswith(("image/", "audio/", "video/")) else data.decode()
        except UnicodeDecodeError:
            return data

    @server.resource(
        "planaria://sessions/{session}/results/{number}",
        title="The whole result of an execution",
        mime_type="application/json",
    )
    async def session_result(session: str, number: str) -> str:
        named = sessions.live(session)
        report = None if named is None or not number.isdecimal() else named.reports.get(int(number))
        if report is None:
            raise ResourceNotFoundError(f"there is no result {number} of a session {session!r} any more")
        return json.dumps(report)

    return server


class _Calls:
    """What the tools do, each with a session held."""

    def __init__(self, sessions: NamedSessions, timeout: float | None) -> None:
        self._sessions = sessions
        self._timeout = timeout

    @contextlib.asynccontextmanager
    async def _held(self, name: str) -> AsyncIterator[NamedSession]:
        """Hold a session; what goes wrong with it is the tool's error, for the model to read."""
        try:
            async with self._sessions.held(name) as named:
                yield named
        except (PlanariaError, OSError, ValueError) as error:
            raise ToolError(str(error)) from error

    async def execute(
        self,
        name: str,
        context: Context[Any, Any],
        timeout: float | None,
        run: Callable[[AsyncSession, float | NotGiven], Awaitable[Result]],
    ) -> CallToolResult | InputRequiredResult:
        """Run something in a session, report progress, put the questions it has to the user, save it."""
        most = min((one for one in (timeout, self._timeout) if one is not None), default=NOT_GIVEN)
        async with self._held(name) as named:
            session = named.session
            async with _progress(context, most):
                if context.input_responses is None:
                    result = await run(session, most)
                elif session.run_in_progress is None:
                    raise ToolError(f"no execution of session {name!r} waits for answers; run the code again")
                else:
                    result = Result(suspended=list(session.run_in_progress.pending))
                if result.suspended:
                    answered = await answer_pending(context, session)
                    if isinstance(answered, InputRequiredResult):
                        return answered
                    result = answered or result
            report = as_json(result, result.exit_code)
            named.keep_report(report)
            notes = []
            try:
                await self._sessions.save(named)
            except (SnapshotError, StorageError) as error:
                notes.append(f"(the session's state could not be saved: {error})")
            return tool_result(name, result, report, notes)

    async def with_session(
        self, name: str, function: Callable[[AsyncSession], T], *, save: bool = False
    ) -> T:
        """Call a function of a session, which may block, on a thread."""
        async with self._held(name) as named:
            result = await anyio.to_thread.run_sync(function, named.session)
            if save:
                await self._sessions.save(named)
            return result

    async def states(self) -> list[SessionState]:
        states = []
        for name, is_live in (await self._sessions.names()).items():
            named = self._sessions.live(name)
            executions = None if named is None else named.session.execution_count
            states.append(SessionState(name=name, live=is_live, executions=executions))
        return states

    async def manage(
        self, action: Action, name: str, label: str | int | None, names: list[str], count: int
    ) -> None:
        if action == "list":
            return
        if action == "interrupt":
            named = self._sessions.live(name)
            if named is None:
                raise ToolError(f"there is no live session {name!r}")
            named.session.interrupt()
            return
        exists = name in await self._sessions.names()
        if action == "close":
            if not await self._sessions.forget(name):
                raise ToolError(f"there is no session {name!r}")
            return
        if action == "new":
            if exists:
                raise ToolError(f"there is a session {name!r} already; close it first, or take another name")
            async with self._held(name) as named:
                await self._sessions.save(named)
            return
        if not exists:
            raise ToolError(f"there is no session {name!r}")
        async with self._held(name) as named:
            await self._change(named, action, label, names, count)
            if action != "checkpoint":
                await self._sessions.save(named)

    async def _change(
        self, named: NamedSession, action: Action, label: str | int | None, names: list[str], count: int
    ) -> None:
        session = named.session
        if action == "fork":
            await self._fork(session, names)
        elif action == "undo":
            await session.undo(count)
        elif action == "reset":
            await session.reset()
        elif label is None:
            raise ToolError(f"{action} needs a label")
        elif action == "rewind":
            await session.rewind(label)
        else:
            await session.checkpoint(str(label))

    async def _fork(self, session: AsyncSession, names: list[str]) -> None:
        taken = await self._sessions.names()
        for name in names:
            if name in taken or names.count(name) > 1:
                raise SessionError(f"there is a session {name!r} already; give the copies other names")
            self._sessions.check_name(name)
        if not names:
            raise SessionError("fork needs the names of the copies")
        for name, copy in zip(names, await session.fork(len(names)), strict=True):
            await self._sessions.add(name, copy)


@contextlib.asynccontextmanager
async def _progress(context: Context[Any, Any], most: float | NotGiven) -> AsyncIterator[None]:
    """Report progress while something runs: the seconds so far, and the end of what it printed."""
    latest = ""
    began = anyio.current_time()

    def write(text: str) -> None:
        nonlocal latest
        latest = (latest + text)[-_PROGRESS_TEXT:]

    async def report() -> None:
        while True:
            await anyio.sleep(_PROGRESS_INTERVAL)
            total = None if isinstance(most, NotGiven) else most
            await context.report_progress(anyio.current_time() - began, total, latest or None)

    token = _output.set(write)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(report)
            yield
            group.cancel_scope.cancel()
    except BaseExceptionGroup as group_of_one:
        if len(group_of_one.exceptions) > 1:
            raise
        raise group_of_one.exceptions[0] from None  # what the caller's block raised, rather than the group
    finally:
        _output.reset(token)
