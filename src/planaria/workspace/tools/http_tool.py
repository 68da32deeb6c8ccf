"""HTTP interfaces as tools: each endpoint or operation is one function."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from planaria.errors import ToolCallError
from planaria.workspace.tools.arguments import Argument, bind
from planaria.workspace.tools.background import (
    background_loop,
    close_when_collected,
    in_background,
    run_in_background,
)
from planaria.workspace.tools.definition import Misfit
from planaria.workspace.tools.http import BodyDefinition, EndpointDefinition, HttpDefinition
from planaria.workspace.tools.http_client import ConnectionPool, Credentials, HttpClient
from planaria.workspace.tools.http_requests import BodyKind, Endpoint, placeholders
from planaria.workspace.tools.names import identifier, suggestion
from planaria.workspace.tools.openapi import OpenApi, parse_document, snake_case
from planaria.workspace.tools.redaction import Redaction
from planaria.workspace.tools.tool import Tool, ToolCallable
from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["HttpTool"]

_LARGEST_DOCUMENT: Final = 32 << 20


class HttpTool(Tool):
    """An interface whose endpoints are this tool's functions.

    A document that has a URL is read when its functions are first wanted; one in a file at once. Raises
    Misfit and ToolDefinitionError when something does not fit.
    """

    def __init__(self, definition: HttpDefinition, environment: ToolEnvironment, folder: Path | None) -> None:
        super().__init__(definition.name, definition.description, definition.tags)
        self._definition = definition
        self._environment = environment
        self._folder = folder
        self._extra = {} if folder is None else {"TOOL_DIR": str(folder)}
        self._redaction = Redaction()
        #: The connections, and the loop that they are of.
        self._pool: tuple[asyncio.AbstractEventLoop, ConnectionPool] | None = None
        self._base_url = definition.base_url
        #: Where the document is whose server the base URL is; None when the definition says it.
        self._named_by: str | None = None
        self._endpoints: dict[str, Endpoint] | None = None
        place = "base_url"
        try:
            if self._base_url is not None and "${" not in self._base_url:
                _check_base_url(self._base_url)
            place = "openapi"
            if definition.openapi is None:
                self._endpoints = _written_endpoints(self.name, definition)
            elif not isinstance(definition.openapi, str):
                self._take(OpenApi(definition.openapi), None)
            elif not _is_url(definition.openapi):
                self._take(OpenApi(parse_document(self._read(definition.openapi))), None)
        except Misfit:
            raise
        except ValueError as error:
            raise Misfit([((place,), str(error))]) from None

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        """The functions; a document that has a URL is read for that, which blocks."""
        endpoints = self._endpoints
        if endpoints is None:
            endpoints = run_in_background(self._ask_endpoints())
        return tuple(endpoint.callable for endpoint in endpoints.values())

    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: A002
        """An awaitable of what the endpoint answers."""
        return in_background(self._call(callable, dict(arguments)))

    def close(self) -> None:
        """Close the connections. They are opened again when needed."""
        pool, self._pool = self._pool, None
        if pool is not None and pool[0] is background_loop():
            run_in_background(pool[1].aclose())

    async def _call(self, callable: str | None, arguments: dict[str, Any]) -> Any:  # noqa: A002
        endpoints = await self._ask_endpoints()
        endpoint = endpoints[self.find(callable, [one.callable for one in endpoints.values()]).name]
        with self._named(endpoint.callable.name):
            request = endpoint.request(arguments)
            client = self._client()
            answer = await client.send(request, endpoint.timeout or self._definition.timeout)
            try:
                return answer.value(endpoint.response)
            except ValueError as error:
                raise ToolCallError(f"the answer of {request.path} is not JSON: {error}") from None

    async def _ask_endpoints(self) -> dict[str, Endpoint]:
        """The functions by name; the document is read if it was not yet."""
        if self._endpoints is None:
            document = self._definition.openapi
            assert isinstance(document, str)
            with self._named(None):
                url = self._substitute(document)
                client = self._client(self._definition.base_url or urljoin(url, "/"))
                content = await client.read(url, self._definition.timeout)
                try:
                    self._take(OpenApi(parse_document(content.decode("utf-8-sig"))), url)
                except ValueError as error:
                    raise ToolCallError(f"the document at {url}: {error}") from None
        assert self._endpoints is not None
        return self._endpoints

    def _read(self, name: str) -> str:
        """The text of a document's file. Raises ValueError."""
        try:
            name = self._environment.substitute(name, self._extra)
        except ToolCallError as error:
            raise ValueError(str(error)) from None
        if self._folder is None and not Path(name).is_absolute():
            raise ValueError(f"{name!r}: this definition is in no file that the path could be relative to")
        path = (self._folder or Path()) / name
        try:
            if path.stat().st_size > _LARGEST_DOCUMENT:
                raise ValueError(f"{path}: larger than {_LARGEST_DOCUMENT:,} bytes")
            return path.read_text("utf-8-sig")
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None

    def _take(self, document: OpenApi, url: str | None) -> None:
        """Make functions of a document, which was at a URL or not. Raises ValueError."""
        definition = self._definition
        if definition.base_url is None:
            server = document.base_url()
            base_url = urljoin(url, server or "/") if url is not None else server
            if base_url is None or not base_url.startswith(("http://", "https://")):
                raise ValueError("the document names no server; say which with 'base_url'")
            _check_base_url(base_url)
            is_elsewhere = url is not None and _origin(base_url) != _origin(url)
            has_secrets = definition.auth is not None or any(
                "${" in one for one in definition.headers.values()
            )
            if is_elsewhere and has_secrets:
                # The document's author must not choose who gets the credentials.
                raise ValueError(
                    f"the document's server is {base_url}; to send it credentials, say so with 'base_url'"
                )
            if "${" in base_url:
                raise ValueError(
                    f"the document's server is {base_url}; only 'base_url' may refer to variables"
                )
            self._base_url, self._named_by = base_url, url
        found = {endpoint.callable.name: endpoint for endpoint in document.endpoints(self.name)}
        if definition.only:
            wanted = {}
            for name in definition.only:
                key = name if name in found else snake_case(name)
                if key not in found:
                    raise ValueError(f"only: there is no operation {name!r}{suggestion(key, found)}")
                wanted[key] = found[key]
            found = wanted
        if not found:
            raise ValueError("the document has no operations")
        self.description = self.description or document.description()
        self._endpoints = found

    def _substitute(self, text: str) -> str:
        return self._environment.substitute(text, self._extra)

    def _client(self, base_url: str | None = None) -> HttpClient:
        """The client, with the environment's values as they are now."""
        definition = self._definition
        base_url = base_url or self._base_url
        assert base_url is not None
        credentials = self._credentials()
        headers = {name: self._substitute(text) for name, text in definition.headers.items()}
        self._redaction = Redaction.of_references(
            [base_url, definition.proxy or "", *definition.headers.values()],
            self._environment,
            known=self._extra,
            others=credentials.secrets,
        )
        # Not those of the base URL, which are in many an answer for good reason.
        hidden = Redaction.of_references(
            definition.headers.values(),
            self._environment,
            known=self._extra,
            others=credentials.secrets,
        ).values
        base_url = self._substitute(base_url)
        try:
            _check_base_url(base_url)
        except ValueError as error:
            raise ToolCallError(f"base_url: {error}") from None
        loop = background_loop()
        if self._pool is None or self._pool[0] is not loop:
            proxy = None if definition.proxy is None else self._substitute(definition.proxy)
            self._pool = loop, ConnectionPool(proxy=proxy, private=definition.private)
            close_when_collected(self, self._pool[1].aclose)
        return HttpClient(
            self._pool[1],
            base_url,
            headers=headers,
            credentials=credentials,
            redaction=self._redaction,
            redirects=definition.redirects,
            max_response=definition.max_response,
            named_by=self._named_by,
            hidden=hidden,
        )

    def _credentials(self) -> Credentials:
        auth = self._definition.auth
        if auth is None:
            return Credentials()
        if auth.bearer is not None:
            return Credentials.bearer(self._substitute(auth.bearer))
        if auth.basic is not None:
            username, password = self._substitute(auth.basic.username), self._substitute(auth.basic.password)
            return Credentials.basic(username, password)
        assert auth.api_key is not None
        value = self._substitute(auth.api_key.value)
        return Credentials.key(value, header=auth.api_key.header, query=auth.api_key.query)

    @contextmanager
    def _named(self, callable: str | None) -> Iterator[None]:  # noqa: A002
        """Errors with the names they belong to, and without secrets."""
        try:
            yield
        except ToolCallError as error:
            raise type(error)(
                self._redaction(str(error)),
                tool=self.name,
                callable=callable,
                status=error.status,
                stdout=self._redaction(error.stdout),
            ) from None


