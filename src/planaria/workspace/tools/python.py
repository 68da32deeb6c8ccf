"""Python functions and objects of the host as tools."""

from __future__ import annotations

from collections.abc import Iterable

from planaria.workspace.tools.tool import Tool

__all__ = ["python_tool"]


def python_tool(
    target: object, *, name: str | None = None, description: str | None = None, tags: Iterable[str] = ()
) -> Tool:
    """A tool of a function, or of an object's public methods."""
    raise NotImplementedError
