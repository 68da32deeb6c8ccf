"""The OpenAPI document of the native API, made from its routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic.json_schema import models_json_schema

from planaria import __version__
from planaria.server.problems import PROBLEM
from planaria.server.routes import Parameter, Route

__all__ = ["Document", "openapi"]

Document = dict[str, Any]

_PROBLEM_SCHEMA: Final[Document] = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code"],
}
#: The problems of every operation: of a request, its token, its session, its rate and the store.
_USUAL: Final = (400, 401, 403, 409, 413, 415, 421, 422, 429, 500, 501, 503)
_ROOT: Final = "#/components/schemas/{model}"


def openapi(routes: Iterable[Route], *, has_tokens: bool) -> Document:
    """The document (OpenAPI 3.1) of a server with or without tokens."""
    routes = list(routes)
    models = {
        (one, "validation" if one is route.takes else "serialization")
        for route in routes
        for one in (route.takes, route.gives, *route.responses.values())
        if isinstance(one, type)
    }
    ordered = sorted(models, key=lambda pair: (pair[0].__name__, pair[1]))
    names, schemas = models_json_schema(ordered, ref_template=_ROOT)  # type: ignore[arg-type]
    paths: dict[str, Document] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "planaria",
            "version": __version__,
            "description": "Sandboxed Python and bash: sessions that can be saved, forked and rewound.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas.get("$defs", {}), "Problem": _PROBLEM_SCHEMA},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if has_tokens else [],
    }


def _operation(route: Route, names: Any) -> Document:
    parameters = [
        Parameter(name, {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"}, "", True, "path")
        for name in re.findall(r"\{(\w+)\}", route.path)
    ]
    operation: Document = {
        "operationId": f"{route.method.lower()}{re.sub(r'[^a-z0-9]+', '_', route.path.removeprefix('/v1'))}",
        "summary": route.summary,
        "parameters": [_parameter(one) for one in (*parameters, *route.parameters)],
        "responses": _responses(route, names),
    }
    if route.takes is not None:
        content = (
            {route.takes: {"schema": {"type": "string", "format": "binary"}}}
            if isinstance(route.takes, str)
            else {"application/json": {"schema": names[route.takes, "validation"]}}
        )
        needs_body = isinstance(route.takes, str) or any(
            one.is_required() for one in route.takes.model_fields.values()
        )
        operation["requestBody"] = {"required": needs_body, "content": content}
    if route.public:
        operation["security"] = []
    return operation


def _parameter(parameter: Parameter) -> Document:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.description,
        "schema": parameter.schema,
    }


def _responses(route: Route, names: Any) -> Document:
    content: Document = {}
    if isinstance(route.gives, str):
        content[route.gives] = {"schema": {"type": "string"}}
    elif route.gives is not None:
        content["application/json"] = {"schema": names[route.gives, "serialization"]}
    content |= {media: {"schema": {"type": "string"}} for media in route.also}
    answered: Document = {str(route.status): {"description": "What was asked for"}}
    if content:
        answered[str(route.status)]["content"] = content
    for status, model in route.responses.items():
        schema = {"application/json": {"schema": names[model, "serialization"]}}
        answered[str(status)] = {"description": model.__doc__ or "", "content": schema}
    problem = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    statuses = {*_USUAL, *route.errors, *([404] if "{" in route.path else [])}
    for status in sorted(statuses):
        answered[str(status)] = {"description": "A problem", "content": problem}
    return answered
