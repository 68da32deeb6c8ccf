"""Substitutions of commands and processes to closures; see `compiler` for the two flavours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planaria_shell.compile import pipeline
from planaria_shell.compile.loops import Code
from planaria_shell.compile.redirection import Saved, restore
from planaria_shell.compile.simple_commands import SimpleCompiler
from planaria_shell.run.variable import ShellError
from planaria_shell.syntax.nodes import ProcessSubstitution, Redirect, Simple, Substitution

if TYPE_CHECKING:
    from planaria_shell.run.shell import Shell

__all__ = ["SubstitutionCompiler"]


class SubstitutionCompiler(SimpleCompiler):
    """The part of the compiler that knows substitutions."""

    def substitution(self, part: Substitution) -> Callable[[Shell], str]:
        """The function that runs `$(…)` and returns what it wrote."""
        body = part.body
        if not body.items:

            def nothing(sh: Shell) -> str:
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
            return self._file_contents(single.redirects[0])
        code: Code | None = None
        pure = single is not None and pipeline.is_pure(single)
        name = single.words[0].literal() if pure and isinstance(single, Simple) else None  # type: ignore[union-attr]

        def substitute(sh: Shell) -> str:
            nonlocal code
            if code is None:
                code = self.run(body)
            if pure and name is not None and sh.leaves_state_alone(name):
                return _decoded(sh, sh.capture_here(code))
            return _decoded(sh, sh.capture(code))

        return substitute

    def _file_contents(self, redirect: Redirect) -> Callable[[Shell], str]:
        apply = self.redirects([redirect])

        def read(sh: Shell) -> str:
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

    def process_substitution(self, part: ProcessSubstitution) -> Callable[[Shell], str]:
        """The function that starts `<(…)` or `>(…)` and returns the name by which it is opened."""
        stream = self.stream(part.body)
        direction = part.direction
        return lambda sh: sh.process_substitution(direction, stream)


def _decoded(sh: Shell, data: bytes) -> str:
    """Captured output as text: without NULs, and without newlines at the end."""
    text = data.decode("utf-8", "surrogateescape")
    if "\0" in text:
        sh.complain("warning: command substitution: ignored null byte in input")
        text = text.replace("\0", "")
    return text.rstrip("\n")
