"""Functions of the shell: a body compiled when it is first called."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, ClassVar

from planaria_shell.syntax.nodes import Function

if TYPE_CHECKING:
    from planaria_shell.compile.compiler import Compiler
    from planaria_shell.run.shell import Shell
    from planaria_shell.translation.region import FunctionRegion

__all__ = ["Frame", "FunctionBody"]


class FunctionBody:
    """A function's definition."""

    #: Calls before a function is translated: what that costs has to come back.
    calls: ClassVar[int] = 150

    __slots__ = (
        "_compiler",
        "_run",
        "_stream",
        "exported",
        "left",
        "name",
        "node",
        "region",
        "source",
        "traced",
    )

    def __init__(self, node: Function, compiler: Compiler) -> None:
        self.name = node.name
        self.node = node
        self._compiler = compiler
        self._run: Callable[[Shell], int] | None = None
        self._stream: Callable[[Shell], Generator[None, None, int]] | None = None
        #: The file it was read from (BASH_SOURCE).
        self.source = ""
        self.exported = False
        self.traced = False
        #: Its translation, which is tried once it has been called so often.
        self.region: FunctionRegion | None = None
        self.left = self.calls

    def with_source(self, source: str) -> FunctionBody:
        """The same function as read from `source`; the compiled body is shared."""
        if self.source == source or not self.source:
            self.source = source
            return self
        twin = FunctionBody(self.node, self._compiler)
        twin.source = source
        return twin

    def text(self) -> str:
        """What follows the name in the environment of commands."""
        from planaria_shell.syntax.printing import function_source

        body = function_source("", self.node).partition("\n")[2]
        return "() " + body.replace("{ \n    ", "{  ", 1).replace("\n    ", "\n ")

    @property
    def run(self) -> Callable[[Shell], int]:
        if self._run is None:
            self._run = self._compiler.run(self.node.body)
        return self._run

    @property
    def stream(self) -> Callable[[Shell], Generator[None, None, int]]:
        if self._stream is None:
            self._stream = self._compiler.stream(self.node.body)
        return self._stream


class Frame:
    """One call in progress: of a function, or of a sourced script."""

    __slots__ = ("arguments", "line", "name", "source")

    def __init__(self, name: str, source: str, line: int, arguments: list[str]) -> None:
        self.name = name
        #: Where the function was defined.
        self.source = source
        #: The line it was called from.
        self.line = line
        self.arguments = arguments
