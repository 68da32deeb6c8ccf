"""The data of an artifact as a file; what it is in bytes, planaria_kernel.protocol.artifacts says."""

from __future__ import annotations

import re
from typing import Any, Final

from planaria.errors import ArtifactError, ProtocolError
from planaria_kernel.protocol.artifacts import decode_artifact, encode_artifact, is_json

__all__ = ["ENDINGS", "KINDS", "decode_data", "encode_data", "file_name", "is_json", "kind_of_file"]

#: How the file of an artifact ends whose name has no ending of its own, by kind.
ENDINGS: Final = {"json": ".json", "text": ".txt", "bytes": ".bin", "png": ".png", "value": ".value"}
KINDS: Final = frozenset(ENDINGS)

_TEXT_ENDING: Final = re.compile(
    r"\.(?:txt|md|rst|csv|tsv|html|htm|xml|svg|yaml|yml|toml|ini|log|py|sh|sql|jsonl)"
).fullmatch
_ENDING: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")


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
    try:
        return encode_artifact(data)
    except ProtocolError as error:
        raise ArtifactError(f"this cannot be kept as an artifact: {error}") from None


def decode_data(kind: str, data: bytes, name: str) -> Any:
    """The value of an artifact. Raises ArtifactError when the bytes are not of this kind."""
    try:
        return decode_artifact(kind, data)
    except ValueError as error:  # of JSON, and ProtocolError
        raise ArtifactError(
            f"the artifact {name!r} is not a valid {kind}: {error}; read its bytes with reader()"
        ) from None
