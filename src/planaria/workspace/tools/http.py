"""HTTP interfaces as tools, as they are defined: endpoints in YAML, or an OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from planaria.workspace.tools.definition import Definition, ParameterDefinition, ToolDefinition

__all__ = ["AuthDefinition", "BodyDefinition", "EndpointDefinition", "HttpDefinition", "HttpParameter"]

_Text = Annotated[str, StringConstraints(min_length=1)]
_Type = Literal["string", "integer", "number", "boolean", "array", "object", "any", "data"]
_ItemType = Literal["string", "integer", "number", "boolean", "object", "any"]


def _exactly_one(definition: Definition) -> None:
    """Raises ValueError unless one field has a value."""
    names = list(type(definition).model_fields)
    given = [name for name in names if getattr(definition, name) is not None]
    if len(given) != 1:
        aliases = [type(definition).model_fields[name].alias or name for name in names]
        raise ValueError(f"expected one of {', '.join(aliases)}")


def _json_name(name: Any) -> Any:
    """Python's names of types stand for those of JSON."""
    python = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
    python |= {"dict": "object", "Any": "any", "bytes": "data"}
    return python.get(name, name) if isinstance(name, str) else name


class HttpParameter(ParameterDefinition):
    """A value that an endpoint takes; `data` is text or bytes."""

    # More than a command can take.
    type: Annotated[_Type, BeforeValidator(_json_name)] = "string"  # type: ignore[assignment]
    items: Annotated[_ItemType, BeforeValidator(_json_name)] = "string"  # type: ignore[assignment]


class BasicDefinition(Definition):
    """A user's name and password."""

    username: str
    password: str


class ApiKeyDefinition(Definition):
    """A key in a header or in the query."""

    header: _Text | None = None
    query: _Text | None = None
    value: _Text

    @model_validator(mode="after")
    def _is_in_one_place(self) -> ApiKeyDefinition:
        if (self.header is None) == (self.query is None):
            raise ValueError("expected one of header, query with the name it has there")
        return self


class AuthDefinition(Definition):
    """How the host proves who it is; code in a session never sees it."""

    bearer: _Text | None = None
    basic: BasicDefinition | None = None
    api_key: ApiKeyDefinition | None = None

    @model_validator(mode="after")
    def _is_one(self) -> AuthDefinition:
        _exactly_one(self)
        return self


class BodyDefinition(Definition):
    """What is sent: a template, see `EndpointDefinition`."""

    as_json: Any = Field(None, alias="json")
    form: dict[str, Any] | None = None
    multipart: dict[str, Any] | None = None
    """The fields of a form; bytes are a file."""
    text: str | None = None
    bytes_: str | None = Field(None, alias="bytes")

    @model_validator(mode="after")
    def _is_one(self) -> BodyDefinition:
        _exactly_one(self)
        return self


class EndpointDefinition(Definition):
    """One function.

    Path, query, headers and body are templates: `{name}` stands for the parameter of that name. A template
    that is nothing but `{name}` becomes the value itself, a list or a number for instance; a part with a
    parameter that was not given is left out. `{{` and `}}` are braces.
    """

    name: _Text
    method: Annotated[
        Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        BeforeValidator(lambda name: name.upper() if isinstance(name, str) else name),
    ] = "GET"
    path: Annotated[str, StringConstraints(pattern=r"^/[^?#]*$")]
    """Begins with a slash. What replaces a placeholder stays within its segment."""
    description: str = ""
    parameters: dict[str, HttpParameter] = Field(default_factory=dict)
    """Parameters of the path and all that no template has a word about are required text if nothing else is
    said; those that no template uses go to the query."""
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: BodyDefinition | None = None
    content_type: _Text | None = None
    response: Literal["auto", "json", "text", "bytes"] = "auto"
    """How the answer is understood; "auto" goes by its Content-Type."""
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Seconds; that of the tool if nothing is said."""


class HttpDefinition(ToolDefinition):
    """An interface. `${NAME}` in `base_url`, `headers`, `auth`, `proxy` and `openapi` is replaced."""

    type: Literal["http"] = "http"
    base_url: _Text | None = None
    """All paths are below it. An OpenAPI document names one itself."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with each request."""
    auth: AuthDefinition | None = None
    redirects: Literal["same_host", "any", "none"] = "same_host"
    """Where an answer may send a request. Credentials and headers of the definition go to no other host."""
    proxy: _Text | None = None
    """The URL of a proxy, or `environment` for those that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY
    name; it resolves the names of hosts. None is used if nothing is said."""
    private: bool = False
    """Whether names of hosts may lead to addresses that are not public, and redirects to such addresses. One
    that is written here, or `localhost`, needs no word."""
    max_response: Annotated[int, Field(gt=0)] = 16 << 20
    """Bytes of one answer, unpacked."""
    endpoints: tuple[EndpointDefinition, ...] = ()
    openapi: str | dict[str, Any] | None = None
    """The document's file (relative to the definition's), its URL, or itself."""
    only: tuple[str, ...] = ()
    """The operations of the document that become functions, by operationId or by the function's name; all of
    them if this is empty."""

    @model_validator(mode="after")
    def _has_functions(self) -> HttpDefinition:
        if bool(self.endpoints) == (self.openapi is not None):
            raise ValueError("expected either 'endpoints' or 'openapi'")
        if self.endpoints and self.base_url is None:
            raise ValueError("expected 'base_url' with 'endpoints'")
        if self.only and self.openapi is None:
            raise ValueError("'only' is for 'openapi'")
        return self
