"""What an awk program shows without being run: arrays, numeric variables, printing functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from planaria_shell.commands.text.awk.symbols import SPECIAL, SPECIAL_NUMBERS, SPECIAL_TEXTS
from planaria_shell.commands.text.awk.syntax import (
    Assign,
    Binary,
    Call,
    Conditional,
    Delete,
    Expression,
    Field,
    ForIn,
    Getline,
    Grouping,
    Increment,
    Index,
    IndirectCall,
    Match,
    Membership,
    Name,
    Number,
    Print,
    Program,
    Regex,
    String,
    Unary,
)

#: Arrays that are there from the start.
GIVEN_ARRAYS = frozenset(("ENVIRON", "ARGV", "PROCINFO", "SYMTAB", "FUNCTAB"))
#: Where built-in functions take arrays.
_ARRAY_ARGUMENTS = {"split": (1, 3), "match": (2,), "asort": (0, 1), "asorti": (0, 1), "patsplit": (1, 3)}
_TEXT_FUNCTIONS = frozenset(["substr", "sprintf", "tolower", "toupper", "gensub", "strftime", "typeof"])
#: A name in the function where it is a parameter, or in none.
Variable = tuple[str, str]


def walk(node: Any) -> Iterator[Any]:
    """The node and all nodes in it."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from walk(part)
    elif dataclasses.is_dataclass(node):
        yield node
        for item in dataclasses.fields(node):
            value = getattr(node, item.name)
            if not isinstance(value, str | float | bool):
                yield from walk(value)


