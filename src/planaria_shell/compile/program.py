"""Scripts, parsed and compiled line by line as they run, and kept by their text."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import ClassVar

from planaria_shell.compile.compiler import Compiler
from planaria_shell.compile.table import new_compiler
from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.interpreter import Code, Interpreter, StreamCode
from planaria_shell.syntax.history_expansion import HistoryError, expand_line
from planaria_shell.syntax.nodes import Sequence, Simple, last_command
from planaria_shell.syntax.parser import parser_of

__all__ = ["Program", "TypedProgram", "Unit", "forget_programs"]

#: How many programs are kept, how long their texts may be, and how long all together, beside the last one's:
#: a program takes many times the memory of its text.
_MOST = 512
_MOST_TEXT = 1_000_000
_MOST_TEXTS = 200_000
#: The line that is read next, behind empty ones and comments.
_NEXT_LINE = re.compile(r"(?:[ \t]*(?:#.*)?\n)*(.*)")
#: What changes how a text is parsed: `shopt -s extglob` and `set -o posix`.
Grammar = tuple[bool, bool]


def forget_programs() -> None:
    """Keep no text's program any longer."""
    _kept.clear()


def _grammar(shell: Interpreter) -> Grammar:
    return "extglob" in shell.shopts, shell.posix


class Unit:
    """The commands of one line, with all that belongs to them; or several definitions of functions.

    `ends` are where the texts of these end.
    """

    __slots__ = ("_compiler", "_ends", "_run", "_stream", "grammar", "is_last", "node", "text")

    def __init__(
        self,
        node: Sequence,
        compiler: Compiler,
        grammar: Grammar,
        text: str,
        ends: list[int],
        *,
        is_last: bool,
    ) -> None:
        self.node = node
        self.is_last = is_last
        self.text = text
        self._ends = ends
        self.grammar = grammar
        self._compiler = compiler
        self._run: Code | None = None
        self._stream: StreamCode | None = None

    @property
    def last_command(self) -> Simple | None:
        """The simple command without redirections that the text ends with, if nothing follows this line."""
        return last_command(self.node) if self.is_last else None

    def texts(self) -> list[str]:
        """What the history remembers, entry by entry."""
        if len(self._ends) < 2:
            return [self.text]
        return [self.text[start:end] for start, end in pairwise([0, *self._ends[:-1], len(self.text)])]

    def run(self, shell: Interpreter) -> int:
        if self._run is None:
            self._run = self._compiler.run(self.node)
        return self._run(shell)

    def stream(self, shell: Interpreter) -> Generator[None, None, int]:
        if self._stream is None:
            self._stream = self._compiler.stream(self.node)
        return self._stream(shell)


class Program:
    """A script's text; `units` gives its lines, parsed as late as bash parses them."""

    def __init__(self, text: str, line: int, grammar: Grammar = (False, False)) -> None:
        self.text = text
        self.line = line
        self._units: list[Unit | ShellSyntaxError] = []
        self._parser = parser_of(text, line=line)
        self._parser.lexer.extglob, self._parser.lexer.posix = grammar
        self.compiler = new_compiler()
        self._ended = False

    #: Whether lines are read one at a time, whatever is on them.
    _by_line: ClassVar[bool] = False

    @classmethod
    def of(cls, text: str, shell: Interpreter, line: int = 1) -> Program:
        """The program of this text, from the cache when it was run before."""
        grammar = _grammar(shell)
        if "expand_aliases" in shell.shopts or len(text) > _MOST_TEXT:
            return cls(text, line, grammar)
        key = (text, line, grammar)
        program = _kept.get(key)
        if program is None:
            program = cls(text, line, grammar)
            _kept.put(key, program)
        return program

    def units(self, shell: Interpreter) -> Iterator[Unit]:
        """The lines in order; raises `ShellSyntaxError` at the line that is not well formed.

        After an error that only gives up its line, the iterator goes on with the next one.
        """
        return _Units(self, shell)

    def unit(self, place: int, shell: Interpreter) -> Unit | None:
        """The line at `place`, parsed if it was not yet; None behind the last one."""
        if place < len(self._units):
            found = self._units[place]
        else:
            following = self._next(shell)
            if following is None:
                return None
            found = following
        if isinstance(found, ShellSyntaxError):
            raise found
        return found

    def typed_from(self, place: int, shell: Interpreter) -> TypedProgram:
        """The lines from `place` on as ones that are typed: the history is put into them from here."""
        fresh = Program(self.text, self.line, _grammar(shell))
        for number in range(place):
            fresh.unit(number, shell)
        lexer = fresh._parser.lexer
        return TypedProgram(lexer.source[lexer.position :], lexer.line(), _grammar(shell))

    def _next(self, shell: Interpreter) -> Unit | ShellSyntaxError | None:
        if self._ended:
            return None
        parser = self._parser
        lexer = parser.lexer
        lexer.extglob, lexer.posix = grammar = _grammar(shell)
        lexer.aliases = shell.aliases if "expand_aliases" in shell.shopts else None
        parser.by_line = self._by_line
        start = lexer.position
        try:
            node = parser.unit()
        except ShellSyntaxError as error:
            if error.discards_line and not error.incomplete:
                parser.next_line()
            else:
                self._ended = True
            self._units.append(error)
            return error
        finally:
            for line, message in lexer.warnings:
                shell.warn_of_source(line, message)
            lexer.warnings.clear()
        if node is None:
            self._ended = True
            return None
        text = lexer.source[start : lexer.position]
        is_last = lexer.position >= len(lexer.source)
        ends = [end - start for end in parser.ends]
        unit = Unit(node, self.compiler, grammar, text, ends, is_last=is_last)
        self._units.append(unit)
        return unit


