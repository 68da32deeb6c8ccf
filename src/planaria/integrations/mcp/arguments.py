"""A server that says in plain words what is wrong with the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from planaria.workspace.tools.names import shown, suggestion

__all__ = ["ToolServer"]

#: By the type of a pydantic error, what was expected; the fields of its context are filled in.
_EXPECTED: Final = {
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "literal_error": "{expected}",
    "string_type": "a string",
}
#: Characters of a wrong value that a message shows.
_MOST_VALUE: Final = 60


class ToolServer(MCPServer[Any]):
    """An MCP server whose tools take the arguments that they have, and no others.

    The errors of its tools are what they say, without a prefix.
    """

    _parameters: Mapping[str, tuple[str, ...]] | None = None

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError, also for arguments that it does not have."""
        if self._parameters is None:
            self._parameters = {
                tool.name: tuple(tool.input_schema["properties"]) for tool in await self.list_tools()
            }
        known = self._parameters.get(name)
        if known is not None:
            for argument in arguments:
                if argument not in known:
                    raise ToolError(f"{name} has no argument {shown(argument)}{suggestion(argument, known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError("; ".join(_problems(name, cause))) from None
            if isinstance(cause, ToolError):
                raise cause from None
            raise


def _problems(tool: str, error: ValidationError) -> Iterator[str]:
    """What is wrong, argument by argument; where an argument may be of several types, all of them."""
    found: dict[str, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        found.setdefault(str(one["loc"][0]), []).append(one)
    for argument, problems in found.items():
        if problems[0]["type"] == "missing":
            yield f"{tool} needs the argument {argument!r}"
            continue
        place = "".join(f"[{step}]" for step in problems[0]["loc"][1:] if isinstance(step, int))
        expected = dict.fromkeys(_expected(one) for one in problems)
        yield f"{argument}{place} must be {' or '.join(expected)}, not {_repr(problems[0]['input'])}"


def _expected(problem: ErrorDetails) -> str:
    expected = _EXPECTED.get(problem["type"])
    return f"right ({problem['msg']})" if expected is None else expected.format_map(problem.get("ctx", {}))


def _repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_VALUE else f"{text[:_MOST_VALUE]}…"
