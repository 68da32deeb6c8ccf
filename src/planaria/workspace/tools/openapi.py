"""OpenAPI documents as functions: one for each operation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

from planaria.workspace.tools.http_requests import BodyKind, Endpoint, QueryStyle
from planaria.workspace.tools.schemas import (
    Names,
    annotation,
    merged,
    resolve,
    schema_parameters,
    with_wire_names,
)
from planaria.workspace.tools.tool import ToolCallable, ToolParameter

__all__ = ["OpenApi", "parse_document", "snake_case"]

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def parse_document(text: str) -> Any:
    """A document in JSON or YAML. Raises ValueError, with the line if it is known."""
    if text.lstrip()[:1] == "{":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None
    import yaml

    # The parser written in C is ten times faster, where there is one.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """As JSON would have it: keys are text, also `200`, and so are dates, `on` and `no`."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
            first: [
                (tag, pattern)
                for tag, pattern in pairs
                if tag != "tag:yaml.org,2002:timestamp"
                and (tag != "tag:yaml.org,2002:bool" or first in "tTfF")
            ]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {error}") from None


@dataclass(frozen=True)
class _Body:
    """How a request's body is made of arguments."""

    kind: BodyKind | None = None
    template: Any = None
    content_type: str | None = None
    parameters: tuple[ToolParameter, ...] = ()


