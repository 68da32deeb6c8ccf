"""What a workflow's source says about it, read with `ast` and never executed."""

from __future__ import annotations

import ast
import keyword
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from planaria.storage.paths import why_not_a_segment

__all__ = ["MAX_SOURCE", "RESERVED", "Outline", "read_source", "why_not_a_name"]

#: Bytes of a workflow's source: the host parses it.
MAX_SOURCE: Final = 256 * 1024
_MAX_NAME: Final = 100
#: Characters of an annotation or a default that are shown.
_MAX_TEXT: Final = 300
#: What the namespace `workflows` in the session has by these names.
RESERVED: Final = frozenset(("create", "delete", "get", "invoke", "list", "search"))


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a source; of a broken one, why."""

    parameters: tuple[dict[str, Any], ...] = ()
    returns: str | None = None
    docstring: str = ""
    is_async: bool = False
    error: str | None = None


def why_not_a_name(name: str) -> str | None:
    """Why a workflow cannot have this name; None when it can."""
    if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
        return "it is not a Python identifier"
    if keyword.iskeyword(name):
        return "it is a keyword of Python"
    if name in RESERVED:
        return f"workflows.{name} is something else in a session"
    if name.startswith("_"):
        return "it begins with an underscore"
    if len(name.encode()) > _MAX_NAME:
        return f"it is longer than {_MAX_NAME} bytes"
    return why_not_a_segment(name)


def read_source(source: bytes) -> Outline:
    """Parse the source of a workflow."""
    if len(source) > MAX_SOURCE:
        return Outline(error=f"the source has {len(source)} bytes; {MAX_SOURCE} are allowed")
    try:
        tree = ast.parse(source.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Outline(error=f"the source is not UTF-8: {error.reason} at byte {error.start}")
    except SyntaxError as error:
        return Outline(error=error.msg if error.lineno is None else f"line {error.lineno}: {error.msg}")
    except ValueError as error:  # zero bytes, or a number of too many digits
        return Outline(error=str(error))
    except (RecursionError, MemoryError):
        return Outline(error="the source is nested too deeply")
    run = None
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == "run":
            run = statement
    if run is None:
        return Outline(
            docstring=ast.get_docstring(tree) or "",
            error="there is no function `run` at the top level: write def run(...) or async def run(...)",
        )
    try:
        return Outline(
            parameters=tuple(_parameters(run.args)),
            returns=None if run.returns is None else _text(run.returns),
            docstring=ast.get_docstring(run) or ast.get_docstring(tree) or "",
            is_async=isinstance(run, ast.AsyncFunctionDef),
        )
    except RecursionError:
        return Outline(error="the source is nested too deeply")


def _parameters(arguments: ast.arguments) -> Iterator[dict[str, Any]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [None] * without + list(arguments.defaults)
    for argument, default in zip(positional, defaults, strict=True):
        yield _parameter(argument.arg, argument, default)
    if arguments.vararg is not None:
        yield {**_parameter(f"*{arguments.vararg.arg}", arguments.vararg, None), "required": False}
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument.arg, argument, default)
    if arguments.kwarg is not None:
        yield {**_parameter(f"**{arguments.kwarg.arg}", arguments.kwarg, None), "required": False}


def _parameter(name: str, argument: ast.arg, default: ast.expr | None) -> dict[str, Any]:
    return {
        "name": name,
        "type": None if argument.annotation is None else _text(argument.annotation),
        "required": default is None,
        "default": None if default is None else _text(default),
    }


def _text(expression: ast.expr) -> str:
    text = ast.unparse(expression)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
