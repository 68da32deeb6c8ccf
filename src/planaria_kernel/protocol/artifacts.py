"""Artifacts as bytes: what kind of data it is, and the bytes of it. The same code on both sides.

json     what JSON gives back exactly: None, bool, int, float, str, lists, dicts with texts as keys
text     a str
bytes    bytes
png      the bytes of a PNG image
value    everything else that crosses to a session: tuples, sets, dates, numpy arrays, frames …
"""

from __future__ import annotations

import io
import json
import math
from typing import Any, Final

from planaria_kernel.errors import ProtocolError
from planaria_kernel.protocol.decoding import decode
from planaria_kernel.protocol.encoding import encode

__all__ = ["decode_artifact", "encode_artifact", "is_json"]

_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: JSON of fewer characters is written with one item a line, for people and for git.
_SMALL: Final = 64 * 1024
#: Bits of the largest int that Python reads from text.
_MAX_INT: Final = 14_000
_MAX_DEPTH: Final = 100


def encode_artifact(data: Any) -> tuple[str, bytes]:
    """The kind of some data, and its bytes.

    Figures of matplotlib and images of Pillow become pictures. Raises EncodeError for objects that have no
    form outside of their process.
    """
    if type(data) in (bytes, bytearray, memoryview):
        content = bytes(data)
        return ("png" if content.startswith(_PNG) else "bytes"), content
    if type(data) is str and _is_text(data):
        return "text", data.encode()
    if type(data) is not str and is_json(data):
        text = json.dumps(data, ensure_ascii=False)
        if len(text) < _SMALL:
            text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        return "json", text.encode()
    picture = _picture(data)
    return ("value", encode(data)) if picture is None else ("png", picture)


def is_json(data: Any, depth: int = 0) -> bool:
    """Whether reading its JSON gives the same value, with the same types."""
    kind = type(data)
    if kind is str:
        return _is_text(data)
    if data is None or kind is bool:
        return True
    if kind is int:
        return bool(data.bit_length() <= _MAX_INT)
    if kind is float:
        return math.isfinite(data)
    if depth == _MAX_DEPTH:
        return False
    if kind is list:
        return all(is_json(item, depth + 1) for item in data)
    if kind is dict:
        return all(
            type(key) is str and _is_text(key) and is_json(item, depth + 1) for key, item in data.items()
        )
    return False


def _is_text(text: str) -> bool:
    """Whether it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _picture(data: Any) -> bytes | None:
    """The PNG of an object that is a picture; None of another."""
    module = type(data).__module__.partition(".")[0]
    target = io.BytesIO()
    if module == "matplotlib":
        save = getattr(getattr(data, "figure", None) or data, "savefig", None)
        if save is None:
            return None
        save(target, format="png")
        return target.getvalue()
    if module == "PIL" and hasattr(data, "save"):
        data.save(target, format="PNG")
        return target.getvalue()
    return None


def decode_artifact(kind: str, data: bytes) -> Any:
    """What `encode_artifact` was given; of a picture, the bytes of its PNG.

    Raises ProtocolError, or another ValueError, when the bytes are not of this kind.
    """
    try:
        match kind:
            case "json":
                return json.loads(data.decode("utf-8-sig"))
            case "text":
                return data.decode()
            case "value":
                return decode(data)
            case "bytes" | "png":
                return data
    except UnicodeDecodeError as error:
        raise ProtocolError(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise ProtocolError("it is nested too deeply") from None
    raise ProtocolError(f"{kind!r} is not a kind of artifact")
