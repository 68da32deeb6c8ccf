"""The `@name` formats of jq."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from planaria_shell.commands.data.jq.json_writer import to_json
from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.values import JqError, format_number, is_number, kind


def text(value: Any) -> str:
    """`tostring`: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def _html(value: Any) -> str:
    result = text(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return result.replace("'", "&#39;").replace('"', "&quot;")


def _uri(value: Any) -> str:
    encoded = text(value).encode("utf-8", "replace")
    return re.sub(rb"[^A-Za-z0-9\-_.~]", lambda match: b"%%%02X" % match.group()[0], encoded).decode("ascii")


def _row(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise JqError(f"{kind(value)} ({shown(value)}) cannot be {name}-formatted, only array")
    for item in value:
        if isinstance(item, (list, dict)):
            raise JqError(f"{kind(item)} ({shown(item)}) is not valid in a csv row")
    return value


def _cell(item: Any) -> str:
    if item is None:
        return ""
    return format_number(item) if is_number(item) else str(item).lower()


def _csv(value: Any) -> str:
    return ",".join(
        '"' + item.replace('"', '""') + '"' if isinstance(item, str) else _cell(item)
        for item in _row(value, "csv")
    )


def _tsv(value: Any) -> str:
    def cell(item: Any) -> str:
        if not isinstance(item, str):
            return _cell(item)
        item = item.replace("\\", "\\\\").replace("\t", "\\t")
        return str(item.replace("\n", "\\n").replace("\r", "\\r"))

    return "\t".join(cell(item) for item in _row(value, "tsv"))


def _shell(value: Any) -> str:
    def word(item: Any) -> str:
        if isinstance(item, (list, dict)):
            raise JqError(f"{kind(item)} ({shown(item)}) can not be escaped for shell")
        return "'" + item.replace("'", "'\\''") + "'" if isinstance(item, str) else to_json(item)

    return " ".join(word(item) for item in (value if isinstance(value, list) else [value]))


def _base64(value: Any) -> str:
    return base64.b64encode(text(value).encode("utf-8", "replace")).decode("ascii")


def _base64_decode(value: Any) -> str:
    encoded = text(value)
    stripped = encoded.rstrip("=")
    if re.search(r"[^A-Za-z0-9+/]", stripped):
        raise JqError(f"{kind(value)} ({shown(value)}) is not valid base64 data")
    if len(stripped) % 4 == 1:
        raise JqError(f"{kind(value)} ({shown(value)}) trailing base64 byte found")
    try:
        return base64.b64decode(stripped + "=" * (-len(stripped) % 4)).decode("utf-8", "replace")
    except binascii.Error:
        raise JqError(f"{kind(value)} ({shown(value)}) is not valid base64 data") from None


def _base32(value: Any) -> str:
    return base64.b32encode(text(value).encode("utf-8", "replace")).decode("ascii")


def _base32_decode(value: Any) -> str:
    encoded = text(value).rstrip("=")
    try:
        return base64.b32decode(encoded + "=" * (-len(encoded) % 8)).decode("utf-8", "replace")
    except binascii.Error:
        raise JqError(f"{kind(value)} ({shown(value)}) is not valid base32 data") from None


def _uri_decode(value: Any) -> str:
    encoded = text(value).encode("utf-8", "replace")
    if re.search(rb"%(?![0-9A-Fa-f]{2})", encoded):
        raise JqError(f"{kind(value)} ({shown(value)}) is not a valid uri encoding")
    decoded = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match.group(1), 16)]), encoded)
    return decoded.decode("utf-8", "replace")


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": text,
    "json": to_json,
    "html": _html,
    "uri": _uri,
    "urid": _uri_decode,
    "csv": _csv,
    "tsv": _tsv,
    "sh": _shell,
    "base64": _base64,
    "base64d": _base64_decode,
    "base32": _base32,
    "base32d": _base32_decode,
}


def get(name: str) -> Callable[[Any], str]:
    """The function of a format; one that is not there fails when it is used."""
    found = FORMATS.get(name)
    if found is not None:
        return found

    def unknown(value: Any) -> str:
        raise JqError(f"{name} is not a valid format")

    return unknown
