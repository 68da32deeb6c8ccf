"""A tool as the registry sees it, whatever is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planaria.errors import ToolDefinitionError, ToolNotFound
from planaria.workspace.tools.names import identifier, shown, suggestion

__all__ = ["Tool", "ToolCallable", "ToolParameter"]


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter of a callable."""

    name: str
    """An identifier; `*name` takes any number of arguments, as a list, `**name` any that have other names."""
    type: str = "Any"
    """The annotation as Python code writes it: `str`, `list[int]`, `Literal['a', 'b']`."""
    required: bool = False
    default: Any = None
    description: str = ""

    def document(self) -> dict[str, Any]:
        """It as plain values."""
        return {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "default": self.default,
            "description": self.description,
        }


@dataclass(frozen=True, slots=True)
class ToolCallable:
    """One function of a tool: `tools.TOOL.NAME(...)`. One with the tool's own name is `tools.TOOL(...)`."""

    name: str
    """An identifier."""
    description: str = ""
    parameters: tuple[ToolParameter, ...] = ()
    """All of them can be given by keyword, but for one with stars."""
    returns: str = "Any"
    """The annotation of what it returns."""

    def document(self) -> dict[str, Any]:
        """It as plain values."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": [parameter.document() for parameter in self.parameters],
            "returns": self.returns,
        }


class Tool(ABC):
    """A named group of functions that code in a session may call.

    A subclass defines `callables` and `call`, and `close` when there is something to release. Raises
    ToolDefinitionError for a name that cannot be made into an identifier.
    """

    def __init__(self, name: str, description: str = "", tags: Iterable[str] = ()) -> None:
        try:
            self.name = identifier(name)
        except ValueError as error:
            raise ToolDefinitionError(f"a tool's name: {error}") from None
        #: The name as it was given, `my-tool` for `my_tool`; it can be called by it, too.
        self.alias = name
        self.description = description
        self.tags = frozenset(tags)

    @property
    @abstractmethod
    def callables(self) -> tuple[ToolCallable, ...]:
        """The functions, in order. May block while a server starts: ask on a thread that may wait.

        Raises ToolCallError when they cannot be found out.
        """

    @abstractmethod
    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Any:  # noqa: A002
        """Call a function by its name; None is the tool itself.

        Returns the value, or an awaitable of it. Raises ToolNotFound, ToolArgumentError and other
        ToolCallErrors, at once or when awaited; what a Python tool raises comes as it is.
        """

    def close(self) -> None:  # noqa: B027 - most tools have nothing to give back
        """Give everything back, waiting for it; closing twice is harmless."""

    def find(self, callable: str | None, among: Iterable[ToolCallable] | None = None) -> ToolCallable:  # noqa: A002
        """The function of that name, `among` those if `callables` must not be asked for them.

        Raises ToolNotFound, with a suggestion.
        """
        wanted = self.name if callable is None else callable
        known = {one.name: one for one in (self.callables if among is None else among)}
        found = known.get(wanted)
        if found is None and callable is not None:
            try:
                found = known.get(identifier(callable))
            except ValueError:
                pass
        if found is not None:
            return found
        if callable is None:
            message = f"tool {self.name!r} cannot be called itself{suggestion('', known)}"
        else:
            message = f"tool {self.name!r} has no {shown(callable)}{suggestion(callable, known)}"
        raise ToolNotFound(message, tool=self.name, callable=callable)

    def document(self) -> dict[str, Any]:
        """It as plain values: name, description, tags and callables with their parameters."""
        return {
            "name": self.name,
            "description": self.description,
            "tags": sorted(self.tags),
            "callables": [one.document() for one in self.callables],
        }