class Analysis:
    """Facts about a program; `external` are names that the command line assigns."""

    def __init__(self, program: Program, external: frozenset[str]) -> None:
        self.program = program
        #: (the function's name or "", all nodes of it)
        self.scopes: list[tuple[str, list[Any]]] = [
            ("", list(walk(program.rules))),
            *((name, list(walk(function.body))) for name, function in program.functions.items()),
        ]
        self.names = {node.name for _, nodes in self.scopes for node in nodes if isinstance(node, Name)}
        self.calls_indirectly = any(
            isinstance(node, IndirectCall) for _, nodes in self.scopes for node in nodes
        )
        #: Variables may be read and assigned by their names.
        self.reads_symbols = "SYMTAB" in self.names
        self.ignores_case = "IGNORECASE" in self.names or "IGNORECASE" in external
        self.external = external
        self.arrays: set[Variable] = {("", name) for name in GIVEN_ARRAYS}
        self._find_arrays()
        self.globals = sorted(
            {
                variable[1]
                for scope, nodes in self.scopes
                for node in nodes
                if isinstance(node, Name) and not (variable := self.variable(scope, node.name))[0]
            }
            - SPECIAL
            - GIVEN_ARRAYS
            - {"ARGC"}
        )
        self.numeric: set[Variable] = set()
        #: Global arrays with no elements but numbers (or nothing yet).
        self.number_arrays: set[str] = set()
        self._find_numeric()
        self.assigned_special = {
            node.target.name
            for _, nodes in self.scopes
            for node in nodes
            if isinstance(node, Assign | Increment) and isinstance(node.target, Name)
        } | external
        if self.reads_symbols:
            self.assigned_special |= SPECIAL
        self.printing = self._printing_functions()
        self.changes_fields = any(self._changes_fields(node) for _, nodes in self.scopes for node in nodes)

    def variable(self, scope: str, name: str) -> Variable:
        """Which variable a name means in a scope."""
        if scope and name in self.program.functions[scope].parameters:
            return scope, name
        return "", name

    def _find_arrays(self) -> None:
        for scope, nodes in self.scopes:
            for node in nodes:
                arrays: list[Any] = []
                if isinstance(node, Index | Membership | ForIn | Delete):
                    arrays = [node.array]
                elif isinstance(node, Call) and node.builtin:
                    places = _ARRAY_ARGUMENTS.get(node.name, ())
                    arrays = [node.arguments[place] for place in places if place < len(node.arguments)]
                for array in arrays:
                    if isinstance(array, Name):
                        self.arrays.add(self.variable(scope, array.name))
        changed = True
        while changed:
            before = len(self.arrays)
            for scope, call, position, argument in self._passed_names():
                parameters = self.program.functions[call.name].parameters
                if position < len(parameters):
                    outer = self.variable(scope, argument.name)
                    inner = (call.name, parameters[position])
                    if inner in self.arrays:
                        self.arrays.add(outer)
                    elif outer in self.arrays:
                        self.arrays.add(inner)
            changed = len(self.arrays) != before

    def _wants_array(self, position: int) -> bool:
        parameters = [
            (name, function.parameters[position])
            for name, function in self.program.functions.items()
            if len(function.parameters) > position
        ]
        return bool(parameters) and all(parameter in self.arrays for parameter in parameters)

    def _passed_names(self) -> Iterator[tuple[str, Call, int, Name]]:
        for scope, nodes in self.scopes:
            for node in nodes:
                if isinstance(node, IndirectCall):
                    # Where all functions that take so many arguments want an array, this one gets one.
                    for position, argument in enumerate(node.arguments):
                        if isinstance(argument, Name) and self._wants_array(position):
                            self.arrays.add(self.variable(scope, argument.name))
                if isinstance(node, Call) and not node.builtin and node.name in self.program.functions:
                    for position, argument in enumerate(node.arguments):
                        if isinstance(argument, Name):
                            yield scope, node, position, argument

    def _find_numeric(self) -> None:
        """Variables that never hold anything but numbers (or nothing yet)."""
        if "ARGV" not in self.names and not self.reads_symbols:
            self.numeric = {("", name) for name in self.globals if name not in self.external}
        passed: dict[str, int] = dict.fromkeys(self.program.functions, 0)
        for _, nodes in self.scopes:
            for node in nodes:
                called = (
                    list(passed) if isinstance(node, IndirectCall)
                    else [node.name] if isinstance(node, Call) and node.name in passed else []
                )  # fmt: skip
                for name in called:
                    passed[name] = max(passed[name], len(node.arguments))
        for name, function in self.program.functions.items():
            self.numeric |= {(name, parameter) for parameter in function.parameters[passed[name] :]}
        self.numeric -= self.arrays
        for scope, nodes in self.scopes:
            for node in nodes:
                targets: list[Any] = []
                if isinstance(node, Getline):
                    targets = [node.target]
                elif isinstance(node, ForIn):
                    targets = [node.variable]
                elif isinstance(node, Call) and node.name in ("sub", "gsub") and len(node.arguments) > 2:
                    targets = [node.arguments[2]]
                for target in targets:
                    if isinstance(target, Name):
                        self.numeric.discard(self.variable(scope, target.name))
        self.number_arrays = set() if self.reads_symbols else self._arrays_of_scalars()
        changed = True
        while changed:
            before = len(self.numeric) + len(self.number_arrays)
            for scope, nodes in self.scopes:
                for node in nodes:
                    if not isinstance(node, Assign) or node.operator:
                        continue
                    target = node.target
                    if isinstance(target, Field) or self.kind(node.value, scope) == "number":
                        continue
                    if isinstance(target, Name):
                        self.numeric.discard(self.variable(scope, target.name))
                    elif isinstance(target.array, Name):
                        self.number_arrays.discard(target.array.name)
            changed = len(self.numeric) + len(self.number_arrays) != before

    def _arrays_of_scalars(self) -> set[str]:
        """Global arrays whose elements nothing but assignments to them can give values."""
        found = {name for scope, name in self.arrays if not scope} - GIVEN_ARRAYS
        for scope, nodes in self.scopes:
            for node in nodes:
                suspects: list[Any] = []
                if isinstance(node, Index):
                    if scope and isinstance(node.array, Name) and self.variable(scope, node.array.name)[0]:
                        continue
                    # An array in an array.
                    suspects = [node.array.array] if isinstance(node.array, Index) else []
                elif isinstance(node, Call | IndirectCall):
                    suspects = [*node.arguments, *(a.array for a in node.arguments if isinstance(a, Index))]
                    if (
                        isinstance(node, Call)
                        and node.builtin
                        and node.name not in _ARRAY_ARGUMENTS
                        and node.name not in ("sub", "gsub")
                    ):
                        continue
                elif isinstance(node, Getline) and isinstance(node.target, Index):
                    suspects = [node.target.array]
                elif isinstance(node, ForIn):
                    suspects = [part.array for part in (node.variable, node.array) if isinstance(part, Index)]
                found -= {suspect.name for suspect in suspects if isinstance(suspect, Name)}
        return found

    def kind(self, node: Expression, scope: str) -> str:
        """What an expression always is: number, text, or any."""
        match node:
            case Number() | Unary() | Match() | Membership() | Increment() | Getline() | Regex():
                return "number"
            case String():
                return "text"
            case Binary(operator):
                return "text" if operator == " " else "number"
            case Name(name):
                if name in SPECIAL_NUMBERS:
                    return "number"
                if name in SPECIAL_TEXTS:
                    return "text"
                # An unset variable of this kind is None, which counts as a number here.
                return "number" if self.variable(scope, name) in self.numeric else "any"
            case Index(Name(name)):
                known = name in self.number_arrays and not self.variable(scope, name)[0]
                return "number" if known else "any"
            case Grouping(items):
                return self.kind(items[0], scope) if len(items) == 1 else "text"
            case Conditional(_, then, otherwise):
                kind = self.kind(then, scope)
                return kind if kind == self.kind(otherwise, scope) else "any"
            case Assign(operator, _, value):
                return "number" if operator else self.kind(value, scope)
            case Call(name, _, True):
                return "text" if name in _TEXT_FUNCTIONS else "number"
        return "any"

    def _printing_functions(self) -> set[str]:
        """Functions that print to standard output, themselves or through others."""
        printing = {
            scope
            for scope, nodes in self.scopes
            if scope and any(isinstance(node, Print) and not node.redirection for node in nodes)
        }
        changed = True
        while changed:
            before = len(printing)
            for scope, nodes in self.scopes:
                if scope and any(isinstance(node, Call) and node.name in printing for node in nodes):
                    printing.add(scope)
            changed = len(printing) != before
        return printing

    @staticmethod
    def _changes_fields(node: Any) -> bool:
        targets: list[Any] = []
        if isinstance(node, Assign | Increment | Getline):
            targets = [node.target]
        elif isinstance(node, ForIn):
            targets = [node.variable]
        elif isinstance(node, Call) and node.name in ("sub", "gsub") and len(node.arguments) > 2:
            targets = [node.arguments[2]]
        return any(isinstance(target, Field) or target == Name("NF") for target in targets)
