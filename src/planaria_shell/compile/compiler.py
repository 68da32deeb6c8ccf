"""Commands to closures, in two flavours.

`Compiler.run(node)` gives a function that runs the command to its end and returns its status. `stream(node)`
gives a generator function that does the same but yields whenever its standard output is full: it is what
stands on the left of a pipe, and what runs in the background. Both are made once for a node and kept with it.

`tested` means that the command's status is tested (in a condition, left of `&&`), so that it triggers
neither `set -e` nor the ERR trap.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from planaria_shell.compile.assignment import AssignmentCompiler
from planaria_shell.compile.redirection import compile_redirects, redirected, redirected_stream
from planaria_shell.expand.words import WordCompiler
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.state.streams import CLOSED
from planaria_shell.syntax.nodes import (
    Command,
    Function,
    ProcessSubstitution,
    Sequence,
    Simple,
    Substitution,
)
from planaria_shell.syntax.word_contents import has_process

__all__ = ["Compiler", "Table"]


@dataclass(frozen=True)
class Table:
    """What compiles each type of node."""

    run: Mapping[type, Callable[[Compiler, Any, bool], Code]]
    #: Types that are not here run to their end before they yield.
    stream: Mapping[type, Callable[[Compiler, Any, bool], StreamCode]]
    substitution: Callable[[Compiler, Substitution], Callable[[Interpreter], str]]
    process_substitution: Callable[[Compiler, ProcessSubstitution], Callable[[Interpreter], str]]


class Compiler:
    """Compiles commands by a table; one for a whole program, it holds no state of any shell."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.words = WordCompiler(
            lambda part: table.substitution(self, part), lambda part: table.process_substitution(self, part)
        )
        self.assignments = AssignmentCompiler(self.words)

    def run(self, node: Command, tested: bool = False) -> Code:
        """The function that runs `node`."""
        kind = type(node)
        code = self._table.run[kind](self, node, tested)
        if kind is Simple or kind is Sequence or kind is Function:
            return code
        redirects = getattr(node, "redirects", None)
        if redirects:
            code = redirected(code, compile_redirects(redirects, self.words), has_process(redirects))
        return code

    def later(self, node: Command, tested: bool = False) -> Code:
        """The same for a command that may never run: it is compiled when it first does."""
        compiled: Code | None = None

        def run(sh: Interpreter) -> int:
            nonlocal compiled
            if compiled is None:
                compiled = self.run(node, tested)
            return compiled(sh)

        return run

    def stream(self, node: Command, tested: bool = False) -> StreamCode:
        """The generator function that runs `node`, compiled when it is first called."""
        compiled: StreamCode | None = None

        def stream(sh: Interpreter) -> Generator[None, None, int]:
            nonlocal compiled
            if compiled is None:
                compiled = self._compile_stream(node, tested)
            return compiled(sh)

        return stream

    def _compile_stream(self, node: Command, tested: bool) -> StreamCode:
        streamer = self._table.stream.get(type(node))
        if streamer is None:
            return ending(self.run(node, tested))
        code = streamer(self, node, tested)
        redirects = getattr(node, "redirects", None)
        if redirects and not isinstance(node, Simple):
            code = redirected_stream(code, compile_redirects(redirects, self.words))
        return code


def ending(code: Code) -> StreamCode:
    """A command that runs to its end, and yields only then."""

    def stream(sh: Interpreter) -> Generator[None, None, int]:
        status = code(sh)
        if sh.fds.get(1, CLOSED).full or sh.background:
            yield
        return status

    return stream