class OpenApi:
    """A document of version 3.0 or 3.1.

    Raises ValueError for anything else, and when a part cannot be understood; the message says where.
    """

    def __init__(self, document: Any) -> None:
        if not isinstance(document, Mapping):
            raise ValueError("an OpenAPI document is a mapping with 'openapi' and 'paths'")
        version = str(document.get("openapi", ""))
        if not re.match(r"3\.[01](\.|$)", version):
            found = f"swagger {document['swagger']}" if "swagger" in document else repr(version)
            raise ValueError(f"openapi: versions 3.0 and 3.1 are understood, not {found}")
        self._document = document

    def base_url(self) -> str | None:
        """The first server's URL, its variables with their defaults; None when there is none."""
        servers = self._document.get("servers")
        if not isinstance(servers, list) or not servers or not isinstance(servers[0], Mapping):
            return None
        url = str(servers[0].get("url", ""))
        variables = servers[0].get("variables")
        for name, variable in variables.items() if isinstance(variables, Mapping) else ():
            url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
        return url or None

    def description(self) -> str:
        """What the document says of itself."""
        info = resolve(self._document.get("info"), self._document)
        return str(info.get("summary") or info.get("description") or info.get("title") or "")

    def endpoints(self, tool: str) -> list[Endpoint]:
        """The functions, in order; `tool` is the name that errors have for what they belong to."""
        names = Names()
        paths = self._document.get("paths")
        found = []
        for path, item in paths.items() if isinstance(paths, Mapping) else ():
            item = resolve(item, self._document)
            for method in _METHODS:
                operation = item.get(method)
                if isinstance(operation, Mapping):
                    try:
                        found.append(self._endpoint(tool, names, str(path), method, operation, item))
                    except ValueError as error:
                        raise ValueError(f"paths: {path}: {method}: {error}") from None
        return found

    def _endpoint(
        self,
        tool: str,
        names: Names,
        path: str,
        method: str,
        operation: Mapping[str, Any],
        item: Mapping[str, Any],
    ) -> Endpoint:
        identifiers = Names()
        parameters: list[ToolParameter] = []
        places: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}, "cookie": {}}
        styles: dict[str, QueryStyle] = {}
        for described in self._parameters(operation, item):
            name, place = str(described.get("name", "")), described.get("in")
            if not name or place not in places:
                raise ValueError(f"parameter {name!r} is in {place!r}")
            if place == "header" and name.lower() in ("accept", "content-type", "authorization"):
                # The document's own rule: these are described elsewhere.
                continue
            parameter = self._parameter(identifiers.take(name), described)
            parameters.append(parameter)
            places[place][name] = f"{{{parameter.name}}}"
            if place == "query":
                styles[name] = _style(described)
        body = self._body(identifiers, resolve(operation.get("requestBody"), self._document))
        parameters += body.parameters
        name = operation.get("operationId") or f"{method} {path}"
        function = ToolCallable(
            names.take(snake_case(str(name))),
            str(operation.get("summary") or operation.get("description") or "").strip(),
            tuple(sorted(parameters, key=lambda one: not one.required)),
            self._returns(operation),
        )
        # Arguments keep the names that the function has for them: one name may be in the path and the body.
        own = {parameter.name: parameter.name for parameter in parameters}
        return Endpoint(
            function,
            partial(with_wire_names, tool, function, own),
            method.upper(),
            _renamed(path, places["path"]),
            query=places["query"],
            query_styles=styles,
            headers=places["header"],
            cookies=places["cookie"],
            body_kind=body.kind,
            body=body.template,
            content_type=body.content_type,
        )

    def _parameters(
        self, operation: Mapping[str, Any], item: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """The parameters of an operation; those of its path that it does not describe anew come first."""
        found: dict[tuple[Any, Any], Mapping[str, Any]] = {}
        for described in (*_list(item, "parameters"), *_list(operation, "parameters")):
            described = resolve(described, self._document)
            found[described.get("name"), described.get("in")] = described
        yield from found.values()

    def _parameter(self, name: str, described: Mapping[str, Any]) -> ToolParameter:
        schema = described.get("schema")
        if schema is None:
            # A parameter of another media type: text that the caller writes.
            schema = {"type": "string"}
        return ToolParameter(
            name,
            annotation(schema, self._document),
            required=described.get("required") is True or described.get("in") == "path",
            default=resolve(schema, self._document).get("default"),
            description=str(described.get("description", "")),
        )

    def _body(self, identifiers: Names, described: Mapping[str, Any]) -> _Body:
        """The body: an object's properties are parameters of their own, anything else is `body`."""
        content = described.get("content")
        if not isinstance(content, Mapping) or not content:
            return _Body()
        content_type, kind = min(
            ((str(one), _kind(str(one))) for one in content), key=lambda pair: _PREFERRED.index(pair[1])
        )
        media = content[content_type]
        schema = media.get("schema", {}) if isinstance(media, Mapping) else {}
        # Boundaries of multipart bodies are made when they are sent, and patterns are not types.
        own_type = content_type if kind in ("json", "text", "bytes") and "*" not in content_type else None
        is_required = described.get("required") is True
        whole = merged(schema, self._document)
        if kind in ("json", "form", "multipart") and _has_parts(whole):
            pairs = schema_parameters(whole, self._document, identifiers)
            parameters = tuple(one if is_required else replace(one, required=False) for _, one in pairs)
            template = {name: f"{{{one.name}}}" for name, one in pairs}
            return _Body(kind, template, own_type, parameters)
        type_ = annotation(schema, self._document)
        if kind == "bytes":
            type_ = "bytes"
        elif kind == "text":
            type_ = "str"
        elif kind in ("form", "multipart"):
            type_ = "dict[str, Any]"
        name = identifiers.take("body")
        parameter = ToolParameter(
            name, type_, required=is_required, description=str(described.get("description", ""))
        )
        return _Body(kind, f"{{{name}}}", own_type, (parameter,))

    def _returns(self, operation: Mapping[str, Any]) -> str:
        """The annotation of what the first successful response has."""
        responses = operation.get("responses")
        for status, response in responses.items() if isinstance(responses, Mapping) else ():
            if str(status)[:1] != "2":
                continue
            content = resolve(response, self._document).get("content")
            if not isinstance(content, Mapping) or not content:
                return "None"
            for content_type, media in content.items():
                if _kind(str(content_type)) == "json" and isinstance(media, Mapping):
                    return annotation(media.get("schema", {}), self._document)
            return "str" if _kind(str(next(iter(content)))) == "text" else "bytes"
        return "Any"


_PREFERRED: Final[tuple[BodyKind, ...]] = ("json", "form", "multipart", "text", "bytes")


def _kind(content_type: str) -> BodyKind:
    """How a body of that type is written."""
    bare = content_type.partition(";")[0].strip().lower()
    if bare in ("application/json", "*/*") or bare.endswith("+json"):
        return "json"
    if bare == "application/x-www-form-urlencoded":
        return "form"
    if bare == "multipart/form-data":
        return "multipart"
    return "text" if bare.startswith("text/") or bare.endswith(("/xml", "+xml")) else "bytes"


def _has_parts(schema: Mapping[str, Any]) -> bool:
    """Whether an object has the properties that are described and no others."""
    others = schema.get("additionalProperties", False)
    return bool(schema.get("properties")) and (others is False or others is None)


def _style(described: Mapping[str, Any]) -> QueryStyle:
    style = described.get("style", "form")
    if style == "deepObject":
        return "deep"
    return "joined" if style == "form" and described.get("explode") is False else "repeated"


def _list(mapping: Mapping[str, Any], key: str) -> list[Any]:
    found = mapping.get(key)
    return found if isinstance(found, list) else []


def _renamed(path: str, places: Mapping[str, str]) -> str:
    """The path with the placeholders' names as the function has them. Raises ValueError for one it lacks."""

    def placeholder(found: re.Match[str]) -> str:
        if found[1] not in places:
            raise ValueError(f"the path has {found[0]}, which no parameter describes")
        return places[found[1]]

    return re.sub(r"\{([^{}]*)\}", placeholder, path)


def snake_case(name: str) -> str:
    """`listPets` is `list_pets`, `getByID` is `get_by_id`."""
    return _WORDS.sub("_", name).lower()
