"""Code mode: the tools of a framework as functions that code in a session calls, `tools.NAME(…)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from planaria.session.options import SessionArguments
from planaria.workspace.tools.registry import ToolRegistry
from planaria.workspace.tools.schemas import Names, annotation, schema_parameters, with_wire_names
from planaria.workspace.tools.tool import Tool, ToolCallable
from planaria.workspace.workspace import registry_of

__all__ = ["CODE_MODE", "CodeTools", "FrameworkTool", "described"]

CODE_MODE: Final = (
    "Execute Python (CPython with its standard library, numpy, pandas, scipy, scikit-learn and matplotlib) "
    "in a sandbox. Variables, imports and files are kept for later calls. Returned are what the code prints, "
    "the value of the last expression, as in a notebook, and figures. `await` works at top level."
)
_FUNCTIONS: Final = (
    "The code can call these functions, also several of them in one program and in loops. Prefer one program "
    "that calls several and prints what is needed. Arguments are keywords, and calls are awaited: `await "
    "tools.NAME(…)`, or for several at once `await asyncio.gather(tools.NAME.call_async(…), …)`."
)


class FrameworkTool(Tool):
    """A tool of a framework, which a JSON schema describes.

    Args:
        name: its name; in code it is made an identifier.
        description: what it does.
        schema: the JSON schema of its arguments, an object's.
        invoke: called with the arguments, on a thread of the session's; gives the value or an awaitable of
            it, which is awaited on a loop of the session's.
        returns: the JSON schema of what it gives, if that is known.
    """

    def __init__(
        self,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        invoke: Callable[[dict[str, Any]], Any],
        returns: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, description)
        self._invoke = invoke
        self._takes_others = schema.get("additionalProperties", False) is not False
        pairs = schema_parameters(schema, schema, Names())
        self._names = {parameter.name: wire for wire, parameter in pairs}
        self._function = ToolCallable(
            self.name,
            description,
            tuple(parameter for _, parameter in pairs),
            "Any" if returns is None else annotation(returns, returns),
        )

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        return (self._function,)

    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: A002
        return self._invoke(self.wire_arguments(callable, arguments))

    def wire_arguments(self, callable: str | None, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """The arguments by the names that the schema has. Raises ToolNotFound and ToolArgumentError."""
        function = self.find(callable)
        return with_wire_names(self.name, function, self._names, arguments, takes_others=self._takes_others)


class CodeTools:
    """The tools of a session's arguments and of its storage, for sessions that have a framework's tools too.

    They are read when they are first needed, and again after `close()`.

    Args:
        arguments: those of `planaria.Session`.
    """

    def __init__(self, arguments: SessionArguments) -> None:
        self._arguments = arguments
        self._given: ToolRegistry | None = None
        self._is_own = False

    def with_tools(self, tools: Iterable[FrameworkTool]) -> ToolRegistry:
        """These and a framework's tools behind the same middleware, for sessions, which do not close them.
        Raises ToolDefinitionError.
        """
        if self._given is None:
            arguments = self._arguments
            self._given, self._is_own = registry_of(
                arguments.get("storage"), arguments.get("tools"), None, arguments.get("tool_environment")
            )
        given = self._given
        registry = ToolRegistry(given, middleware=given.middleware, embedder=given._embedder)
        for tool in tools:
            registry.add(tool)
        return registry

    def close(self) -> None:
        """Close them, waiting for their servers, unless they are those of a registry of the caller's."""
        given, self._given = self._given, None
        if given is not None and self._is_own:
            given.close()


def described(tools: ToolRegistry, description: str = CODE_MODE) -> str:
    """The description of a tool that executes code, with stubs of the functions that the code may call."""
    if not len(tools):
        return description
    return f"{description}\n\n{_FUNCTIONS}\n\n```python\n{tools.stubs('docstrings')}```"
