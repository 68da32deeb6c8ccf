"""Code mode: one tool `run_code`, whose code calls the agent's other tools."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol, Self

from pydantic import TypeAdapter
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import BinaryContent, ToolReturn
from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from typing_extensions import TypedDict

from planaria.errors import SessionError
from planaria.integrations.awaited import in_thread, in_thread_until_cancelled, on_loop
from planaria.integrations.code_tools import CodeTools, FrameworkTool, described
from planaria.integrations.command_backend import Cancellation
from planaria.integrations.result_content import result_images, result_text
from planaria.session._sync.session import Session
from planaria.session.options import SessionArguments
from planaria.session.result import Result
from planaria.snapshot.snapshot import Snapshot
from planaria.workspace.tools.middleware import question
from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["PlanariaCodeMode", "ReplStore"]

_TOOL: Final = "run_code"


class ReplStore(Protocol):
    """Where the state of code is kept between runs, for each kind of run that its context names."""

    async def load(self, ctx: RunContext[Any]) -> bytes | None:
        """The state that was saved last, if any."""

    async def save(self, ctx: RunContext[Any], state: bytes | None) -> None:
        """Keep a state; None when there is none any more."""


class _Arguments(TypedDict, total=False):
    code: str
    restart: bool


_ARGUMENTS: Final = TypeAdapter(_Arguments)
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "description": "The Python program"},
        "restart": {
            "type": "boolean",
            "default": False,
            "description": "Begin with a new interpreter: variables and files of before are gone",
        },
    },
    "required": ["code"],
    "additionalProperties": False,
}


@dataclass(kw_only=True)
class PlanariaCodeMode(AbstractCapability[AgentDepsT]):
    """Gives an agent the tool `run_code` in place of its tools, which code calls as `tools.NAME(…)`.

    The tools run where they run without it, with the run's dependencies. Tools that need approval, or whose
    result comes from elsewhere, stay tools of the model. Variables, imports and files last as long as the
    run; with a `repl_store` those of the run before are there.
    """

    tools: Collection[str] | None = None
    """The names of the tools that only code can call; None for all of them."""

    repl_store: ReplStore | None = None
    """Where the state is saved after each call, as `Session.snapshot_state()` gives it."""

    arguments: SessionArguments = field(default_factory=SessionArguments, repr=False)
    """Those of `planaria.Session`: `limits`, `mounts`, `network` and so on."""

    def get_wrapper_toolset(self, toolset: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """The tools of a run, behind `run_code`."""
        return _CodeToolset(toolset, self, _Run(self.arguments))


@dataclass
class _CodeToolset(WrapperToolset[AgentDepsT]):
    """The tools of an agent with `run_code` in place of those that code calls."""

    code_mode: PlanariaCodeMode
    run: _Run

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        return _CodeToolset(await self.wrapped.for_run(ctx), self.code_mode, _Run(self.code_mode.arguments))

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        await in_thread(self.run.close)
        suppressed: bool | None = await super().__aexit__(*args)
        return suppressed

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        shown: dict[str, ToolsetTool[AgentDepsT]] = {}
        called: dict[str, ToolsetTool[AgentDepsT]] = {}
        for name, tool in (await self.wrapped.get_tools(ctx)).items():
            chosen = self.code_mode.tools is None or name in self.code_mode.tools
            (called if chosen and tool.tool_def.kind == "function" else shown)[name] = tool
        if _TOOL in shown:
            raise ValueError(f"the agent has a tool {_TOOL!r} already; PlanariaCodeMode needs that name")
        registry = self._know(called)
        definition = ToolDefinition(
            name=_TOOL,
            description=await in_thread(described, registry),
            parameters_json_schema=_SCHEMA,
            sequential=True,
        )
        shown[_TOOL] = ToolsetTool(
            toolset=self, tool_def=definition, max_retries=1, args_validator=_ARGUMENTS.validator
        )
        return shown

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        if name != _TOOL:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        async with self.run.turn:
            session = await self._session(ctx, restart=tool_args.get("restart", False))
            self.run.context, self.run.loop, self.run.ctx = copy_context(), asyncio.get_running_loop(), ctx
            cancellation = Cancellation()

            def execute() -> Any:
                with cancellation.stops_with(session.interrupt):
                    return _executed(session, tool_args["code"])

            result = await in_thread_until_cancelled(execute, cancellation)
            store = self.code_mode.repl_store
            if store is not None:
                state = None if session.is_closed else bytes(await in_thread(session.snapshot_state))
                await store.save(ctx, state)
        images = [BinaryContent(data=one.data, media_type=one.mime) for one in result_images(result)]
        text = result_text(result) or "(no output)"
        return ToolReturn(return_value=text, content=images) if images else text

    def _know(self, called: Mapping[str, ToolsetTool[AgentDepsT]]) -> ToolRegistry:
        """Have the session's registry hold the tools of the present step."""
        run = self.run
        if run.registry is None:
            run.registry = run.code_tools.with_tools(())
        for name in run.known - called.keys():
            run.registry.remove(name)
        for name, tool in called.items():
            if name in run.known:
                run.registry.remove(name)
            definition = tool.tool_def
            run.registry.add(
                FrameworkTool(
                    name,
                    definition.description or "",
                    definition.parameters_json_schema,
                    partial(self._invoke, tool),
                    definition.return_schema,
                )
            )
        run.known = set(called)
        return run.registry

    def _invoke(self, tool: ToolsetTool[AgentDepsT], arguments: dict[str, Any]) -> Any:
        run = self.run
        assert run.loop is not None
        assert run.context is not None
        return on_loop(run.loop, run.context, self._called(tool, arguments))

    async def _called(self, tool: ToolsetTool[AgentDepsT], arguments: dict[str, Any]) -> Any:
        name = tool.tool_def.name
        ctx = replace(self.run.ctx, tool_name=name)
        valid = tool.args_validator.validate_python(arguments, context=ctx.validation_context)
        answer = await self.wrapped.call_tool(name, valid, ctx, tool)
        if isinstance(answer, ToolReturn):
            answer = answer.return_value
        dump = getattr(answer, "model_dump", None)
        return answer if dump is None else dump(mode="json")

    async def _session(self, ctx: RunContext[AgentDepsT], *, restart: bool) -> Session:
        run = self.run
        if restart or (run.session is not None and run.session.is_closed):
            await in_thread(run.close_session)
        if run.session is None:
            store = self.code_mode.repl_store
            state = None if store is None or restart else await store.load(ctx)
            arguments: SessionArguments = {**self.code_mode.arguments, "tools": run.registry}
            if state is None:
                run.session = await in_thread(partial(Session, **arguments))
            else:
                run.session = await in_thread(partial(Session.from_snapshot, Snapshot(state), **arguments))
        return run.session


def _executed(session: Session, code: str) -> Result:
    """Execute code. Calls that wait for a decision raise PermissionError: a run has no way to ask for one."""
    result = session.run(code)
    execution = session.run_in_progress if result.suspended else None
    while execution is not None:
        call = execution.pending[0]
        why = question(execution.reasons.get(call.id, ""))
        execution.reject(call.id, PermissionError(f"this needs a decision: {why}"))
        try:
            return execution.result()
        except SessionError:
            if not execution.pending:
                raise
    return result


class _Run:
    """What a run of an agent has: its session, the tools that code knows, the call that executes now."""

    def __init__(self, arguments: SessionArguments) -> None:
        self.session: Session | None = None
        self.code_tools = CodeTools(arguments)
        self.registry: ToolRegistry | None = None
        self.known: set[str] = set()
        self.turn = asyncio.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.context: Any = None
        self.ctx: Any = None

    def close(self) -> None:
        """Close the session and its tools."""
        try:
            self.close_session()
        finally:
            self.registry, self.known = None, set()
            self.code_tools.close()

    def close_session(self) -> None:
        """Close the session."""
        session, self.session = self.session, None
        if session is not None:
            session.close()
