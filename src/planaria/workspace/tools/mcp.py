"""MCP servers as tools: each tool of a server is one function."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from planaria.errors import ToolCallError, ToolNotFound
from planaria.workspace.tools.background import (
    background_loop,
    close_when_collected,
    in_background,
    run_in_background,
)
from planaria.workspace.tools.definition import ToolDefinition
from planaria.workspace.tools.redaction import Redaction
from planaria.workspace.tools.schemas import Names, annotation, json_value, schema_parameters, with_wire_names
from planaria.workspace.tools.tool import Tool, ToolCallable
from planaria.workspace.tools.variables import ToolEnvironment

if TYPE_CHECKING:
    import mcp_types

    from planaria.workspace.tools.mcp_connection import HttpTarget, ProcessTarget
    from planaria.workspace.tools.mcp_server import McpServer

__all__ = ["McpDefinition", "McpTool"]

_MIB: Final = 1 << 20
_MESSAGE_SHOWN: Final = 8192


class McpDefinition(ToolDefinition):
    """A server to start (`command`), or one that runs already (`url`)."""

    type: Literal["mcp"] = "mcp"
    command: Annotated[str, Field(min_length=1)] | None = None
    """The program, or a path of one. `${PYTHON}` is the interpreter that runs planaria, `${TOOL_DIR}` the
    directory of the definition's file."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for the program, besides `PATH`, `HOME` and a few others of that kind."""
    cwd: str | None = None
    """The program's directory; that of the definition's file if nothing else is said."""
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    proxy: str | None = None
    """The URL of a proxy, or `environment` for those that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY
    name. None is used if nothing is said."""
    private: bool = False
    """Whether the name in `url` may lead to an address that is not public. One that is written there, or
    `localhost`, needs no word."""
    transport: Literal["stdio", "http", "sse"] | None = None
    """`http` is streamable HTTP, and what a `url` means if nothing else is said."""
    start_timeout: Annotated[float, Field(gt=0)] = 30.0
    """Seconds that the server may take to start, and to list its tools."""
    max_result: Annotated[int, Field(gt=0)] = 16 * _MIB
    """Bytes of one answer, as the server sends it. By `sse` it cannot be more than 1 MiB."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> McpDefinition:
        if (self.command is None) == (self.url is None):
            raise ValueError("expected either 'command' (a server to start) or 'url' (one that is running)")
        of_process = [name for name in ("args", "env", "cwd") if getattr(self, name)]
        if self.url is not None and of_process:
            raise ValueError(f"{of_process[0]!r} is for a 'command', not for a 'url'")
        if self.command is not None and self.headers:
            raise ValueError("'headers' are for a 'url', not for a 'command'")
        if self.command is not None and self.private:
            raise ValueError("'private' is for a 'url', not for a 'command'")
        if self.transport is not None and (self.transport == "stdio") != (self.url is None):
            wanted = "a 'command'" if self.transport == "stdio" else "a 'url'"
            raise ValueError(f"transport {self.transport!r} needs {wanted}")
        return self


@dataclass(frozen=True)
class _Function:
    """A tool of the server as a function."""

    callable: ToolCallable
    name: str
    """The server's name for it."""
    wire_names: Mapping[str, str]
    takes_others: bool
    is_wrapped: bool


class _Launch:
    """What a server is started with. Servers have it, and not the tool: that can be collected before them."""

    def __init__(self, definition: McpDefinition, environment: ToolEnvironment, folder: Path | None) -> None:
        self._definition = definition
        self._environment = environment
        self._folder = folder
        #: Hides the secrets of the last start: in errors all of them, in answers the credentials among them.
        self.redaction = self.hidden = Redaction()

    def target(self) -> ProcessTarget | HttpTarget:
        """What to connect to, with the environment's values as they are now."""
        from planaria.workspace.tools.mcp_connection import HttpTarget, ProcessTarget

        definition = self._definition
        extra = {"PYTHON": sys.executable}
        if self._folder is not None:
            extra["TOOL_DIR"] = str(self._folder)

        def value(text: str) -> str:
            return self._environment.substitute(text, extra)

        self.redaction = Redaction.of_references(
            [
                *(definition.url or "", definition.proxy or ""),
                *(*definition.args, *definition.env.values(), *definition.headers.values()),
            ],
            self._environment,
            known=extra,
        )
        # What is in the path of a URL, or an argument, is in many an answer for good reason.
        query = (definition.url or "").partition("?")[2]
        self.hidden = Redaction.of_references(
            [query, *definition.env.values(), *definition.headers.values()], self._environment, known=extra
        )
        if definition.url is not None:
            headers = {name: value(text) for name, text in definition.headers.items()}
            proxy = None if definition.proxy is None else value(definition.proxy)
            return HttpTarget(
                value(definition.url),
                headers,
                is_sse=definition.transport == "sse",
                proxy=proxy,
                hidden=self.hidden.values,
                private=definition.private,
            )
        assert definition.command is not None
        directory = self._folder or Path.cwd()
        return ProcessTarget(
            [value(definition.command), *map(value, definition.args)],
            {
                **self._environment.base(),
                **{name: value(text) for name, text in definition.env.items()},
            },
            directory / Path(value(definition.cwd or "")).expanduser(),
        )


