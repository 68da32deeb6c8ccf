"""The record of one call of a tool."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Outcome", "ToolCall"]

Outcome = Literal["running", "ok", "error", "denied", "suspended"]


@dataclass(slots=True, eq=False)
class ToolCall:
    """One call of a tool: what a middleware sees of it, and what stays of it in `result.tool_calls`."""

    tool: str
    callable: str | None
    """None when the tool itself was called."""
    arguments: dict[str, Any]
    """A middleware may change them, or put others in their place."""
    tags: frozenset[str] = frozenset()
    """The tags of the tool."""
    approved: bool = False
    """Whether somebody who was asked for approval gave it; see `ToolMiddleware`."""
    started: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    duration_ms: float | None = None
    """None while it runs."""
    outcome: Outcome = "running"
    """A call that was parked stays "suspended"; going on after an approval has a record of its own."""
    error: str | None = None
    """Type and message of what the call raised."""

    @property
    def name(self) -> str:
        """`tool.callable`, or `tool`."""
        return self.tool if self.callable is None else f"{self.tool}.{self.callable}"
