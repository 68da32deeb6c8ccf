"""awk's special variables, and the arrays in which programs find variables and functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.text.awk.syntax import fatal
from planaria_shell.commands.text.awk.values import Array

#: Special variables that programs read as attributes of the runtime.
SPECIAL = frozenset((
    "NR", "FNR", "NF", "FS", "OFS", "ORS", "RS", "RT", "SUBSEP", "CONVFMT", "OFMT", "RSTART", "RLENGTH",
    "FILENAME", "IGNORECASE", "FIELDWIDTHS", "FPAT", "ERRNO", "ARGIND",
))  # fmt: skip
SPECIAL_NUMBERS = frozenset(["NR", "FNR", "NF", "RSTART", "RLENGTH", "ARGIND"])
SPECIAL_TEXTS = frozenset(
    ["FS", "OFS", "ORS", "RS", "RT", "SUBSEP", "CONVFMT", "OFMT", "FIELDWIDTHS", "FPAT", "ERRNO"]
)


class SymbolTable(Array):
    """SYMTAB: the global variables by name, to read and to assign."""

    __slots__ = ("_assign", "_assign_special", "_lookup", "_lookup_special", "_names")

    def __init__(
        self, lookup_special: Callable[[str], Any], assign_special: Callable[[str, Any], None]
    ) -> None:
        super().__init__()
        self._lookup_special = lookup_special
        self._assign_special = assign_special
        self._names: list[str] = []
        self._lookup: Callable[[str], Any] = lambda name: None
        self._assign: Callable[[str, Any], None] = lambda name, value: None

    def connect(
        self, names: list[str], lookup: Callable[[str], Any], assign: Callable[[str, Any], None]
    ) -> None:
        """Have the variables of a program, and how it reads and assigns them."""
        self._names, self._lookup, self._assign = names, lookup, assign

    def __contains__(self, key: object) -> bool:
        return key in SPECIAL or key in self._names or key == "ARGC"

    def __iter__(self) -> Iterator[str]:
        return iter([*self._names, *sorted(SPECIAL), "ARGC"])

    def __len__(self) -> int:
        return len(self._names) + len(SPECIAL) + 1

    def __getitem__(self, key: str) -> Any:
        if key in SPECIAL or key == "ARGC":
            return self._lookup_special(key)
        return self._lookup(key)

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self:
            raise fatal("cannot assign to arbitrary elements of SYMTAB")
        if key in SPECIAL or key == "ARGC":
            self._assign_special(key, value)
        else:
            self._assign(key, value)


class FunctionTable(Array):
    """FUNCTAB: the names of all functions."""

    __slots__ = ()

    def fill(self, names: dict[str, str]) -> None:
        """Have these functions."""
        self.update(names)

    def __setitem__(self, key: str, value: Any) -> None:
        raise fatal("cannot assign to elements of FUNCTAB")
