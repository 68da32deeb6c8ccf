"""What a script names, found without running it: for approval prompts."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from .lexer import ShellSyntaxError
from .parser import parse
from .syntax import (
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Coprocess,
    For,
    Function,
    Parameter,
    Redirect,
    Select,
    Simple,
    Word,
)

__all__ = ["Analysis", "analyze"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^]]*\])?\s*(?:[-+*/%&^|]|<<|>>)?=(?!=)"
    r"|(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--)",
    re.ASCII,
)
#: Builtins whose operands are names that they set.
_SETTING = frozenset(
    ["read", "declare", "typeset", "local", "export", "readonly", "unset", "mapfile", "readarray"]
)
#: Commands that run text or other commands which are not known before.
_RUNNING = frozenset(["eval", "source", ".", "bash", "sh", "xargs", "env", "exec", "command", "builtin"])


@dataclass(slots=True)
class Analysis:
    """The names in a script, each list without repetition in the order of appearance."""

    #: Commands called by a name that stands in the script (builtins too; functions of the script not).
    commands: list[str] = field(default_factory=list)
    #: Functions that the script defines.
    functions: list[str] = field(default_factory=list)
    #: Files that redirections read and write, where the name stands in the script.
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    #: Arguments of commands that look like paths (they hold a slash).
    paths: list[str] = field(default_factory=list)
    #: Variables that are expanded, and those that are set.
    variables: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
    #: Whether something runs that only running the script can tell: a command name that is expanded, `eval`,
    #: a sourced file, another shell.
    dynamic: bool = False
    #: The message of a syntax error; what stands before it is analysed.
    error: str = ""


def analyze(script: str) -> Analysis:
    """Tell the commands, files and variables that `script` names, without running anything of it."""
    result = Analysis()
    try:
        units: list[Any] = list(parse(script, extglob=True))
    except ShellSyntaxError as error:
        result.error = f"line {error.line}: {error.message}"
        units = []
        lines = script.split("\n")[: max(error.line - 1, 0)]
        while lines:
            try:
                units = list(parse("\n".join(lines), extglob=True))
                break
            except ShellSyntaxError:
                lines.pop()
    _visit(units, result)
    result.commands = [name for name in result.commands if name not in result.functions]
    return result


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _visit(node: Any, result: Analysis) -> None:
    if isinstance(node, list | tuple):
        for item in node:
            _visit(item, result)
        return
    if not dataclasses.is_dataclass(node):
        return
    if isinstance(node, Simple):
        _simple(node, result)
    elif isinstance(node, Assignment):
        _add(result.assigned, node.name)
    elif isinstance(node, Redirect):
        _redirect(node, result)
    elif isinstance(node, Parameter):
        if node.name and (node.name[0].isalpha() or node.name[0] == "_"):
            _add(result.variables, node.name)
            if node.operator in ("=", ":="):
                _add(result.assigned, node.name)
    elif isinstance(node, Function):
        _add(result.functions, node.name)
    elif isinstance(node, For | Select | Coprocess):
        _add(result.assigned, node.name)
    elif isinstance(node, Arithmetic | ArithmeticCommand):
        _arithmetic(node.expression, result)
    elif isinstance(node, ArithmeticFor):
        for word in (node.start, node.condition, node.step):
            _arithmetic(word, result)
    for each in dataclasses.fields(node):
        _visit(getattr(node, each.name), result)


def _simple(node: Simple, result: Analysis) -> None:
    if not node.words:
        return
    head = node.words[0]
    name = head.constant() if isinstance(head, Word) else None
    if name is None:
        result.dynamic = True
        return
    _add(result.commands, name)
    if name in _RUNNING:
        result.dynamic = True
    for word in node.words[1:]:
        text = word.constant() if isinstance(word, Word) else None
        if text is None:
            continue
        if name in _SETTING and _IDENTIFIER.fullmatch(text):
            _add(result.assigned, text)
        elif "/" in text and not text.startswith("-"):
            _add(result.paths, text)


def _redirect(node: Redirect, result: Analysis) -> None:
    if node.variable:
        _add(result.assigned, node.variable)
    name = node.target.constant()
    if node.operator in ("<<", "<<-", "<<<"):
        return
    if name is None:
        result.dynamic = result.dynamic or node.operator not in ("<&", ">&")
    elif node.operator in ("<&", ">&") and (name.rstrip("-").isdecimal() or name == "-"):
        return
    elif node.operator == "<":
        _add(result.reads, name)
    elif node.operator == "<>":
        _add(result.reads, name)
        _add(result.writes, name)
    else:
        _add(result.writes, name)


def _arithmetic(word: Word, result: Analysis) -> None:
    for match in _ASSIGNED.finditer(word.source):
        _add(result.assigned, next(name for name in match.groups() if name))
    for name in _IDENTIFIER.findall(re.sub(r"\$\{?|0[xX][0-9a-fA-F]+|\d+#\w+", " ", word.source)):
        _add(result.variables, name)
