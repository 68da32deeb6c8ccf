"""A call of the middleware's tool: the tools that its code calls, and the interrupts that they ask for."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphInterrupt

from planaria.errors import Suspend
from planaria.integrations.awaited import on_loop

__all__ = ["Call"]


class Call:
    """A call of `eval_python`.

    LangGraph answers the interrupts of a task by their order: a task that goes on asks all of them again. A
    program that goes on asks only the last, so those that went to earlier calls of tools are passed over.

    Args:
        identity: the id of the tool call.
        context: in which tools run, a copy for each.
        loop: the agent's event loop; None when the agent runs without one.
        scratchpad: where LangGraph keeps the answers.
    """

    def __init__(
        self,
        identity: str,
        context: contextvars.Context,
        loop: asyncio.AbstractEventLoop | None,
        scratchpad: Any,
    ) -> None:
        self.identity = identity
        self.context = context
        self._loop = loop
        self._scratchpad = scratchpad
        self._interrupts: list[tuple[str, Mapping[str, Any], GraphInterrupt]] = []
        self._answered = 0
        self.waited = False
        """Whether it goes on with a program that waited."""

    @property
    def answered(self) -> int:
        """How many answers went to calls of tools that are over."""
        return self._answered

    def pass_over(self, answered: int) -> None:
        """Pass over the answers that went to earlier calls of tools."""
        self.waited = True
        self._answered = answered
        for _ in range(answered):
            self._scratchpad.interrupt_counter()

    def invoke(self, tool: BaseTool, arguments: dict[str, Any]) -> Any:
        """Call a tool: its value, or an awaitable of it. Raises Suspend when it interrupts the agent."""
        if self._loop is not None:
            return self._awaited(tool, arguments, self._loop)
        run: Callable[[], Any] = partial(tool.invoke, arguments)
        if isinstance(tool, StructuredTool) and tool.func is None:
            run = partial(_run_async, tool, arguments)
        try:
            return self._over(self.context.copy().run(run))
        except GraphInterrupt as interrupt:
            raise self._suspended(tool, arguments, interrupt) from None

    def interrupt_of(self, name: str, arguments: Mapping[str, Any]) -> GraphInterrupt | None:
        """The interrupt that a tool has asked for during this call, if it has."""
        for one, those, interrupt in self._interrupts:
            if (one, those) == (name, arguments):
                return interrupt
        return None

    def over(self) -> None:
        """A call of a tool is over: all that has been answered was for it, or for those before it."""
        if self._scratchpad is not None:
            self._answered = len(self._scratchpad.resume)

    async def _awaited(
        self, tool: BaseTool, arguments: dict[str, Any], loop: asyncio.AbstractEventLoop
    ) -> Any:
        try:
            return self._over(await on_loop(loop, self.context, tool.ainvoke(arguments)))
        except GraphInterrupt as interrupt:
            raise self._suspended(tool, arguments, interrupt) from None

    def _over(self, answer: Any) -> Any:
        self.over()
        if isinstance(answer, ToolMessage):
            answer = answer.content
        dump = getattr(answer, "model_dump", None)
        return answer if dump is None else dump(mode="json")

    def _suspended(self, tool: BaseTool, arguments: dict[str, Any], interrupt: GraphInterrupt) -> Suspend:
        self._interrupts.append((tool.name, arguments, interrupt))
        return Suspend("interrupt")


def _run_async(tool: BaseTool, arguments: dict[str, Any]) -> Any:
    return asyncio.run(tool.ainvoke(arguments))