class _Kept:
    """The programs that were used last, by text, line and grammar."""

    __slots__ = ("_programs", "_size")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._programs: dict[tuple[str, int, Grammar], Program] = {}
        self._size = 0

    def get(self, key: tuple[str, int, Grammar]) -> Program | None:
        program = self._programs.pop(key, None)
        if program is not None:
            self._programs[key] = program
        return program

    def put(self, key: tuple[str, int, Grammar], program: Program) -> None:
        programs = self._programs
        programs[key] = program
        self._size += len(key[0])
        while len(programs) > _MOST or (self._size > _MOST_TEXTS and len(programs) > 1):
            oldest = next(iter(programs))
            del programs[oldest]
            self._size -= len(oldest[0])


_kept = _Kept()


class TypedProgram(Program):
    """A script as it comes from a prompt: what the history gives is put into each line before it is read.

    Lines in the middle of a command (its second and later ones) are read as they are.
    """

    _by_line = True

    @classmethod
    def of(cls, text: str, shell: Interpreter, line: int = 1) -> Program:
        """A new program: what becomes of the same text depends on the history."""
        return cls(text, line, _grammar(shell))

    def _next(self, shell: Interpreter) -> Unit | ShellSyntaxError | None:
        while not self._ended and self._expand(shell):
            pass
        return super()._next(shell)

    def _expand(self, shell: Interpreter) -> bool:
        """Expand the next line; True when that leaves nothing of it to be read."""
        lexer = self._parser.lexer
        rest = lexer.source[lexer.position :]
        match = _NEXT_LINE.match(rest)
        assert match is not None
        begin, end = match.span(1)
        text = ""
        try:
            expanded = expand_line(match[1], shell.history, extglob=lexer.extglob)
            if expanded is None:
                return False
            shell.error_output(expanded.text + "\n")
            if expanded.only_shown:
                shell.remember(expanded.text)
            else:
                text = expanded.text
        except HistoryError as error:
            shell.line = lexer.line()
            shell.complain(str(error))
        self._parser = parser_of(rest[:begin] + text + rest[end:], line=lexer.line(), extglob=lexer.extglob)
        return not text


class _Units(Iterator[Unit]):
    """The lines of a program, one after the other."""

    def __init__(self, program: Program, shell: Interpreter) -> None:
        self._program = program
        self._own = program
        self._shell = shell
        self._place = 0

    def __next__(self) -> Unit:
        shell, place = self._shell, self._place
        grammar = _grammar(shell)
        if shell.histexpand and shell.history_enabled and not isinstance(self._program, TypedProgram):
            self._program = self._own = self._program.typed_from(place, shell)
            self._place = place = 0
        self._place += 1
        unit = self._program.unit(place, shell)
        if unit is not None and unit.grammar != grammar and self._program is self._own:
            # An option that changes parsing is set otherwise than when this line was parsed.
            self._program = Program(self._own.text, self._own.line, grammar)
            unit = None
            for number in range(place + 1):
                try:
                    unit = self._program.unit(number, shell)
                except ShellSyntaxError:
                    if number == place:
                        raise
        if unit is None:
            raise StopIteration
        return unit
