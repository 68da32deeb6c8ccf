"""The record of one call of a tool."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

__all__ = ["Outcome", "ToolCall", "shortened"]

_log: Final = logging.getLogger("planaria.tools")
_log.addHandler(logging.NullHandler())

#: Characters or bytes of one text, and items and texts of all arguments together, that a record keeps.
_LONGEST: Final = 1000
_MOST: Final = 100
_PLAIN: Final = (bool, int, float, type(None), datetime, date, timedelta)

Outcome = Literal["running", "ok", "error", "denied", "suspended", "cancelled", "interrupted"]


@dataclass(slots=True, eq=False)
class ToolCall:
    """One call of a tool: what a middleware sees of it, and what stays of it in `result.tool_calls`."""

    tool: str
    callable: str | None
    """None when the tool itself was called."""
    arguments: dict[str, Any]
    """A middleware may change them, or put others in their place. Once the call is over they are shortened:
    what is large in them ends with a note of how much there was, so that records do not keep it.
    """
    tags: frozenset[str] = frozenset()
    """The tags of the tool."""
    approved: bool = False
    """Whether approval was asked for and given; see `ToolMiddleware`."""
    started: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    duration_ms: float | None = None
    """None while it runs."""
    outcome: Outcome = "running"
    """A call that was parked stays "suspended"; going on after an approval has a record of its own. One that
    the code gave up is "cancelled", one that a timeout or an interrupt ended is "interrupted". "running" is
    left of a call for which a task waits that outlives the execution.
    """
    error: str | None = None
    """Type and message of what the call raised."""
    _began: float = field(default_factory=time.perf_counter, repr=False)

    def end(self, outcome: Outcome) -> None:
        """The call is over, in one way or another; only the first end counts."""
        if self.outcome == "running":
            self.duration_ms = (time.perf_counter() - self._began) * 1000
            self.arguments = shortened(self.arguments)
            self.outcome = outcome
            # Without arguments and messages, which may hold secrets.
            level = logging.WARNING if outcome in ("error", "denied", "interrupted") else logging.INFO
            _log.log(level, "%s: %s in %.1f ms", self.name, outcome, self.duration_ms)

    @property
    def name(self) -> str:
        """`tool.callable`, or `tool`."""
        return self.tool if self.callable is None else f"{self.tool}.{self.callable}"


def shortened(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a record keeps them: themselves when they are small."""
    for value in arguments.values():
        kind = type(value)
        if kind in (str, bytes):
            if len(value) > _LONGEST:
                break
        elif kind not in _PLAIN or (kind is int and value.bit_length() > _LONGEST):
            break
    else:
        if len(arguments) <= _MOST:
            return arguments
    return _Shortener().mapping(arguments)


class _Shortener:
    """Copies values until there are enough of them."""

    def __init__(self) -> None:
        self._left = _MOST

    def mapping(self, values: dict[Any, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in values.items():
            if self._left <= 0:
                kept["…"] = f"{len(values) - len(kept)} more"
                break
            short = self.value(key)
            kept[short if isinstance(short, str) else repr(short)] = self.value(value)
        return kept

    def value(self, value: Any) -> Any:
        self._left -= 1
        kind = type(value)
        if kind in (str, bytes):
            if len(value) <= _LONGEST:
                return value
            note = f"… ({len(value)} {'characters' if kind is str else 'bytes'})"
            return value[:_LONGEST] + (note if kind is str else note.encode())
        if kind is dict:
            return self.mapping(value)
        if kind in (list, tuple, set, frozenset):
            kept: list[Any] = []
            for item in value:
                if self._left <= 0:
                    kept.append(f"… ({len(value) - len(kept)} more)")
                    break
                kept.append(self.value(item))
            return kept
        if kind is int and value.bit_length() > _LONGEST:
            return f"an int of {value.bit_length()} bits"
        return value if kind in _PLAIN else f"<{kind.__name__}>"
