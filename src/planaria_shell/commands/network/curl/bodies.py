"""What curl sends: data given in words and files, forms, and uploads."""

from __future__ import annotations

import os
import random
import string
from pathlib import Path
from urllib.parse import quote_plus

from planaria_shell.commands.network.curl.options import Given, Option
from planaria_shell.commands.network.exchange import Body
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.streams import read_input

__all__ = ["DATA", "CannotRead", "CannotReadOption", "form", "given_data", "option_file", "query_data"]

_TYPES = {
    ".gif": "image/gif",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".htm": "text/html",
    ".html": "text/html",
    ".pdf": "application/pdf",
    ".xml": "application/xml",
}
#: The options that give data.
DATA = ("data", "data-raw", "data-binary", "data-urlencode", "json")


class CannotRead(Exception):
    """The file of a form cannot be read."""


class CannotReadOption(Exception):
    """The file that an option names cannot be read."""

    def __init__(self, option: Option, name: str) -> None:
        super().__init__(f"option {option.word}: error encountered when reading a file")
        self.name = name


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def given_data(call: Invocation, given: Given) -> bytes | None:
    """The data of `-d` and its kind, joined; None without any."""
    parts: list[bytes] = []
    found = False
    for option in given.options:
        if option.name not in DATA:
            continue
        data = _encoded(call, option) if option.name == "data-urlencode" else _plain(call, option)
        if found and option.name != "json":
            parts.append(b"&")
        parts.append(data)
        found = True
    return b"".join(parts) if found else None


def _plain(call: Invocation, option: Option) -> bytes:
    if option.name == "data-raw" or not option.value.startswith("@"):
        return _bytes(option.value)
    data = option_file(call, option, option.value[1:])
    if option.name == "data":
        data = data.translate(None, b"\r\n\0")
    return data


def option_file(call: Invocation, option: Option, name: str) -> bytes:
    """The contents of a file that an option names. Raises CannotReadOption."""
    try:
        return read_input(call, name)
    except OSError:
        raise CannotReadOption(option, name) from None


def _encoded(call: Invocation, option: Option) -> bytes:
    """`content`, `=content`, `name=content`, `@file`, `name@file`."""
    value = option.value
    equals, at = value.find("="), value.find("@")
    if equals >= 0 and not 0 <= at < equals:
        name, content = value[:equals], _bytes(value[equals + 1 :])
    elif at >= 0:
        name, content = value[:at], option_file(call, option, value[at + 1 :])
    else:
        name, content = "", _bytes(value)
    encoded = quote_plus(content).encode()
    return _bytes(name) + b"=" + encoded if name else encoded


def query_data(call: Invocation, given: Given) -> str | None:
    """What `--url-query` adds to the query; None without it."""
    parts = [
        _bytes(option.value[1:]) if option.value.startswith("+") else _encoded(call, option)
        for option in given.options
        if option.name == "url-query"
    ]
    return b"&".join(parts).decode("latin-1") if parts else None


def form(call: Invocation, given: Given) -> tuple[Body, str] | None:
    """The body of `-F` and its boundary (RFC 7578); None without one."""
    fields = [option for option in given.options if option.name in ("form", "form-string")]
    if not fields:
        return None
    boundary = "-" * 24 + "".join(random.choices(string.ascii_letters + string.digits, k=22))
    parts: list[bytes | os.PathLike[str]] = []
    for kind, field, _ in fields:
        name, _, value = field.partition("=")
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
        if kind == "form" and value[:1] in ("@", "<"):
            parts += _file_field(call, head, value)
        elif kind == "form":
            value, settings = _settings(value)
            extra = f"\r\nContent-Type: {settings['type']}" if "type" in settings else ""
            parts.append(_bytes(f"{head}{extra}\r\n\r\n{value}\r\n"))
        else:
            parts.append(_bytes(f"{head}\r\n\r\n{value}\r\n"))
    parts.append(_bytes(f"--{boundary}--\r\n"))
    return Body(*parts), boundary


def _file_field(call: Invocation, head: str, value: str) -> list[bytes | os.PathLike[str]]:
    place, settings = _settings(value[1:])
    if place == "-":
        content: bytes | os.PathLike[str] = call.stdin.read()
    else:
        content = Path(call.path(place))
        if not os.access(content, os.R_OK) or content.is_dir():
            raise CannotRead
    if value[0] == "@":
        name = settings.get("filename", "-" if place == "-" else os.path.basename(place))
        usual = _TYPES.get(os.path.splitext(name)[1].lower(), "application/octet-stream")
        kind = settings.get("type", usual)
        head += f'; filename="{_quoted(name)}"\r\nContent-Type: {kind}'
    elif "type" in settings:
        head += f"\r\nContent-Type: {settings['type']}"
    return [_bytes(f"{head}\r\n\r\n"), content, b"\r\n"]


def _settings(value: str) -> tuple[str, dict[str, str]]:
    """A field's value without the `;type=…` and `;filename=…` at its end, and these."""
    if value.startswith('"'):
        content, _, rest = value[1:].partition('"')
        words = rest.split(";")[1:]
    else:
        content, *words = value.split(";")
    settings = {}
    for word in words:
        name, equals, text = word.strip().partition("=")
        if equals and name in ("type", "filename"):
            settings[name] = text.strip('"')
        elif not settings:
            content += f";{word}"
        elif "type" in settings:
            settings["type"] += f";{word}"
    return content, settings


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
