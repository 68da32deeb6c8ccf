"""What a translation knows about the names in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, INDEXED, SLOW_WRITE
from planaria_shell.state.variables import Variables
from planaria_shell.translation.support import ASSIGNED_FIRST, canonical, held, is_plain

__all__ = ["INTEGER", "NOTHING", "TEXT", "Kinds", "Names", "UntranslatableError"]

#: What a variable can hold while a region runs: letters of these.
Kinds = frozenset[str]
INTEGER: Kinds = frozenset("i")
TEXT: Kinds = frozenset("s")
NOTHING: Kinds = frozenset("n")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class UntranslatableError(Exception):
    """The command does something that only the closures can do."""


class Names:
    """The variables, arrays, functions and constants of one region.

    A scalar lives in a Python variable `v_NAME`, as an int when its text is that of a number, else as a str,
    and as None while it is unset; `scalars` says which of these it can be anywhere in the region. An array
    is the shell's own `Variable`, in `a_NAME`.
    """

    def __init__(self, shell: Interpreter) -> None:
        self.shell = shell
        self.extglob = "extglob" in shell.shopts
        self.ampersands = "patsub_replacement" in shell.shopts
        self.watching = shell.watching
        self.scalars: dict[str, Kinds] = {}
        self.arrays: dict[str, int] = {}
        #: The functions it calls, and the builtins it stands for: none may be redefined.
        self.functions: dict[str, FunctionBody] = {}
        self.builtins: set[str] = set()
        #: Python objects that the source refers to.
        self.constants: dict[str, object] = {}
        #: Variables that are assigned before anything else happens to them.
        self.loop_variables: set[str] = set()
        #: Whether it reads from standard input, and whether it leaves the function around it.
        self.reads = False
        self.returns = False

    def scalar(self, name: str) -> Kinds:
        """What the scalar can hold."""
        kinds = self.scalars.get(name)
        if kinds is None:
            self._check(name)
            if name in self.arrays:
                raise UntranslatableError(name)
            kinds = self.scalars[name] = self._held(name)
        return kinds

    def _check(self, name: str) -> None:
        if (
            not _NAME.match(name)
            or name in Variables.getters
            or name in Variables.setters
            or name in Variables.array_getters
        ):
            raise UntranslatableError(name)

    def _held(self, name: str) -> Kinds:
        if name in self.loop_variables:
            return frozenset()
        variable = self.shell.table.get(name)
        if not is_plain(variable):
            raise UntranslatableError(name)
        text = held(variable)
        if text is None:
            return NOTHING
        return INTEGER if canonical(text) is not None else TEXT

    def widen(self) -> None:
        """Let the variables also hold what they hold now."""
        for name, kinds in self.scalars.items():
            self.scalars[name] = kinds | self._held(name)

    def assigned(self, name: str, kinds: Iterable[str]) -> None:
        """The scalar is given something of these kinds."""
        self.scalars[name] = self.scalar(name) | frozenset(kinds)

    def array(self, name: str) -> bool:
        """Whether the array is associative."""
        flag = self.arrays.get(name)
        if flag is None:
            self._check(name)
            variable = self.shell.table.get(name)
            if variable is None or name in self.scalars:
                raise UntranslatableError(name)
            flag = variable.flags & SLOW_WRITE
            if flag not in (INDEXED, ASSOCIATIVE):
                raise UntranslatableError(name)
            self.arrays[name] = flag
        return flag == ASSOCIATIVE

    def constant(self, value: object) -> str:
        """A name for a Python object in the source."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def plan(self) -> list[tuple[str, str, int]]:
        """How to load the variables: name, kinds, and the flag of an array (0: a scalar)."""
        scalars = [
            ((name, (ASSIGNED_FIRST if name in self.loop_variables else "") + "".join(sorted(kinds)), 0))
            for name, kinds in sorted(self.scalars.items())
        ]
        return scalars + [(name, "", flag) for name, flag in sorted(self.arrays.items())]
