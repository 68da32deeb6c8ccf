"""What the parts of a bc program do: places that hold values, calls, and statements made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planaria_shell.commands.numbers.bc.machine import (
    BcRuntimeError,
    Expression,
    Function,
    Machine,
    Return,
    Statement,
)
from planaria_shell.commands.numbers.bc.numbers import ONE, ZERO, Number, compare, parse, rescale

__all__ = [
    "Place",
    "action",
    "both",
    "either",
    "invoke",
    "literal",
    "pair",
    "raising",
    "relation",
    "sequence",
]


class Place:
    """Something that can be assigned to: how to read and write it."""

    def __init__(self, machine: Machine, name: str, subscript: Expression | None = None) -> None:
        self.machine = machine
        self.name = name
        self.subscript = subscript

    def index(self) -> int | None:
        if self.subscript is None:
            return None
        number = rescale(self.subscript(), 0)[0]
        if not 0 <= number <= 16777215:
            raise BcRuntimeError(f"Array {self.name} subscript out of bounds.")
        return number

    def get(self, index: int | None) -> Number:
        machine = self.machine
        if index is not None:
            return machine.array(self.name).get(index, ZERO)
        if self.name in ("scale", "ibase", "obase"):
            return (getattr(machine, self.name), 0)
        if self.name in ("last", "."):
            return machine.last
        return machine.variables.get(self.name, ZERO)

    def set(self, index: int | None, value: Number) -> None:
        machine = self.machine
        if index is not None:
            machine.array(self.name)[index] = value
        elif self.name in ("scale", "ibase", "obase"):
            self._special(rescale(value, 0)[0])
        elif self.name in ("last", "."):
            machine.last = value
        else:
            machine.variables[self.name] = value

    def _special(self, number: int) -> None:
        machine = self.machine
        least, most = {"scale": (0, 2**31 - 1), "ibase": (2, 36), "obase": (2, 2**31 - 1)}[self.name]
        kept = max(least, min(number, most))
        if kept != number:
            what = (
                f"negative {self.name}"
                if number < 0
                else f"{self.name} too {'small' if kept > number else 'large'}"
            )
            machine.warn(f"{what}, set to {kept}")
        setattr(machine, self.name, kept)


def invoke(machine: Machine, name: str, function: Function, arguments: list[Expression | str]) -> Number:
    if len(arguments) != len(function.parameters):
        raise BcRuntimeError("Parameter number mismatch")
    given: list[Number | dict[int, Number]] = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if parameter.endswith("[]") != isinstance(argument, str):
            raise BcRuntimeError(f"Parameter type mismatch, parameter {parameter}")
        if isinstance(argument, str):
            array = machine.array(argument)
            given.append(array if parameter.startswith("*") else dict(array))
        else:
            given.append(argument())
    saved: list[tuple[str, Number | dict[int, Number] | None]] = []
    for place, parameter in enumerate([*function.parameters, *function.automatic]):
        value = given[place] if place < len(given) else None
        own = parameter.lstrip("*")
        if own.endswith("[]"):
            saved.append((own, machine.arrays.get(own[:-2])))
            machine.arrays[own[:-2]] = value if isinstance(value, dict) else {}
        else:
            saved.append((own, machine.variables.get(own)))
            machine.variables[own] = value if isinstance(value, tuple) else ZERO
    assert function.body is not None
    result = ZERO
    try:
        for _ in function.body():
            pass
    except Return as returned:
        result = returned.value
    finally:
        for own, old in reversed(saved):
            if own.endswith("[]"):
                if isinstance(old, dict):
                    machine.arrays[own[:-2]] = old
                else:
                    machine.arrays.pop(own[:-2], None)
            elif isinstance(old, tuple):
                machine.variables[own] = old
            else:
                machine.variables.pop(own, None)
    return result


def literal(machine: Machine, text: str) -> Expression:
    """A number; the base is that of the time when it is used."""
    ten = parse(text, 10)
    if text.isdigit() and len(text) == 1:
        return lambda: ten
    return lambda: ten if machine.ibase == 10 else parse(text, machine.ibase)


def pair(function: Callable[[Number, Number], Number], left: Expression, right: Expression) -> Expression:
    return lambda: function(left(), right())


def relation(left: Expression, right: Expression, test: Callable[[int], bool]) -> Expression:
    return lambda: ONE if test(compare(left(), right())) else ZERO


def both(left: Expression, right: Expression) -> Expression:
    return lambda: ONE if left()[0] and right()[0] else ZERO


def either(left: Expression, right: Expression) -> Expression:
    return lambda: ONE if left()[0] or right()[0] else ZERO


def action(function: Callable[[], None]) -> Statement:
    def run() -> Iterator[None]:
        function()
        yield

    return run


def raising(exception: type[Exception]) -> Statement:
    def run() -> Iterator[None]:
        raise exception
        yield

    return run


def sequence(statements: list[Statement]) -> Statement:
    if len(statements) == 1:
        return statements[0]

    def run() -> Iterator[None]:
        for statement in statements:
            yield from statement()

    return run
