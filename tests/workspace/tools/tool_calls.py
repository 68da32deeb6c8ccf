"""What tests of tools share: definitions as texts, and calls from code without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from planaria.workspace.tools.tool import Tool

__all__ = ["Define", "Text", "call"]

Define = Callable[..., Tool]


class Text(NamedTuple):
    origin: str
    text: str


def call(tool: Tool, function: str | None = None, /, **arguments: Any) -> Any:
    async def calling() -> Any:
        return await tool.call(function, arguments)

    return asyncio.run(calling())
