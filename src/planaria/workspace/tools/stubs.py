"""Tools as Python code for a model's prompt: what there is and how it is called."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from planaria.errors import ToolCallError
from planaria.workspace.tools.tool import Tool, ToolCallable, ToolParameter

__all__ = ["Detail", "write_stubs"]

Detail = Literal["names", "signatures", "docstrings"]

_INDENT = "    "
_WIDTH = 100
#: What annotations are made of: `list[Literal['a', -1] | None]`.
_ANNOTATION = (
    *(ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.Load),
    *(ast.BinOp, ast.BitOr, ast.UnaryOp, ast.USub),
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def write_stubs(tools: Iterable[Tool], detail: Detail = "signatures") -> str:
    """Python source that describes tools.

    "names" has a line for each function, "signatures" the typed signatures, "docstrings" also the
    descriptions of functions and parameters. Whatever they hold, it parses. Raises ValueError for another
    detail.
    """
    if detail not in get_args(Detail):
        raise ValueError(f"detail={detail!r}: expected one of {', '.join(map(repr, get_args(Detail)))}")
    lines = _names(tools) if detail == "names" else _class(tools, with_docstrings=detail == "docstrings")
    return "\n".join(lines) + "\n"


def _names(tools: Iterable[Tool]) -> Iterator[str]:
    for tool in tools:
        yield from _comment(tool.description)
        try:
            for one in tool.callables:
                path = tool.name if one.name == tool.name else f"{tool.name}.{one.name}"
                yield f"tools.{path}(...)"
        except ToolCallError as error:
            yield from _comment(f"tools.{tool.name} cannot be used now: {error}")


def _class(tools: Iterable[Tool], *, with_docstrings: bool) -> Iterator[str]:
    body: list[str] = []
    for tool in tools:
        body += _tool(tool, with_docstrings)
    yield "class tools:"
    yield from textwrap.indent("\n".join(body or ["pass"]), _INDENT).splitlines()


def _tool(tool: Tool, with_docstrings: bool) -> list[str]:
    """A tool that is only called itself as a function, any other as a class."""
    try:
        callables = tool.callables
    except ToolCallError as error:
        return list(_comment(f"{tool.name} cannot be used now: {error}"))
    if [one.name for one in callables] == [tool.name]:
        function = callables[0]
        if not function.description:
            function = ToolCallable(function.name, tool.description, function.parameters, function.returns)
        comment = [] if with_docstrings else _comment(function.description)
        return [*comment, *_function(function, function.name, with_docstrings)]
    body: list[str] = []
    if with_docstrings:
        body += _docstring(tool.description)
    for one in callables:
        body += _function(one, "__call__" if one.name == tool.name else one.name, with_docstrings)
    comment = [] if with_docstrings else _comment(tool.description)
    inner = textwrap.indent("\n".join(body or ["pass"]), _INDENT).splitlines()
    return [*comment, f"class {tool.name}:", *inner]


def _function(function: ToolCallable, name: str, with_docstrings: bool) -> list[str]:
    ordered = sorted(function.parameters, key=lambda one: not one.required)
    if any(one.name.startswith("*") for one in function.parameters):
        ordered = list(function.parameters)  # as the function has them
    parameters = [_parameter(one) for one in ordered]
    returns = _annotation(function.returns)
    needs_star = any(not one.name.startswith("*") for one in ordered) and not any(
        one.name.startswith("*") and not one.name.startswith("**") for one in ordered
    )
    shown = ["*", *parameters] if needs_star else parameters
    head = f"def {name}({', '.join(shown)}) -> {returns}:"
    if len(head) > _WIDTH:
        head = f"def {name}(\n{_INDENT}{f',{chr(10)}{_INDENT}'.join(shown)},\n) -> {returns}:"
    documentation = _docstring(_documentation(function, ordered)) if with_docstrings else []
    if not documentation:
        return f"{head} ...".splitlines()
    return [*head.splitlines(), *textwrap.indent("\n".join(documentation), _INDENT).splitlines()]


def _parameter(parameter: ToolParameter) -> str:
    annotation = _annotation(parameter.type)
    if parameter.required or parameter.name.startswith("*"):
        return f"{parameter.name}: {annotation}"
    default = repr(parameter.default)
    try:
        ast.literal_eval(default)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        default = "..."
    if default == "None" and annotation != "Any" and "None" not in annotation:
        annotation += " | None"
    return f"{parameter.name}: {annotation} = {default}"


def _annotation(text: str) -> str:
    """The annotation in one line, if it is one."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return ast.unparse(tree) if all(isinstance(node, _ANNOTATION) for node in ast.walk(tree)) else "Any"
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "Any"


def _documentation(function: ToolCallable, parameters: list[ToolParameter]) -> str:
    described = [one for one in parameters if one.description]
    arguments = "\n".join(
        textwrap.indent(f"{one.name}: {' '.join(one.description.split())}", _INDENT) for one in described
    )
    parts = [function.description.strip(), f"Args:\n{arguments}" if described else ""]
    return "\n\n".join(part for part in parts if part)


def _docstring(text: str) -> list[str]:
    """A docstring that holds the text, whatever is in it."""
    text = _printable(text).strip()
    if not text:
        return []
    text = text.replace("\\", "\\\\")
    if '"""' in text or text.endswith('"'):
        text = text.replace('"', '\\"')
    if "\n" in text:
        text += "\n"
    return f'"""{text}"""'.split("\n")


def _comment(text: str) -> list[str]:
    """The first line of the text as a comment."""
    first = next(iter(_printable(text).strip().split("\n")), "").strip()
    return [f"# {first}"] if first else []


def _printable(text: str) -> str:
    """The text with escapes in place of what no source may hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
