"""What MCP servers send, as values that code in a session understands, and their schemas as parameters."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    Tool,
)

__all__ = ["result_text", "result_value", "wraps_result"]


def result_value(result: CallToolResult, *, is_wrapped: bool) -> Any:
    """The value of a call.

    Structured content as it is (the text beside it says the same), or its "result" if the server wrapped it;
    else the one content block, or a list of them, or None. With structured content *and* images or resources,
    a dict of "structured" and "content". Raises ValueError for data that is not base64.
    """
    blocks = [_block_value(block) for block in result.content]
    if "structured_content" not in result.model_fields_set or result.structured_content is None:
        return blocks[0] if len(blocks) == 1 else blocks or None
    structured = result.structured_content
    if is_wrapped and isinstance(structured, dict) and structured.keys() == {"result"}:
        structured = structured["result"]
    others = [block for block in blocks if not isinstance(block, str)]
    return {"structured": structured, "content": others} if others else structured


def result_text(content: Sequence[ContentBlock]) -> str:
    """All text of a result, as error results have it."""
    return "\n".join(block.text for block in content if isinstance(block, TextContent))


def wraps_result(tool: Tool) -> bool:
    """Whether the server puts the tool's value into an object with the key "result".

    Structured content had to be an object, so servers written in Python put a number or a list into one. They
    mark its schema: by a title that the official SDK makes of the function's name, or by a key that FastMCP
    adds.
    """
    schema = tool.output_schema or {}
    if schema.get("x-fastmcp-wrap-result") is True:
        return True
    properties = schema.get("properties")
    return (
        isinstance(properties, dict)
        and properties.keys() == {"result"}
        and str(schema.get("title")).endswith("Output")
    )


def _block_value(block: ContentBlock) -> Any:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return {"type": block.type, "mime_type": block.mime_type, "data": _bytes(block.data)}
        case EmbeddedResource(resource=resource):
            value: dict[str, Any] = {
                "type": "resource",
                "uri": str(resource.uri),
                "mime_type": resource.mime_type,
            }
            if isinstance(resource, BlobResourceContents):
                value["data"] = _bytes(resource.blob)
            else:
                value["text"] = resource.text
            return value
        case ResourceLink():
            return {
                "type": "resource_link",
                "uri": str(block.uri),
                "name": block.name,
                "mime_type": block.mime_type,
                "description": block.description,
            }


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"its data is not base64 ({error})") from None
