"""The data of an artifact as bytes, of one of five kinds:

json     what JSON gives back exactly: None, bool, int, float, str, lists, dicts with texts as keys
text     a str
bytes    bytes
png      the bytes of a PNG image
value    everything else that crosses to a session: tuples, sets, dates, numpy arrays, frames …
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from planaria.errors import ArtifactError, ProtocolError
from planaria.protocol import decode, encode

__all__ = ["ENDINGS", "KINDS", "decode_data", "encode_data", "file_name", "is_json", "kind_of_file"]

#: How the file of an artifact ends whose name has no ending of its own, by kind.
ENDINGS: Final = {"json": ".json", "text": ".txt", "bytes": ".bin", "png": ".png", "value": ".value"}
KINDS: Final = frozenset(ENDINGS)

_TEXT_ENDING: Final = re.compile(
    r"\.(?:txt|md|rst|csv|tsv|html|htm|xml|svg|yaml|yml|toml|ini|log|py|sh|sql|jsonl)"
).fullmatch
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: JSON of fewer characters is written with one item a line, for people and for git.
_SMALL: Final = 64 * 1024
#: Bits of the largest int that Python reads from text.
_MAX_INT: Final = 14_000
_MAX_DEPTH: Final = 100


def file_name(name: str, kind: str) -> str:
    """The file for an artifact: its name, with the ending of its kind unless it has one."""
    return name if _ENDING.search(name) else name + ENDINGS[kind]


def kind_of_file(name: str) -> str:
    """The kind of a file that was put there by hand."""
    found = _ENDING.search(name)
    ending = found[0].lower() if found else ""
    if _TEXT_ENDING(ending):
        return "text"
    return next((kind for kind, one in ENDINGS.items() if one == ending), "bytes")


def encode_data(data: Any) -> tuple[str, bytes]:
    """The kind and the bytes of a value. Raises ArtifactError for one that cannot be kept."""
    if type(data) is bytes:
        return ("png" if data.startswith(_PNG) else "bytes"), data
    if type(data) is str:
        try:
            return "text", data.encode()
        except UnicodeEncodeError:  # lone surrogates
            return "value", encode(data)
    if is_json(data):
        text = json.dumps(data, ensure_ascii=False)
        if len(text) < _SMALL:
            text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        return "json", text.encode()
    try:
        return "value", encode(data)
    except ProtocolError as error:
        raise ArtifactError(f"this cannot be kept as an artifact: {error}") from None


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
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def decode_data(kind: str, data: bytes, name: str) -> Any:
    """The value of an artifact. Raises ArtifactError when the bytes are not of this kind."""
    try:
        if kind == "json":
            return json.loads(data.decode("utf-8-sig"))
        if kind == "text":
            return data.decode()
        if kind == "value":
            return decode(data)
        return data
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8: {error.reason} at byte {error.start}"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # of JSON, and ProtocolError
        reason = str(error)
    raise ArtifactError(f"the artifact {name!r} is no {kind}: {reason}; its bytes can be had with reader()")
