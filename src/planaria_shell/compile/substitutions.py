"""Substitutions of commands and processes to closures; see `compiler` for the two flavours."""

from __future__ import annotations

import re
from collections.abc import Callable

from planaria_shell.compile.compiler import Compiler
from planaria_shell.compile.purity import is_pure
from planaria_shell.compile.redirection import Saved, compile_redirects, restore
from planaria_shell.errors import ShellError
from planaria_shell.state.interpreter import Code, Interpreter
from planaria_shell.syntax.nodes import ProcessSubstitution, Redirect, Sequence, Simple, Substitution
from planaria_shell.syntax.parser import parser_of

__all__ = ["process_substitution", "substitution"]

_WORD = re.compile(r"[^\s;&|()<>]+")


def substitution(compiler: Compiler, part: Substitution) -> Callable[[Interpreter], str]:
    """The function that runs `$(…)` and returns what it wrote."""
    if part.malformed:
        return _as_far_as_well_formed(part)
    plain = _as_read(compiler, part)
    if not part.source:
        return plain

    def substitute(sh: Interpreter) -> str:
        if _names_alias(sh, part.source):
            return _decoded(sh, sh.capture(compiler.run(_with_aliases(sh, part))))
        return plain(sh)

    return substitute


def _as_far_as_well_formed(part: Substitution) -> Callable[[Interpreter], str]:
    def run(sh: Interpreter) -> int:
        return sh.run_text(part.source, line=part.line, where="command substitution: ")

    return lambda sh: _decoded(sh, sh.capture(run))


def _names_alias(sh: Interpreter, source: str) -> bool:
    """Whether a program may use an alias that there is now."""
    if not sh.aliases or "expand_aliases" not in sh.shopts:
        return False
    return not sh.aliases.keys().isdisjoint(_WORD.findall(source))


def _with_aliases(sh: Interpreter, part: Substitution | ProcessSubstitution) -> Sequence:
    parser = parser_of(part.source, line=part.line, extglob="extglob" in sh.shopts)
    parser.lexer.aliases = sh.aliases
    return parser.program()


def _as_read(compiler: Compiler, part: Substitution) -> Callable[[Interpreter], str]:
    body = part.body
    if not body.items:

        def nothing(sh: Interpreter) -> str:
            sh.status = sh.substitution_status = 0
            return ""

        return nothing
    single = body.items[0][0] if len(body.items) == 1 and not body.items[0][1] else None
    if (
        isinstance(single, Simple)
        and not single.words
        and not single.assignments
        and len(single.redirects) == 1
        and single.redirects[0].operator == "<"
    ):
        return _file_contents(compiler, single.redirects[0])
    code: Code | None = None
    pure = single is not None and is_pure(single)
    name = single.words[0].literal() if pure and isinstance(single, Simple) else None  # type: ignore[union-attr]

    def substitute(sh: Interpreter) -> str:
        nonlocal code
        if code is None:
            code = compiler.run(body)
        if pure and name is not None and sh.leaves_state_alone(name):
            return _decoded(sh, sh.capture_here(code))
        return _decoded(sh, sh.capture(code))

    return substitute


def _file_contents(compiler: Compiler, redirect: Redirect) -> Callable[[Interpreter], str]:
    apply = compile_redirects([redirect], compiler.words)

    def read(sh: Interpreter) -> str:
        saved: Saved = []
        try:
            try:
                apply(sh, saved)
            except ShellError as error:
                sh.report(error)
                sh.status = sh.substitution_status = 1
                return ""
            sh.status = sh.substitution_status = 0
            return _decoded(sh, sh.fds[redirect.fd or 0].read())
        finally:
            restore(sh, saved)

    return read


def process_substitution(compiler: Compiler, part: ProcessSubstitution) -> Callable[[Interpreter], str]:
    """The function that starts `<(…)` or `>(…)` and returns the name by which it is opened."""
    stream = compiler.stream(part.body)
    direction = part.direction

    def substitute(sh: Interpreter) -> str:
        if part.source and _names_alias(sh, part.source):
            return sh.process_substitution(direction, compiler.stream(_with_aliases(sh, part)))
        return sh.process_substitution(direction, stream)

    return substitute


def _decoded(sh: Interpreter, data: bytes) -> str:
    """Captured output as text: without NULs, and without newlines at the end."""
    text = data.decode("utf-8", "surrogateescape")
    if "\0" in text:
        sh.complain("warning: command substitution: ignored null byte in input")
        text = text.replace("\0", "")
    return text.rstrip("\n")
