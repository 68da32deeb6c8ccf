"""`local` that only makes plain variables, without a builtin that takes its words apart again."""

from __future__ import annotations

from collections.abc import Callable

from planaria_shell.compile.compiler import Compiler
from planaria_shell.expand.braces import has_braces
from planaria_shell.state.interpreter import Code, Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, Variable, is_name
from planaria_shell.state.variables import Variables
from planaria_shell.syntax.nodes import Assignment, Simple

__all__ = ["local_values", "run_local"]


def local_values(
    compiler: Compiler, node: Simple
) -> list[tuple[str, Callable[[Interpreter], str] | None]] | None:
    """Names and values of a `local` that only makes plain variables; None when it does more."""
    values: list[tuple[str, Callable[[Interpreter], str] | None]] = []
    for word in node.words[1:]:
        if isinstance(word, Assignment):
            if word.elements is not None or word.subscript is not None or word.append:
                return None
            if word.value is not None and has_braces(word.value):
                return None
            name, value = word.name, compiler.words.text(word.value, assignment=True)
        else:
            text = word.literal()
            if text is None or not is_name(text):
                return None
            name, value = text, None
        if name in Variables.setters or name in Variables.getters or name in Variables.array_getters:
            return None
        values.append((name, value))
    return values or None


def run_local(
    compiler: Compiler,
    node: Simple,
    values: list[tuple[str, Callable[[Interpreter], str] | None]],
    general: Code,
) -> Code:
    """`local` without options: no builtin is called and no text is taken apart again."""
    names = [name for name, _ in values]
    codes = [code for _, code in values]

    def run(sh: Interpreter) -> int:
        variables = sh.variables
        scopes = variables.scopes
        if (
            sh.tracing
            or not sh.function_depth
            or "local" in sh.functions
            or scopes[-1].temporary
            or "localvar_inherit" in sh.shopts
        ):
            return general(sh)
        table = sh.table
        for name in names:
            old = table.get(name)
            if (old is not None and old.flags & ~(INDEXED | ASSOCIATIVE)) or (
                len(scopes) > 1 and scopes[-2].temporary
            ):
                return general(sh)
        sh.line = node.line
        sh.node = node
        sh.counters.count_command()
        sh.pipe_statuses = None
        texts = [code(sh) if code is not None else None for code in codes]
        saved = scopes[-1].saved
        for name, text in zip(names, texts, strict=True):
            old = table.get(name)
            if name not in saved:
                if text is not None:
                    variables.grow(text)
                saved[name] = old
                table[name] = Variable(text, variables.new_flags)
            elif text is not None:
                variables.set(name, text)
        sh.last_argument = names[-1] if texts[-1] is None else f"{names[-1]}={texts[-1]}"
        return 0

    return run
