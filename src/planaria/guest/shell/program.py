"""Scripts, parsed and compiled line by line as they run, and kept by their text."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from .compiler import Code, Compiler, StreamCode
from .parser import Parser, ShellSyntaxError
from .syntax import Sequence

if TYPE_CHECKING:
    from .shell import Shell

__all__ = ["Program", "Unit"]

_MOST = 512
_cache: dict[tuple[str, int, bool], Program] = {}


class Unit:
    """The commands of one line, with all that belongs to them."""

    __slots__ = ("_compiler", "_run", "_stream", "extglob", "node", "text")

    def __init__(self, node: Sequence, compiler: Compiler, extglob: bool, text: str) -> None:
        self.node = node
        self.text = text
        self.extglob = extglob
        self._compiler = compiler
        self._run: Code | None = None
        self._stream: StreamCode | None = None

    def run(self, shell: Shell) -> int:
        if self._run is None:
            self._run = self._compiler.run(self.node)
        return self._run(shell)

    def stream(self, shell: Shell) -> Generator[None, None, int]:
        if self._stream is None:
            self._stream = self._compiler.stream(self.node)
        return self._stream(shell)


class Program:
    """A script's text; `units` gives its lines, parsed as late as bash parses them."""

    def __init__(self, text: str, line: int, *, extglob: bool) -> None:
        self.text = text
        self.line = line
        self._units: list[Unit] = []
        self._parser = Parser(text, line=line, extglob=extglob)
        self.compiler = Compiler()
        self._ended = False
        self._error: ShellSyntaxError | None = None

    @classmethod
    def of(cls, text: str, shell: Shell, line: int = 1) -> Program:
        """The program of this text, from the cache when it was run before."""
        extglob = "extglob" in shell.shopts
        if "expand_aliases" in shell.shopts or len(text) > 1_000_000:
            return cls(text, line, extglob=extglob)
        key = (text, line, extglob)
        program = _cache.pop(key, None)
        if program is None:
            program = cls(text, line, extglob=extglob)
            if len(_cache) >= _MOST:
                del _cache[next(iter(_cache))]
        _cache[key] = program
        return program

    def units(self, shell: Shell) -> Iterator[Unit]:
        """The lines in order; raises `ShellSyntaxError` at the line that is not well formed."""
        place = 0
        program = self
        while True:
            extglob = "extglob" in shell.shopts
            if place < len(program._units):
                unit = program._units[place]
                if unit.extglob != extglob and program is self:
                    # An option that changes parsing is set otherwise than when this line was parsed.
                    program = Program(self.text, self.line, extglob=extglob)
                    for _ in range(place):
                        program._next(shell)
                    continue
            else:
                found = program._next(shell)
                if found is None:
                    return
                unit = found
            place += 1
            yield unit

    def _next(self, shell: Shell) -> Unit | None:
        if self._error is not None:
            raise self._error
        if self._ended:
            return None
        parser = self._parser
        parser.extglob = "extglob" in shell.shopts
        parser.aliases = shell.aliases if "expand_aliases" in shell.shopts else None
        start = parser.position
        try:
            node = parser.unit()
        except ShellSyntaxError as error:
            self._error = error
            raise
        if node is None:
            self._ended = True
            return None
        unit = Unit(node, self.compiler, parser.extglob, parser.source[start : parser.position])
        self._units.append(unit)
        return unit
