"""Errors as front ends show them."""

from __future__ import annotations

from typing import Any

from planaria.errors import ExecutionError, Exited, Interrupted, PlanariaError

__all__ = ["error_content"]


def error_content(error: PlanariaError) -> dict[str, Any]:
    """`ename`, `evalue` and `traceback` of an error, the last one as coloured lines."""
    if isinstance(error, Interrupted):
        return _content("KeyboardInterrupt", "", f"KeyboardInterrupt: {error}")
    if isinstance(error, ExecutionError):
        name = "SystemExit" if isinstance(error, Exited) else error.type
        return _content(name, error.message, error.traceback or f"{name}: {error.message}")
    return _content(type(error).__name__, str(error), f"{type(error).__name__}: {error}")


def _content(name: str, value: str, text: str) -> dict[str, Any]:
    return {"ename": name, "evalue": value, "traceback": _coloured(text).splitlines()}


def _coloured(text: str) -> str:
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers.python import PythonTracebackLexer

    if not text.startswith(("Traceback", "  File")):
        return f"\x1b[31m{text}\x1b[0m"
    return str(highlight(text, PythonTracebackLexer(), TerminalFormatter())).rstrip("\n")
