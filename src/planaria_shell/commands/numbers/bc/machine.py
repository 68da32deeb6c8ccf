"""The state of a running bc: variables, arrays, functions, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planaria_shell.commands.numbers.bc.numbers import ZERO, Number, show

Expression = Callable[[], Number]
Statement = Callable[[], Iterator[None]]


class BcRuntimeError(Exception):
    """An error while running; the statement ends, the program goes on."""


class Stop(Exception):
    """`quit`, `halt`"""


class Return(Exception):
    def __init__(self, value: Number) -> None:
        super().__init__(value)
        self.value = value


class BreakLoop(Exception):
    """`break`"""


class ContinueLoop(Exception):
    """`continue`"""


@dataclass(slots=True)
class Function:
    """A function; names of arrays end with `[]`, by reference with a leading `*`."""

    parameters: list[str]
    automatic: list[str] = field(default_factory=list)
    body: Statement | None = None
    void: bool = False


class Machine:
    """Registers and output of one bc."""

    def __init__(self, write: Callable[[str], None], width: int) -> None:
        self.write = write
        self.width = width
        self.column = 0
        self.variables: dict[str, Number] = {}
        self.arrays: dict[str, dict[int, Number]] = {}
        self.functions: dict[str, Function] = {}
        self.scale = 0
        self.ibase = 10
        self.obase = 10
        self.last: Number = ZERO
        self.read_line: Callable[[], str] = lambda: ""
        #: Told of what is put right: a scale or a base that there is not.
        self.warn: Callable[[str], None] = lambda message: None

    def out(self, text: str) -> None:
        """Write a text; lines of numbers are broken by `out_number`."""
        self.write(text)
        newline = text.rfind("\n")
        self.column = len(text) - newline - 1 if newline >= 0 else self.column + len(text)

    def out_number(self, number: Number) -> None:
        """Write a number, broken with a backslash before the line's last column."""
        text = show(number, self.obase)
        if not self.width:
            self.out(text)
            return
        room = self.width - 2
        pieces = []
        while self.column + len(text) > room:
            size = max(room - self.column, 0)
            if self.obase > 16:  # digits are whole words there
                cut = text.rfind(" ", 1, size + 1)
                size = cut if cut > 0 else size
            pieces.append(text[:size] + "\\\n")
            text = text[size:]
            self.column = 0
            if size == 0 and room <= 0:
                break
        self.write("".join(pieces))
        self.out(text)

    def array(self, name: str) -> dict[int, Number]:
        found = self.arrays.get(name)
        if found is None:
            found = self.arrays[name] = {}
        return found
