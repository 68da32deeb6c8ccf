"""What a script names, found without running it: for approval prompts."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from planaria_shell.syntax.lexer import ShellSyntaxError
from planaria_shell.syntax.nodes import (
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
from planaria_shell.syntax.parser import parse

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
#: Commands that run text, or other commands on what they read.
_RUNNING = frozenset(["eval", "source", ".", "bash", "sh", "dash", "xargs", "parallel", "coproc"])
#: Commands that run the command among their operands: the options that take the next word, and how many
#: operands stand before it.
_WRAPPING = {
    "builtin": ("", 0),
    "chroot": ("", 1),
    "command": ("", 0),
    "env": ("uC", 0),
    "exec": ("a", 0),
    "flock": ("wE", 1),
    "nice": ("n", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("ioe", 0),
    "sudo": ("ugCDhprTtU", 0),
    "timeout": ("ks", 1),
    "xargs": ("adEILlnPs", 0),
}
_EXECUTING = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
#: Commands whose operands are files and nothing else.
_OF_FILES = frozenset(
    [
        "cat",
        "cd",
        "cp",
        "head",
        "less",
        "ls",
        "mkdir",
        "more",
        "mv",
        "pushd",
        "rm",
        "rmdir",
        "shred",
        "sort",
        "stat",
        "tac",
        "tail",
        "tee",
        "touch",
        "truncate",
        "unlink",
        "wc",
        "bzip2",
        "bunzip2",
        "gunzip",
        "gzip",
        "unxz",
        "unzip",
        "xz",
        "zip",
        "source",
        ".",
    ]
)
#: Commands whose first operand is text, unless an option gives it.
_OF_TEXT = frozenset(["awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "rg", "sed", "tr", "yq"])
_TEXT_OPTION = re.compile(r"-[A-Za-z]*[ef].*|--(?:expression|file|from-file|regexp)(?:=.*)?", re.DOTALL)
#: What a name of a file looks like elsewhere: it holds a slash, or has an extension.
_PATH = re.compile(r".*/.*|~.*|\.\.?|[^\s=,:;()]*\.[A-Za-z][A-Za-z0-9]{0,7}", re.DOTALL)


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
    #: Arguments of commands that are files, or look like one: they hold a slash or have an extension.
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
        if not isinstance(node, Coprocess):
            for word in node.words or ():
                text = word.constant()
                if text is not None and _PATH.fullmatch(text):
                    _add(result.paths, text)
    elif isinstance(node, Arithmetic | ArithmeticCommand):
        _arithmetic(node.expression, result)
    elif isinstance(node, ArithmeticFor):
        for word in (node.start, node.condition, node.step):
            _arithmetic(word, result)
    for each in dataclasses.fields(node):
        _visit(getattr(node, each.name), result)


def _simple(node: Simple, result: Analysis) -> None:
    if node.words:
        _command([word.constant() if isinstance(word, Word) else "" for word in node.words], result)


def _command(words: list[str | None], result: Analysis) -> None:
    """A command and its arguments, None where only running the script can tell what it is."""
    name, *arguments = words
    if name is None:
        result.dynamic = True
        return
    _add(result.commands, name)
    if name in _RUNNING:
        result.dynamic = True
    inner = _wrapped(name, arguments)
    own = arguments if inner is None else arguments[:inner]
    is_text = name in _OF_TEXT and not any(text and _TEXT_OPTION.fullmatch(text) for text in own)
    for text in own:
        if is_text and (text is None or text[:1] != "-"):
            is_text = False
            continue
        if text is None:
            continue
        if name in _SETTING and _IDENTIFIER.fullmatch(text):
            _add(result.assigned, text)
        elif text and not text.startswith("-") and (name in _OF_FILES or _PATH.fullmatch(text)):
            _add(result.paths, text)
    if inner is not None and inner < len(arguments):
        rest = arguments[inner:]
        if name == "find":
            end = next((place for place, text in enumerate(rest) if text in (";", "+")), len(rest))
            rest = [text for text in rest[:end] if text != "{}"]
        if rest:
            _command(rest, result)


def _wrapped(name: str, arguments: list[str | None]) -> int | None:
    """Where the command begins that a command runs; None when it runs none."""
    if name == "find":
        return next((place + 1 for place, text in enumerate(arguments) if text in _EXECUTING), None)
    if name not in _WRAPPING:
        return None
    valued, before = _WRAPPING[name]
    place = 0
    while place < len(arguments):
        text = arguments[place]
        if text == "--":
            place += 1
            break
        if text is not None and len(text) > 1 and text[0] == "-":
            taking = next((at for at, letter in enumerate(text) if letter in valued), 0)
            # A value that is not in this word is the next one.
            place += 2 if text[1] != "-" and taking and taking == len(text) - 1 else 1
        elif name == "env" and text is not None and "=" in text:
            place += 1
        else:
            break
    return place + before


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
