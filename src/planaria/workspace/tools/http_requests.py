"""Calls of an HTTP interface: from a function's arguments to a request, by templates.

A template is text with `{placeholders}`, or a list or dict of templates. One that is nothing but a
placeholder becomes the argument itself, whatever it is; one with an argument that is not given is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote

from planaria.errors import ToolArgumentError
from planaria.limits import NOT_GIVEN
from planaria.workspace.tools.schemas import encodable, json_value
from planaria.workspace.tools.tool import ToolCallable

__all__ = ["BodyKind", "Endpoint", "HttpRequest", "QueryStyle", "placeholders"]

BodyKind = Literal["json", "form", "multipart", "text", "bytes"]
QueryStyle = Literal["repeated", "joined", "deep"]
"""How a list or dict goes into a query: as `a=1&a=2`, as `a=1,2`, or as `a[key]=1`."""

_PLACEHOLDER: Final = re.compile(r"\{(?P<name>[^\W\d][\w.-]*)\}|\{\{|\}\}")
_CONTENT_TYPES: Final[dict[BodyKind, str]] = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "bytes": "application/octet-stream",
}


@dataclass(frozen=True)
class HttpRequest:
    """What is to be sent, without what the host adds."""

    method: str
    path: str
    """Quoted, with a slash in front."""
    query: list[tuple[str, str]]
    headers: dict[str, str]
    content: bytes | None = None
    form: list[tuple[str, str]] | None = None
    files: list[tuple[str, tuple[str | None, bytes]]] | None = None


@dataclass(frozen=True)
class Endpoint:
    """One function: how its arguments become a request, and what becomes of the answer."""

    callable: ToolCallable
    bind: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Gives the arguments by the names of the placeholders. Raises ToolArgumentError."""
    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    query_styles: Mapping[str, QueryStyle] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    body_kind: BodyKind | None = None
    body: Any = None
    content_type: str | None = None
    response: Literal["auto", "json", "text", "bytes"] = "auto"
    timeout: float | None = None

    def request(self, arguments: Mapping[str, Any]) -> HttpRequest:
        """The request for some arguments. Raises ToolArgumentError."""
        values = self.bind(arguments)
        headers = {
            name: _header(name, text)
            for name, template in self.headers.items()
            if (text := _fill(template, values)) is not NOT_GIVEN
        }
        cookies = [
            f"{name}={_header(name, text)}"
            for name, template in self.cookies.items()
            if (text := _fill(template, values)) is not NOT_GIVEN
        ]
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        query = [
            pair
            for name, template in self.query.items()
            if (value := _fill(template, values)) is not NOT_GIVEN
            for pair in _pairs(name, value, self.query_styles.get(name, "repeated"))
        ]
        body = {} if self.body_kind is None else self._body(self.body_kind, values, headers)
        return HttpRequest(self.method, _path(self.path, values), query, headers, **body)

    def _body(self, kind: BodyKind, values: Mapping[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        """The fields of the request that hold its body; its type goes to the headers."""
        value = _fill(self.body, values)
        if value is NOT_GIVEN:
            return {}
        content_type = self.content_type or _CONTENT_TYPES.get(kind)
        if content_type is not None:
            headers["Content-Type"] = content_type
        match kind:
            case "json":
                return {"content": json.dumps(json_value(value, "the body"), ensure_ascii=False).encode()}
            case "text" | "bytes":
                if not isinstance(value, (str, bytes)):
                    raise ToolArgumentError(f"the body must be str or bytes, not {type(value).__name__}")
                content = encodable(value, "the body").encode() if isinstance(value, str) else value
                return {"content": content}
            case _ if not isinstance(value, Mapping):
                raise ToolArgumentError(f"the body must be a dict of its fields, not {type(value).__name__}")
            case "form":
                return {
                    "form": [pair for name, one in value.items() for pair in _pairs(_text("", name), one)]
                }
            case "multipart":
                return {
                    "files": [part for name, one in value.items() for part in _parts(_text("", name), one)]
                }


def placeholders(template: Any) -> Iterator[str]:
    """The names of the arguments that a template uses."""
    if isinstance(template, str):
        for found in _PLACEHOLDER.finditer(template):
            if found["name"]:
                yield found["name"]
    elif isinstance(template, Mapping):
        for one in template.values():
            yield from placeholders(one)
    elif isinstance(template, (list, tuple)):
        for one in template:
            yield from placeholders(one)


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with arguments in it, or NOT_GIVEN; a brace is written twice."""
    if isinstance(template, Mapping):
        entries = {name: _fill(one, values) for name, one in template.items()}
        given = {name: value for name, value in entries.items() if value is not NOT_GIVEN}
        return given if given or not template else NOT_GIVEN
    if isinstance(template, (list, tuple)):
        return [value for one in template if (value := _fill(one, values)) is not NOT_GIVEN]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole is not None and whole["name"]:
        return values.get(whole["name"], NOT_GIVEN)
    if any(name not in values for name in placeholders(template)):
        return NOT_GIVEN

    def text(found: re.Match[str]) -> str:
        return _text(found["name"], values[found["name"]]) if found["name"] else found[0][0]

    return _PLACEHOLDER.sub(text, template)


def _text(name: str, value: Any) -> str:
    """One value as text in a URL, header or form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return encodable(value, name)
    if isinstance(value, (int, float)):
        return str(json_value(value, name))
    raise ToolArgumentError(f"{name} must be a string or a number, not {type(value).__name__}")


def _path(template: str, values: Mapping[str, Any]) -> str:
    """The path, each argument quoted so that it stays within its segment."""
    segments = []
    for segment in template.split("/"):
        names = list(placeholders(segment))
        for name in names:
            if name not in values:
                raise ToolArgumentError(f"{name} is part of the path and is required")
        filled = _fill(segment, {name: quote(_text(name, values[name]), safe="") for name in names})
        if names and filled in ("", ".", ".."):
            # They would name another resource: the list instead of the item, or what is above it.
            raise ToolArgumentError(f"{names[0]}={filled!r} cannot be a part of the path")
        segments.append(filled if names else quote(filled, safe="%!$&'()*+,;=:@~"))
    return "/".join(segments)


def _header(name: str, value: Any) -> str:
    text = _text(name, value)
    if not text.isascii() or not text.isprintable():
        raise ToolArgumentError(f"the header {name} accepts printable ASCII only, not {text[:100]!r}")
    return text.strip()


def _pairs(name: str, value: Any, style: QueryStyle = "repeated") -> Iterator[tuple[str, str]]:
    """A value in a query or a form."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, one in value.items():
            key = _text(name, key)
            yield f"{name}[{key}]" if style == "deep" else key, _text(name, one)
    elif isinstance(value, (list, tuple)):
        if style == "joined":
            yield name, ",".join(_text(name, one) for one in value)
        else:
            for one in value:
                yield name, _text(name, one)
    else:
        yield name, _text(name, value)


def _parts(name: str, value: Any) -> Iterator[tuple[str, tuple[str | None, bytes]]]:
    """A value in a multipart body; bytes are a file."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(one, bytes):
            yield name, (name, one)
        elif isinstance(one, Mapping):
            yield name, (None, json.dumps(json_value(one, name)).encode())
        elif one is not None:
            yield name, (None, _text(name, one).encode())