def _written_endpoints(tool: str, definition: HttpDefinition) -> dict[str, Endpoint]:
    """The functions of the endpoints in a definition. Raises Misfit."""
    endpoints: dict[str, Endpoint] = {}
    found: list[tuple[tuple[int | str, ...], str]] = []
    for index, written in enumerate(definition.endpoints):
        try:
            endpoint = _written_endpoint(tool, written)
        except Misfit as error:
            found += [(("endpoints", index, *place), message) for place, message in error.found]
            continue
        name = endpoint.callable.name
        if name in endpoints:
            found.append((("endpoints", index, "name"), f"there is an endpoint {name!r} already"))
        endpoints[name] = endpoint
    if found:
        raise Misfit(found)
    return endpoints


def _written_endpoint(tool: str, written: EndpointDefinition) -> Endpoint:
    try:
        name = identifier(written.name)
    except ValueError as error:
        raise Misfit([(("name",), str(error))]) from None
    kind, body = (None, None) if written.body is None else _body(written.body)
    in_path = set(placeholders(written.path))
    used = [*in_path, *placeholders([written.query, written.headers, body])]
    parameters: dict[str, Argument] = {}
    found: list[tuple[tuple[int | str, ...], str]] = []
    for key, parameter in written.parameters.items():
        try:
            if list(placeholders(f"{{{key}}}")) != [key]:
                raise ValueError("use letters, digits, '_', '-' and '.', with a letter or '_' first")
            argument = Argument.of(key, parameter)
            if key in in_path and not argument.required and argument.default is None:
                # Nothing can be left out of a path.
                argument = replace(argument, required=True)
            parameters[key] = argument
        except ValueError as error:
            found.append((("parameters", key), str(error)))
    if found:
        raise Misfit(found)
    for key in used:
        if key not in parameters:
            parameters[key] = Argument(key, required=True)
    unused = {key: f"{{{key}}}" for key in parameters if key not in used}
    shown = ToolCallable(
        name,
        written.description,
        tuple(sorted((one.parameter() for one in parameters.values()), key=lambda one: not one.required)),
        {"json": "Any", "text": "str", "bytes": "bytes", "auto": "Any"}[written.response],
    )
    title = tool if name == tool else f"{tool}.{name}"
    return Endpoint(
        shown,
        partial(bind, title, tuple(parameters.values())),
        written.method,
        written.path,
        query={**written.query, **unused},
        headers=written.headers,
        body_kind=kind,
        body=body,
        content_type=written.content_type,
        response=written.response,
        timeout=written.timeout,
    )


def _body(body: BodyDefinition) -> tuple[BodyKind, Any]:
    if body.form is not None:
        return "form", body.form
    if body.multipart is not None:
        return "multipart", body.multipart
    if body.text is not None:
        return "text", body.text
    if body.bytes_ is not None:
        return "bytes", body.bytes_
    return "json", body.as_json


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://")) or (
        text.startswith("${") and not text.startswith("${TOOL_DIR}")
    )


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _check_base_url(url: str) -> None:
    """Raises ValueError unless requests can be sent below a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not a URL like https://example.org/api")
    if parts.query or parts.fragment:
        raise ValueError("it ends with its path; what is in the query of each request goes to 'query'")
    if parts.username or parts.password:
        raise ValueError("a user's name and password belong to 'auth'")
