"""Builtins of jq that work on the program's runtime, on streams of events and on texts with replacements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import dates
from planaria_shell.commands.data.jq.code import Code, Environment, Many, Scope, nested
from planaria_shell.commands.data.jq.compiler import Compiler
from planaria_shell.commands.data.jq.definitions import definitions
from planaria_shell.commands.data.jq.paths import Editor
from planaria_shell.commands.data.jq.runtime import Runtime
from planaria_shell.commands.data.jq.specials import SPECIALS, Special, special
from planaria_shell.commands.data.jq.syntax import Node
from planaria_shell.commands.data.jq.tables import NATIVES
from planaria_shell.commands.data.jq.texts import substitute

__all__ = ["SPECIALS"]


@special("fromstream", 1)
def _fromstream(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    events = compiler.compile(arguments[0], scope).many

    def values(value: Any, environment: Environment) -> Iterator[Any]:
        editor = Editor()
        whole: Any = None
        for event in events(value, environment):
            path = event[0]
            if len(event) == 2:
                if not path:
                    yield event[1]
                    continue
                whole = editor.set(whole, tuple(path), event[1])
            if len(event) == 1 and len(path) == 1:
                yield whole
                editor, whole = Editor(), None

    return Code(many=values)


def _substitution(everywhere: bool) -> Special:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        patterns = compiler.compile(arguments[0], scope).many
        replacements = compiler.compile(arguments[1], scope).many
        flags: Many = lambda value, environment: (None,)  # noqa: E731
        if len(arguments) == 3:
            flags = compiler.compile(arguments[2], scope).many

        def values(value: Any, environment: Environment) -> Iterator[Any]:
            for pattern, flag in nested([patterns, flags], value, environment):
                yield from substitute(
                    value, pattern, flag, everywhere, lambda capture: replacements(capture, environment)
                )

        return Code(many=values)

    return compile_call


def _builtins() -> list[str]:
    names = {*NATIVES, *SPECIALS, *definitions()}
    return [f"{name}/{count}" for name, count in sorted(names) if not name.startswith("_")]


def _runtime(name: str, function: Callable[[Runtime, Any], Any]) -> None:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        runtime = compiler.runtime
        return Code(single=lambda value, environment: function(runtime, value))

    SPECIALS[name, 0] = compile_call


@special("inputs", 0)
def _inputs(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
    runtime = compiler.runtime
    return Code(many=lambda value, environment: runtime.inputs())


def _with_argument(name: str, function: Callable[[Runtime, Any, Any], Any]) -> None:
    def compile_call(compiler: Compiler, arguments: list[Node], scope: Scope) -> Code:
        runtime = compiler.runtime
        codes = compiler.compile(arguments[0], scope).many
        return Code(
            many=lambda value, environment: (
                function(runtime, value, argument) for argument in codes(value, environment)
            )
        )

    SPECIALS[name, 1] = compile_call


SPECIALS["sub", 2] = SPECIALS["sub", 3] = _substitution(False)
SPECIALS["gsub", 2] = SPECIALS["gsub", 3] = _substitution(True)

_runtime("input", lambda runtime, value: runtime.next_input())
_runtime("debug", lambda runtime, value: runtime.debug(value))
_runtime("stderr", lambda runtime, value: runtime.to_stderr(value))
_runtime("input_filename", lambda runtime, value: runtime.filename)
_runtime("input_line_number", lambda runtime, value: runtime.line_number)
_runtime("halt", lambda runtime, value: runtime.halt(None, 0))
_runtime("gmtime", lambda runtime, value: dates.break_down(value, "gmtime", dates.UTC))
_runtime(
    "localtime", lambda runtime, value: dates.break_down(value, "localtime", dates.zone(runtime.environment))
)
_runtime("builtins", lambda runtime, value: _builtins())
_runtime("modulemeta", lambda runtime, value: runtime.module_metadata(value))

_with_argument("halt_error", lambda runtime, value, status: runtime.halt(value, status))
_with_argument(
    "strftime", lambda runtime, value, layout: dates.format_time(value, layout, "strftime/1", dates.UTC)
)
_with_argument(
    "strflocaltime",
    lambda runtime, value, layout: dates.format_time(
        value, layout, "strflocaltime/1", dates.zone(runtime.environment)
    ),
)
