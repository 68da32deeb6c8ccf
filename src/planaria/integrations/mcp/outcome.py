"""Results of executions as MCP clients get them."""

from __future__ import annotations

import base64
from typing import Any, Final

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

from planaria.errors import ExecutionError
from planaria.session.report import Report
from planaria.session.result import Output, Result

__all__ = ["Execution", "tool_result"]

#: The types of images that clients and models take.
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


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
    images = [image for output in result.outputs if (image := _image(output)) is not None]
    text = "\n".join([_text(result), *notes]).strip("\n")
    content: list[ContentBlock] = [TextContent(text=text)] if text or not images else []
    content += images
    return CallToolResult(
        content=content,
        structured_content=execution.model_dump(mode="json"),
        is_error=result.error is not None,
    )


def _text(result: Result) -> str:
    """What a terminal would show, with displays of text among it."""
    parts = [result.stdout]
    parts += [str(output) for output in result.outputs if _image(output) is None and not output.is_value]
    if result.repr is not None:
        parts.append(result.repr)
    parts.append(result.stderr)
    if result.error is not None:
        trace = result.error.traceback if isinstance(result.error, ExecutionError) else ""
        parts.append(trace or f"{type(result.error).__name__}: {result.error}")
    elif result.status:
        parts.append(f"exit status {result.status}")
    return "\n".join(part.rstrip("\n") for part in parts if part)


def _image(output: Output) -> ImageContent | None:
    for mime in _IMAGES:
        data = output.data.get(mime)
        if isinstance(data, bytes):
            return ImageContent(data=base64.b64encode(data).decode(), mime_type=mime)
    return None
