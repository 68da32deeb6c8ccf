"""Results of executions as content for a model: text, then images."""

from __future__ import annotations

import base64
from typing import Any, Final, NamedTuple

from planaria.errors import ExecutionError
from planaria.session.result import Output, Result

__all__ = ["Image", "image_in", "result_images", "result_text"]

#: The types of images that clients and models take.
_IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Image(NamedTuple):
    """An image and its MIME type."""

    mime: str
    data: bytes

    @property
    def base64(self) -> str:
        """The data as base64."""
        return base64.b64encode(self.data).decode()

    @property
    def url(self) -> str:
        """The image as a `data:` URL (RFC 2397)."""
        return f"data:{self.mime};base64,{self.base64}"


def result_text(result: Result) -> str:
    """What a terminal would show, with displays of text among it."""
    parts = [result.stdout]
    parts += [str(output) for output in result.outputs if image_in(output) is None and not output.is_value]
    if result.repr is not None:
        parts.append(result.repr)
    parts.append(result.stderr)
    if result.error is not None:
        trace = result.error.traceback if isinstance(result.error, ExecutionError) else ""
        parts.append(trace or f"{type(result.error).__name__}: {result.error}")
    elif result.status:
        parts.append(f"exit status {result.status}")
    return "\n".join(part.rstrip("\n") for part in parts if part)


def result_images(result: Result) -> list[Image]:
    """The images among the outputs, in order."""
    return [image for output in result.outputs if (image := image_in(output)) is not None]


def image_in(output: Output) -> Image | None:
    """The image of an output, or None."""
    for mime in _IMAGES:
        data: Any = output.data.get(mime)
        if isinstance(data, bytes):
            return Image(mime, data)
    return None
