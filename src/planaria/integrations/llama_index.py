"""LlamaIndex: the tools of a session, and the executor of CodeActAgent. Needs `planaria[llama-index]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool, ToolMetadata

from planaria.integrations.session_tools import Answer, SessionTool, session_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from planaria.session._sync.session import Session

__all__ = ["code_execute_fn", "tools"]


def tools(session: Session) -> list[FunctionTool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session, for any agent."""
    return [_tool(one) for one in session_tools(session)]


def code_execute_fn(session: Session) -> Callable[[str], Awaitable[str]]:
    """The `code_execute_fn` of a CodeActAgent: its code runs in the session. Give the session the functions
    that the code may call, as `tools=`.
    """
    run_python = session_tools(session)[0]

    async def execute(code: str) -> str:
        return (await run_python.acall(code=code)).text

    return execute


def _tool(tool: SessionTool) -> FunctionTool:
    def call(**arguments: Any) -> list[TextBlock | ImageBlock]:
        return _blocks(tool.call(**arguments))

    async def call_async(**arguments: Any) -> list[TextBlock | ImageBlock]:
        return _blocks(await tool.acall(**arguments))

    metadata = ToolMetadata(name=tool.name, description=tool.description, fn_schema=tool.model)
    return FunctionTool(fn=call, async_fn=call_async, metadata=metadata)


def _blocks(answer: Answer) -> list[TextBlock | ImageBlock]:
    images = [ImageBlock(image=one.data, image_mimetype=one.mime) for one in answer.images]
    return [*([TextBlock(text=answer.text)] if answer.text or not images else []), *images]
