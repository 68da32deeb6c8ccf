"""Microsoft Agent Framework: tools of a session, and CodeAct. Needs `planaria[agent-framework]`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, Unpack

from agent_framework import Content, ContextProvider, FunctionTool, tool

from planaria.integrations.awaited import on_loop
from planaria.integrations.code_tools import FrameworkTool
from planaria.integrations.session_tools import Answer, SessionTool, session_tools
from planaria.session._sync.session import Session
from planaria.session.options import SessionArgumentsBesideTools
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from contextvars import Context

__all__ = ["PlanariaCodeActProvider", "tools"]

_INSTRUCTIONS: Final = (
    "Use execute_code for what a program does better than single calls of tools; the functions that its "
    "description lists can be called in the code only."
)


def tools(session: Session) -> list[FunctionTool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session."""
    return [_tool(one, one.name) for one in session_tools(session)]


class PlanariaCodeActProvider(ContextProvider):
    """Gives an agent the tool `execute_code`, whose code calls other tools:
    `client.as_agent(context_providers=[PlanariaCodeActProvider(tools=[…])])`.

    Variables, imports and files last as long as the provider.

    Args:
        tools: functions and FunctionTools that code calls as `tools.NAME(…)`; the model does not see them as
            tools of its own. They run in the agent's process.
        approval_mode: whether running code needs approval: "always_require" or "never_require".
        arguments: those of `planaria.Session`: `limits`, `mounts`, `network` and so on.
    """

    @suggest_session_options(SessionArgumentsBesideTools.__annotations__)
    def __init__(
        self,
        tools: Sequence[FunctionTool | Callable[..., Any]] = (),
        *,
        approval_mode: str = "never_require",
        source_id: str = "planaria",
        **arguments: Unpack[SessionArgumentsBesideTools],
    ) -> None:
        super().__init__(source_id)
        self._caller: tuple[asyncio.AbstractEventLoop, Context] | None = None
        self._tools = [self._callable(one if isinstance(one, FunctionTool) else tool(one)) for one in tools]
        self.session = Session(**arguments, tools=self._tools)
        """The session, for checkpoints, forks, snapshots."""
        run_python = session_tools(self.session)[0]
        self._execute = _tool(run_python, "execute_code", approval_mode, self._called_here)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Give the run the tool, and say what it is for."""
        context.extend_instructions(self.source_id, _INSTRUCTIONS)
        context.extend_tools(self.source_id, [self._execute])

    def close(self) -> None:
        """Close the session."""
        self.session.close()

    def _called_here(self) -> None:
        self._caller = asyncio.get_running_loop(), copy_context()

    def _callable(self, function: FunctionTool) -> FrameworkTool:
        def invoke(arguments: dict[str, Any]) -> Any:
            assert self._caller is not None
            loop, context = self._caller
            return on_loop(loop, context, _value(function, arguments))

        return FrameworkTool(function.name, function.description, function.parameters(), invoke)


async def _value(function: FunctionTool, arguments: dict[str, Any]) -> Any:
    """What a tool gives, as a value rather than as content for a model."""
    return await function.invoke(arguments=arguments, skip_parsing=True)


def _tool(
    one: SessionTool,
    name: str,
    approval_mode: str = "never_require",
    before: Callable[[], None] = lambda: None,
) -> FunctionTool:
    async def call(**arguments: Any) -> list[Content]:
        before()
        return _content(await one.acall(**arguments))

    return FunctionTool(
        name=name,
        description=one.description,
        approval_mode=approval_mode,
        func=call,
        input_model=one.schema,
        result_parser=_itself,
    )


def _itself(content: Any) -> Any:
    return content


def _content(answer: Answer) -> list[Content]:
    images = [Content.from_data(one.data, media_type=one.mime) for one in answer.images]
    return [*([Content.from_text(answer.text)] if answer.text or not images else []), *images]
