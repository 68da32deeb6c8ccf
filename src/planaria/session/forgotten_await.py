"""Explaining errors that come of a callback's call that was not awaited."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace

from planaria.executors.messages import Failed

__all__ = ["with_hint"]


def with_hint(outcome: Failed, source: str, callbacks: Collection[str]) -> Failed:
    """`outcome` with the call of a callback that lacks its `await`, where the error is that of a coroutine.

    Calling a callback gives a coroutine; CPython's message for what is then done with that does not name the
    call.
    """
    if outcome.type not in ("TypeError", "AttributeError") or "'coroutine'" not in outcome.message:
        return outcome
    name = _not_awaited(source, callbacks, outcome.lineno)
    if name is None:
        return outcome
    hint = f"; {name}() gives a coroutine: write await {name}(...)"
    message = outcome.message + hint
    traceback = outcome.traceback
    if traceback.rstrip("\n").endswith(outcome.message):
        traceback = traceback.rstrip("\n") + hint + "\n"
    return replace(outcome, message=message, traceback=traceback)


def _not_awaited(source: str, callbacks: Collection[str], lineno: int | None) -> str | None:
    """The callback that is called without `await`, best in the line that failed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # the guest's Python may be newer
        return None
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    found: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in awaited:
            name = ast.unparse(node.func)
            if name in callbacks:
                found.setdefault(node.lineno, name)
    if not found:
        return None
    return found.get(lineno or 0) or found[min(found)]
