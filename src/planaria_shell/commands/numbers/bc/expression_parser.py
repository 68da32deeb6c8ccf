"""Expressions of bc, compiled while they are read."""

from __future__ import annotations

import random
from collections.abc import Callable

from planaria_shell.commands.numbers.bc import mathematics
from planaria_shell.commands.numbers.bc.evaluation import Place, both, either, invoke, literal, pair, relation
from planaria_shell.commands.numbers.bc.machine import BcRuntimeError, Expression, Machine
from planaria_shell.commands.numbers.bc.numbers import (
    ONE,
    ZERO,
    Number,
    add,
    divide,
    length,
    multiply,
    raise_to,
    remainder,
    square_root,
    subtract,
)
from planaria_shell.commands.numbers.bc.syntax import BcSyntaxError, Token, tokenize


class ExpressionParser:
    """The tokens of a program, and what can be computed from them."""

    def __init__(self, machine: Machine, source: str, *, line: int = 1, library: bool = False) -> None:
        self.machine = machine
        self.tokens = tokenize(source)
        self.position = 0
        self.line = line
        self.mathlib = library
        self.loops = 0
        self.in_function = False

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def kind(self) -> str:
        return self.tokens[self.position].kind

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind == "end":
            raise Incomplete
        self.position += 1
        return token

    def accept(self, kind: str) -> bool:
        if self.kind == kind:
            self.position += 1
            return True
        return False

    def expect(self, kind: str) -> Token:
        if self.kind == "end":
            raise Incomplete
        if self.kind != kind:
            raise self.error()
        return self.take()

    def error(self, message: str = "syntax error") -> BcSyntaxError:
        return BcSyntaxError(self.token.line + self.line - 1, message)

    def newlines(self) -> None:
        while self.accept("\n"):
            pass

    def _is_assignment(self, start: int) -> bool:
        """Whether the expression that starts there is an assignment itself, not one in parentheses."""
        place = start
        if self.tokens[place].kind not in ("name", "scale", "ibase", "obase", "last", "."):
            return False
        place += 1
        if self.tokens[place].kind == "[":
            depth = 0
            while place < self.position:
                depth += {"[": 1, "]": -1}.get(self.tokens[place].kind, 0)
                place += 1
                if depth == 0:
                    break
        return self.tokens[place].kind in ("=", "+=", "-=", "*=", "/=", "%=", "^=")

    def _is_void_call(self, start: int) -> str | None:
        name, following = self.tokens[start], self.tokens[start + 1]
        ends = self.tokens[self.position - 1].kind == ")"
        return name.text if name.kind == "name" and following.kind == "(" and ends else None

    def expression(self) -> Expression:
        left = self.conjunction()
        while self.accept("||"):
            left = either(left, self.conjunction())
        return left

    def conjunction(self) -> Expression:
        left = self.negation()
        while self.accept("&&"):
            left = both(left, self.negation())
        return left

    def negation(self) -> Expression:
        if self.accept("!"):
            inner = self.negation()
            return lambda: ZERO if inner()[0] else ONE
        return self.relation()

    def relation(self) -> Expression:
        left = self.assignment()
        while self.kind in _RELATIONS:
            test = _RELATIONS[self.take().kind]
            right = self.assignment()
            left = relation(left, right, test)
        return left

    def assignment(self) -> Expression:
        start = self.position
        place = self.place()
        if place is not None and self.kind in ("=", "+=", "-=", "*=", "/=", "%=", "^="):
            operator = self.take().kind[:-1]
            value = self.assignment()
            return self._assign(place, operator, value)
        self.position = start
        return self.sum()

    def _assign(self, place: Place, operator: str, value: Expression) -> Expression:
        machine = self.machine
        if not operator:
            if place.subscript is None and place.name not in ("scale", "ibase", "obase", "last", "."):
                name = place.name

                def simple() -> Number:
                    result = machine.variables[name] = value()
                    return result

                return simple

            def assign() -> Number:
                index = place.index()
                result = value()
                place.set(index, result)
                return result

            return assign
        compute = self._operation(operator)

        def change() -> Number:
            index = place.index()
            result = compute(place.get(index), value())
            place.set(index, result)
            return result

        return change

    def place(self) -> Place | None:
        """A variable or an element of an array; None when something else stands here."""
        kind = self.kind
        if kind in ("ibase", "obase", "last", "."):
            self.position += 1
            return Place(self.machine, kind)
        if kind == "scale" and self.tokens[self.position + 1].kind != "(":
            self.position += 1
            return Place(self.machine, kind)
        if kind == "name" and self.tokens[self.position + 1].kind != "(":
            name = self.take().text
            if self.kind == "[":
                if self.tokens[self.position + 1].kind == "]":
                    return None
                self.take()
                subscript = self.expression()
                self.expect("]")
                return Place(self.machine, name, subscript)
            return Place(self.machine, name)
        return None

    def sum(self) -> Expression:
        left = self.product()
        while self.kind in ("+", "-"):
            left = pair(add if self.take().kind == "+" else subtract, left, self.product())
        return left

    def product(self) -> Expression:
        left = self.power()
        while self.kind in ("*", "/", "%"):
            left = pair(self._operation(self.take().kind), left, self.power())
        return left

    def power(self) -> Expression:
        base = self.unary()
        if self.accept("^"):
            return pair(self._operation("^"), base, self.power())
        return base

    def _operation(self, operator: str) -> Callable[[Number, Number], Number]:
        machine = self.machine
        if operator in "+-":
            return add if operator == "+" else subtract
        function = {"*": multiply, "/": divide, "%": remainder, "^": raise_to}[operator]
        return lambda one, two: function(one, two, machine.scale)

    def unary(self) -> Expression:
        if self.accept("-"):
            inner = self.unary()

            def negated() -> Number:
                digits, scale = inner()
                return -digits, scale

            return negated
        return self.increment()

    def increment(self) -> Expression:
        if self.kind in ("++", "--"):
            step = add if self.take().kind == "++" else subtract
            place = self.place()
            if place is None:
                raise self.error()
            target = place

            def before() -> Number:
                index = target.index()
                value = step(target.get(index), ONE)
                target.set(index, value)
                return value

            return before
        start = self.position
        place = self.place()
        if place is not None:
            if self.kind in ("++", "--"):
                step = add if self.take().kind == "++" else subtract
                changed = place

                def after() -> Number:
                    index = changed.index()
                    value = changed.get(index)
                    changed.set(index, step(value, ONE))
                    return value

                return after
            return self._value(place)
        self.position = start
        return self.primary()

    def _value(self, place: Place) -> Expression:
        if place.subscript is None and place.name not in ("scale", "ibase", "obase", "last", "."):
            variables, name = self.machine.variables, place.name
            return lambda: variables.get(name, ZERO)
        return lambda: place.get(place.index())

    def primary(self) -> Expression:
        machine = self.machine
        token = self.take()
        kind = token.kind
        if kind == "number":
            text = token.text
            return literal(machine, text)
        if kind == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if kind in ("length", "sqrt", "scale"):
            self.expect("(")
            if kind == "length" and self.kind == "name" and self.tokens[self.position + 1].kind == "[":
                mark = self.position
                name = self.take().text
                self.take()
                if self.accept("]"):
                    self.expect(")")
                    return lambda: (max(machine.array(name), default=-1) + 1, 0)
                self.position = mark
            argument = self.expression()
            self.expect(")")
            if kind == "length":
                return lambda: (length(argument()), 0)
            if kind == "scale":
                return lambda: (argument()[1], 0)
            return lambda: square_root(argument(), machine.scale)
        if kind in ("read", "random"):
            self.expect("(")
            self.expect(")")
            if kind == "random":
                return lambda: (random.randrange(2**31), 0)
            return lambda: self._read()
        if kind == "name" and self.accept("("):
            return self.call(token.text)
        self.position -= 1
        raise self.error()

    def _read(self) -> Number:
        """`read()`: an expression from the next line of the input."""
        line = self.machine.read_line()
        try:
            return ExpressionParser(self.machine, line, library=self.mathlib).expression()()
        except (BcSyntaxError, Incomplete):
            raise BcRuntimeError("non-number read") from None

    def call(self, name: str) -> Expression:
        arguments: list[Expression | str] = []
        while self.kind != ")":
            following = [token.kind for token in self.tokens[self.position : self.position + 3]]
            if following == ["name", "[", "]"]:
                arguments.append(self.take().text)
                self.take()
                self.take()
            else:
                arguments.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")")
        machine = self.machine
        builtin = _LIBRARY.get((name, len(arguments))) if self.mathlib else None

        def run() -> Number:
            function = machine.functions.get(name)
            if function is None or function.body is None:
                if builtin is not None:
                    values = [argument() for argument in arguments if not isinstance(argument, str)]
                    return builtin(*values, machine.scale)
                raise BcRuntimeError(f"Function {name} not defined.")
            return invoke(machine, name, function, arguments)

        return run


_RELATIONS: dict[str, Callable[[int], bool]] = {
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


_LIBRARY: dict[tuple[str, int], Callable[..., Number]] = {
    ("s", 1): mathematics.sine,
    ("c", 1): mathematics.cosine,
    ("a", 1): mathematics.arctangent,
    ("l", 1): mathematics.logarithm,
    ("e", 1): mathematics.exponential,
    ("j", 2): mathematics.bessel,
}


class Incomplete(Exception):
    """The program ends where a statement goes on."""
