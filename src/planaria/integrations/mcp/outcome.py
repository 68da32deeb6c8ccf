"""Results of executions as MCP clients get them."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

from planaria.integrations.result_content import result_images, result_text
from planaria.session.report import Report
from planaria.session.result import Result

__all__ = ["Execution", "tool_result"]


class ErrorReport(BaseModel):
    """What an execution raised."""

    type: str
    message: str
    traceback: str = ""
    lineno: int | None = Field(None, description="The line of the code that raised")


class Execution(BaseModel):
    """The structured output of an execution."""

    session: str
    execution_count: int = Field(description="The number of the execution in its session")
    exit_code: int
    value: Any = Field(None, description="The value of the last expression if JSON has it exactly, else null")
    repr: str | None = Field(None, description="The value as repr() shows it; null without a value")
    stdout: str = ""
    stderr: str = ""
    error: ErrorReport | None = None
    outputs: list[list[str]] = Field(
        default_factory=list, description="The MIME types of each rich output; the result's resource has them"
    )
    duration_ms: float = 0.0
    stdout_truncated: bool = False
    stderr_truncated: bool = False


def tool_result(session: str, result: Result, report: Report, notes: list[str]) -> CallToolResult:
    """A result as content for a model (text, then images) and as structured output.

    `notes` are lines about the call itself, for the end of the text.
    """
    execution = Execution(
        session=session,
        outputs=[sorted(output.data) for output in result.outputs],
        **{name: report[name] for name in Execution.model_fields if name not in ("session", "outputs")},
    )
    images = [ImageContent(data=image.base64, mime_type=image.mime) for image in result_images(result)]
    text = "\n".join([result_text(result), *notes]).strip("\n")
    content: list[ContentBlock] = [TextContent(text=text)] if text or not images else []
    content += images
    return CallToolResult(
        content=content,
        structured_content=execution.model_dump(mode="json"),
        is_error=result.error is not None,
    )
