"""Agno: the tools of a session. Needs `planaria[agno]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agno.media import Image
from agno.tools.function import Function, ToolResult

from planaria.integrations.session_tools import Answer, SessionTool, session_tools

if TYPE_CHECKING:
    from planaria.session._sync.session import Session

__all__ = ["tools"]


def tools(session: Session) -> list[Function]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session."""
    return [_tool(one) for one in session_tools(session)]


def _tool(tool: SessionTool) -> Function:
    def call(**arguments: Any) -> ToolResult:
        return _result(tool.call(**arguments))

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=tool.schema,
        entrypoint=call,
        skip_entrypoint_processing=True,
    )


def _result(answer: Answer) -> ToolResult:
    images = [Image(content=one.data, mime_type=one.mime) for one in answer.images]
    return ToolResult(content=answer.text, images=images or None)
