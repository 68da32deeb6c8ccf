"""Haystack: the tools of a session. Needs `planaria[haystack]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from haystack.dataclasses import ImageContent, TextContent
from haystack.tools import Tool

from planaria.integrations.session_tools import Answer, SessionTool, session_tools

if TYPE_CHECKING:
    from planaria.session._sync.session import Session

__all__ = ["tools"]


def tools(session: Session) -> list[Tool]:
    """`run_python`, `run_bash`, `read_file` and `write_file` on a session."""
    return [_tool(one) for one in session_tools(session)]


def _tool(tool: SessionTool) -> Tool:
    def call(**arguments: Any) -> list[TextContent | ImageContent]:
        return _content(tool.call(**arguments))

    async def call_async(**arguments: Any) -> list[TextContent | ImageContent]:
        return _content(await tool.acall(**arguments))

    return Tool(
        name=tool.name,
        description=tool.description,
        parameters=tool.schema,
        function=call,
        async_function=call_async,
        outputs_to_string={"raw_result": True},
    )


def _content(answer: Answer) -> list[TextContent | ImageContent]:
    images = [ImageContent(base64_image=one.base64, mime_type=one.mime) for one in answer.images]
    return [*([TextContent(text=answer.text)] if answer.text or not images else []), *images]
