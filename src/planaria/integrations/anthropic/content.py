"""Answers of a session's tools as the content of tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from anthropic.lib.tools import ToolError

if TYPE_CHECKING:
    from anthropic.types.beta.beta_tool_result_block_param import Content

    from planaria.integrations.result_content import Image
    from planaria.integrations.session_tools import Answer

__all__ = ["PDF", "content"]


#: The MIME type of documents.
PDF: Final = "application/pdf"


def content(answer: Answer) -> str | list[Content]:
    """Text, or blocks of text, images and documents. Raises ToolError for an answer that is an error."""
    given: str | list[Content] = answer.text
    if answer.images:
        given = [{"type": "text", "text": answer.text}] if answer.text else []
        given += [_block(image) for image in answer.images]
    if answer.is_error:
        raise ToolError(given)
    return given


def _block(image: Image) -> Content:
    if image.mime == PDF:
        return {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": image.base64},
        }
    mime = cast(Literal["image/png", "image/jpeg", "image/gif", "image/webp"], image.mime)
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": image.base64}}