class McpTool(Tool):
    """A server whose tools are this tool's functions; one that has the tool's own name is the tool itself."""

    def __init__(self, definition: McpDefinition, environment: ToolEnvironment, folder: Path | None) -> None:
        super().__init__(definition.name, definition.description, definition.tags)
        self._definition = definition
        self._launch = _Launch(definition, environment, folder)
        self._server: McpServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listed: Mapping[str, mcp_types.Tool] = {}
        self._functions: dict[str, _Function] = {}

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        """The server's tools; it is started for that, which blocks."""
        functions = run_in_background(self._ask_functions())
        return tuple(function.callable for function in functions.values())

    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: A002
        """An awaitable of what the server's tool of that name returns."""
        return in_background(self._call(callable, dict(arguments)))

    def close(self) -> None:
        """End the server, or the connection to it. It is started again if it is used again."""
        server, self._server = self._server, None
        if server is not None and self._loop is background_loop():
            run_in_background(server.close())

    async def _call(self, callable: str | None, arguments: dict[str, Any]) -> Any:  # noqa: A002
        from planaria.workspace.tools.mcp_values import result_text, result_value

        function = await self._find(callable)
        found = function.callable
        given = with_wire_names(
            self.name, found, function.wire_names, arguments, takes_others=function.takes_others
        )
        plain = {name: json_value(value, name) for name, value in given.items()}
        with self._hidden(found.name):
            result = await self._running().call(function.name, plain, self._definition.timeout)
            if result.is_error:
                text = result_text(result.content).strip() or "it gave no reason"
                raise ToolCallError(text[:_MESSAGE_SHOWN])
            try:
                return self._launch.hidden.of_value(result_value(result, is_wrapped=function.is_wrapped))
            except ValueError as error:
                raise ToolCallError(f"the MCP server {self.name!r} sent a broken result: {error}") from None

    async def _find(self, callable: str | None) -> _Function:  # noqa: A002
        functions = await self._ask_functions()
        try:
            found = self.find(callable, [function.callable for function in functions.values()])
        except ToolNotFound:
            functions = await self._ask_functions(refresh=True)
            found = self.find(callable, [function.callable for function in functions.values()])
        return functions[found.name]

    async def _ask_functions(self, *, refresh: bool = False) -> dict[str, _Function]:
        """The server's tools by the names they have in code."""
        with self._hidden(None):
            listed = await self._running().tools(refresh=refresh)
        if listed is not self._listed:
            names = Names()
            functions = [_function(tool, names) for tool in listed.values()]
            self._functions = {function.callable.name: function for function in functions}
            self._listed = listed
        return self._functions

    def _running(self) -> McpServer:
        """The server of this process; a forked child has a loop and a server of its own."""
        from planaria.workspace.tools.mcp_server import McpServer

        loop = background_loop()
        if self._server is None or self._loop is not loop:
            self._loop = loop
            self._server = McpServer(
                self.name,
                self._launch.target,
                start_timeout=self._definition.start_timeout,
                max_result=self._definition.max_result,
            )
            close_when_collected(self, self._server.close)
        return self._server

    @contextmanager
    def _hidden(self, callable: str | None) -> Iterator[None]:  # noqa: A002
        """Errors with the names they belong to and without the secrets of the environment."""
        try:
            yield
        except ToolCallError as error:
            raise type(error)(
                self._launch.redaction(str(error)),
                tool=self.name,
                callable=callable,
                stderr=self._launch.redaction(error.stderr),
            ) from None


def _function(tool: mcp_types.Tool, names: Names) -> _Function:
    from planaria.workspace.tools.mcp_values import wraps_result

    schema = tool.input_schema
    # Without a word about others, servers leave them out silently; better to say it.
    takes_others = schema.get("additionalProperties", False) is not False
    try:
        pairs = schema_parameters(schema, schema, Names())
    except ValueError:
        # It refers to what is not here; the server knows.
        pairs, takes_others = [], True
    wrapped = wraps_result(tool)
    return _Function(
        ToolCallable(
            names.take(tool.name),
            tool.description or "",
            tuple(parameter for _, parameter in pairs),
            _returns(tool.output_schema, wrapped),
        ),
        tool.name,
        {parameter.name: name for name, parameter in pairs},
        takes_others,
        wrapped,
    )


def _returns(schema: Mapping[str, Any] | None, wrapped: bool) -> str:
    if schema is None:
        return "Any"
    try:
        return annotation(schema["properties"]["result"] if wrapped else schema, schema)
    except (ValueError, KeyError, TypeError):
        return "Any"
