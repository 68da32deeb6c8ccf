"""The middleware: what the agent sees of a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, Unpack

from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import tool as as_tool
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from planaria.integrations.awaited import in_thread_until_cancelled
from planaria.integrations.code_tools import described
from planaria.integrations.command_backend import Cancellation
from planaria.integrations.langchain.calls import Call
from planaria.integrations.langchain.sessions import LiveSessions, Saved, latest
from planaria.integrations.result_content import result_images, result_text
from planaria.session.options import SessionArguments
from planaria.session.parameters import suggest_session_options

if TYPE_CHECKING:
    from planaria.stores.store import Store

__all__ = ["PlanariaMiddleware"]

_TOOL: Final = "eval_python"
#: Where LangGraph keeps the answers to the interrupts of a task.
_SCRATCHPAD: Final = "__pregel_scratchpad"


class _State(AgentState[Any]):
    planaria_session: NotRequired[Annotated[Saved | None, PrivateStateAttr, latest]]  # type: ignore[valid-type]


class PlanariaMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent the tool `eval_python`: `create_agent(model, middleware=[PlanariaMiddleware(ptc=[…])])`.

    Variables, imports and files last from call to call of a thread. They are in the state of the graph, which
    a checkpointer saves, so that a run that goes on from an earlier checkpoint has the variables of then.

    A tool of `ptc` that calls `interrupt()` parks the program where it awaits the tool, and the agent is
    interrupted; with the answer the program goes on from there, and what it did before is not repeated. So
    does a callback of the session that raises `planaria.Suspend`: the interrupt shows its call and reason,
    and the answer is its value.

    Args:
        ptc: the tools that code can call, as `tools.NAME(…)` (programmatic tool calling). They run in the
            agent's process, and the model sees them in the description of `eval_python` only.
        store: where sessions are saved instead, under their `thread_id`; the graph's state has a digest only.
            With it programs that wait survive the end of the process, too.
        most: how many live sessions are kept for later calls.
        arguments: those of `planaria.Session`: `limits`, `mounts`, `network`, `callbacks` and so on.
    """

    state_schema = _State

    @suggest_session_options(SessionArguments.__annotations__)
    def __init__(
        self,
        ptc: Sequence[BaseTool | Callable[..., Any]] = (),
        *,
        store: Store | None = None,
        most: int = 64,
        **arguments: Unpack[SessionArguments],
    ) -> None:
        super().__init__()
        self._ptc = [one if isinstance(one, BaseTool) else as_tool(one) for one in ptc]
        self._sessions = LiveSessions(self._ptc, store, most, arguments)

        def eval_python(code: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            return self._execute(code, runtime, None, Cancellation())

        async def eval_python_async(code: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            cancellation = Cancellation()
            execute = partial(self._execute, code, runtime, asyncio.get_running_loop(), cancellation)
            return await in_thread_until_cancelled(execute, cancellation)

        # Injection goes by the annotations, which must not be strings of this module's.
        for function in (eval_python, eval_python_async):
            function.__annotations__ = {"code": str, "runtime": ToolRuntime, "return": Command}
        self.tools = [
            StructuredTool.from_function(
                eval_python,
                eval_python_async,
                name=_TOOL,
                description=described(self._sessions.registry),
            )
        ]

    def close(self) -> None:
        """Close the live sessions; those that are saved can be used again."""
        self._sessions.close()

    def _execute(
        self,
        code: str,
        runtime: ToolRuntime[Any, Any],
        loop: asyncio.AbstractEventLoop | None,
        cancellation: Cancellation,
    ) -> Command[Any]:
        scratchpad = runtime.config.get("configurable", {}).get(_SCRATCHPAD)
        call = Call(runtime.tool_call_id or "", copy_context(), loop, scratchpad)
        info = runtime.execution_info
        live = self._sessions.of_step(
            info.checkpoint_id, info.thread_id, call.identity, runtime.state.get("planaria_session")
        )
        with live.used_by(call), cancellation.stops_with(live.session.interrupt):
            try:
                result = live.execute(code)
            except GraphInterrupt:
                self._sessions.save_waiting(live, info.thread_id, call.identity)
                raise
            if call.waited:
                self._sessions.forget_waiting(info.thread_id, call.identity)
            live.over.add(call.identity)
            saved = self._sessions.save(live, info.thread_id)
        text, images = result_text(result), result_images(result)
        content = [
            *([{"type": "text", "text": text or "(no output)"}] if text or not images else []),
            *({"type": "image", "base64": one.base64, "mime_type": one.mime} for one in images),
        ]
        message = ToolMessage(
            content=content if images else text or "(no output)",
            tool_call_id=call.identity,
            name=_TOOL,
            status="success" if result.error is None else "error",
        )
        return Command(
            update={"messages": [message], **({} if saved is None else {"planaria_session": saved})}
        )
