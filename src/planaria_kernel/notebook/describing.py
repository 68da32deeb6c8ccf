"""What a name means: for `name?`, `name??` and a front end that asks about the code at a cursor."""

from __future__ import annotations

import inspect
import re
from typing import Any, Final

from planaria_kernel.execution.completion import MISSING, value_of
from planaria_kernel.execution.names import short_repr

__all__ = ["describe", "name_at"]

_DOTTED: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_MOST_REPR: Final = 500


def name_at(text: str, cursor: int) -> str:
    """The dotted name that the cursor stands in or after, otherwise the one that is called around it."""
    cursor = max(0, min(cursor, len(text)))
    for match in _DOTTED.finditer(text):
        if match.start() <= cursor <= match.end():
            rest = text[match.start() : cursor]
            end = match.group().find(".", len(rest))
            return match.group() if end < 0 else match.group()[:end]
    depth = 0
    for place in range(cursor - 1, -1, -1):
        if text[place] == ")":
            depth += 1
        elif text[place] == "(":
            if not depth:
                before = re.search(r"[^\W\d][\w.]*$", text[:place].rstrip())
                return before[0] if before else ""
            depth -= 1
    return ""


def describe(name: str, space: dict[str, Any], *, with_source: bool) -> str | None:
    """A text about what a dotted name means; None when it means nothing. Nothing is called for it but the
    object's own repr.
    """
    value = value_of(name, space)
    if value is MISSING:
        return None
    kind = type(value)
    lines = []
    signature = _signature(value)
    if signature is not None:
        lines.append(f"Signature: {name}{signature}")
    lines.append(f"Type:      {kind.__qualname__}")
    if signature is None and not inspect.ismodule(value):
        lines.append(f"Value:     {short_repr(value, _MOST_REPR)}")
    file = (
        getattr(inspect.getmodule(value), "__file__", None) if signature or inspect.ismodule(value) else None
    )
    if file:
        lines.append(f"File:      {file}")
    source = _source(value) if with_source else None
    if source is not None:
        lines += ["Source:", source]
    else:
        documentation = inspect.getdoc(value)
        if documentation:
            lines += ["Docstring:", documentation]
    return "\n".join(lines)


def _signature(value: Any) -> inspect.Signature | None:
    if not callable(value):
        return None
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def _source(value: Any) -> str | None:
    try:
        return inspect.getsource(value).rstrip()
    except (TypeError, OSError):
        return None
