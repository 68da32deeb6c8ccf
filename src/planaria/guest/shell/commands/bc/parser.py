"""Makes Python functions of bc programs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from planaria.guest.shell.commands.bc import mathematics
from planaria.guest.shell.commands.bc.machine import (
    BcRuntimeError,
    BreakLoop,
    ContinueLoop,
    Expression,
    Function,
    Machine,
    Return,
    Statement,
    Stop,
)
from planaria.guest.shell.commands.bc.numbers import (
    ONE,
    ZERO,
    Number,
    add,
    compare,
    divide,
    length,
    multiply,
    parse,
    raise_to,
    remainder,
    rescale,
    square_root,
    subtract,
)
from planaria.guest.shell.commands.bc.syntax import BcSyntaxError, Token, tokenize

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


class Incomplete(Exception):  # noqa: N818 (a request for more, not an error)
    """The program ends where a statement goes on."""


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
        if self.name == "scale":
            if number < 0:
                raise BcRuntimeError("negative scale, set to 0")
            machine.scale = min(number, 2**31 - 1)
        elif self.name == "ibase":
            machine.ibase = max(2, min(number, 36))
        else:
            machine.obase = max(2, number)


class Parser:
    """Parses one text; `machine` is what the functions will work on."""

    def __init__(self, machine: Machine, source: str, *, line: int = 1, library: bool = False) -> None:
        self.machine = machine
        self.tokens = tokenize(source)
        self.position = 0
        self.line = line
        self.library = library
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

    # Statements

    def unit(self) -> list[Statement]:
        """The statements of one input line (definitions may go on over lines)."""
        if self.kind == "define":
            self.definition()
            return []
        return self.statement_list({"\n", "end"})

    def statement_list(self, ends: set[str]) -> list[Statement]:
        statements = []
        while self.kind not in ends:
            if self.kind == "end":
                raise Incomplete
            if self.accept(";") or ("\n" not in ends and self.accept("\n")):
                continue
            statements.append(self.statement())
            if self.kind not in ends and self.kind not in (";", "\n", "}"):
                if self.kind == "end":
                    raise Incomplete
                raise self.error()
            if self.kind == "}" and "}" not in ends:
                raise self.error()
        return statements

    def statement(self) -> Statement:
        kind = self.kind
        machine = self.machine
        if kind == "string":
            text = self.take().text[1:-1]
            return _action(lambda: machine.out(text))
        if kind == "{":
            return self.block()
        if kind == "print":
            return self.printing()
        if kind == "if":
            return self.conditional()
        if kind == "while":
            self.take()
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            return self.loop(None, condition, None)
        if kind == "for":
            return self.for_loop()
        if kind in ("break", "continue"):
            self.take()
            if not self.loops:
                raise self.error(f"{kind.capitalize()} outside a for/while")
            return _raising(BreakLoop if kind == "break" else ContinueLoop)
        if kind == "return":
            return self.returning()
        if kind in ("quit", "halt"):
            self.take()
            return _raising(Stop)
        if kind in ("limits", "warranty"):
            self.take()
            text = (
                "BC_BASE_MAX     = 2147483647\nBC_DIM_MAX      = 16777215\n"
                "BC_SCALE_MAX    = 2147483647\nBC_STRING_MAX   = 2147483647\n"
            )
            return _action(lambda: machine.out(text if kind == "limits" else ""))
        if kind == "auto":
            raise self.error()
        return self.expression_statement()

    def block(self) -> Statement:
        self.expect("{")
        statements = self.statement_list({"}"})
        self.expect("}")
        return _sequence(statements)

    def printing(self) -> Statement:
        self.take()
        machine = self.machine
        parts: list[str | Expression] = []
        while True:
            if self.kind == "string":
                parts.append(_escaped(self.take().text[1:-1]))
            else:
                parts.append(self.expression())
            if not self.accept(","):
                break

        def run() -> Iterator[None]:
            for part in parts:
                if isinstance(part, str):
                    machine.out(part)
                else:
                    value = part()
                    machine.out_number(value)
                    machine.last = value
            yield

        return run

    def conditional(self) -> Statement:
        self.take()
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        self.newlines()
        then = self.statement()
        otherwise = None
        mark = self.position
        while self.kind in (";", "\n") and self._else_follows():
            self.position += 1
        if self.accept("else"):
            self.newlines()
            otherwise = self.statement()
        else:
            self.position = mark

        def run() -> Iterator[None]:
            if condition()[0]:
                yield from then()
            elif otherwise is not None:
                yield from otherwise()

        return run

    def _else_follows(self) -> bool:
        place = self.position
        while self.tokens[place].kind in (";", "\n"):
            place += 1
        return self.tokens[place].kind == "else"

    def for_loop(self) -> Statement:
        self.take()
        self.expect("(")
        start = None if self.kind == ";" else self.expression()
        self.expect(";")
        condition = None if self.kind == ";" else self.expression()
        self.expect(";")
        step = None if self.kind == ")" else self.expression()
        self.expect(")")
        return self.loop(start, condition, step)

    def loop(
        self, start: Expression | None, condition: Expression | None, step: Expression | None
    ) -> Statement:
        self.newlines()
        self.loops += 1
        body = self.statement()
        self.loops -= 1

        def run() -> Iterator[None]:
            if start is not None:
                start()
            while condition is None or condition()[0]:
                try:
                    yield from body()
                except BreakLoop:
                    return
                except ContinueLoop:
                    pass
                if step is not None:
                    step()

        return run

    def returning(self) -> Statement:
        if not self.in_function:
            raise self.error("Return outside of a function.")
        self.take()
        value: Expression | None = None
        if self.kind not in (";", "\n", "}", "end"):
            value = self.expression()

        def run() -> Iterator[None]:
            raise Return(ZERO if value is None else value())
            yield

        return run

    def expression_statement(self) -> Statement:
        machine = self.machine
        start = self.position
        value = self.expression()
        # An assignment says nothing; anything else is printed.
        silent = self._is_assignment(start)
        void = self._is_void_call(start)

        def run() -> Iterator[None]:
            result = value()
            if not (silent or (void is not None and machine.functions.get(void, Function([])).void)):
                machine.out_number(result)
                machine.out("\n")
                machine.last = result
            yield

        return run

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

    def definition(self) -> None:
        self.take()
        void = self.accept("void")
        name = self.expect("name").text
        self.expect("(")
        function = Function(self.parameters(")"), void=void)
        self.expect(")")
        self.newlines()
        self.expect("{")
        self.newlines()
        if self.accept("auto"):
            function.automatic = self.parameters(";")
            if not self.accept(";"):
                self.expect("\n")
        self.in_function = True
        loops, self.loops = self.loops, 0
        body = self.statement_list({"}"})
        self.in_function, self.loops = False, loops
        self.expect("}")
        function.body = _sequence(body)
        self.machine.functions[name] = function

    def parameters(self, end: str) -> list[str]:
        names: list[str] = []
        while self.kind not in (end, "\n"):
            reference = "*" if self.accept("*") else ""
            name = self.expect("name").text
            if self.accept("["):
                self.expect("]")
                name += "[]"
            names.append(reference + name)
            if not self.accept(","):
                break
        return names

    # Expressions

    def expression(self) -> Expression:
        left = self.conjunction()
        while self.accept("||"):
            left = _either(left, self.conjunction())
        return left

    def conjunction(self) -> Expression:
        left = self.negation()
        while self.accept("&&"):
            left = _both(left, self.negation())
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
            left = _relation(left, right, test)
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
            left = _pair(add if self.take().kind == "+" else subtract, left, self.product())
        return left

    def product(self) -> Expression:
        left = self.power()
        while self.kind in ("*", "/", "%"):
            left = _pair(self._operation(self.take().kind), left, self.power())
        return left

    def power(self) -> Expression:
        base = self.unary()
        if self.accept("^"):
            return _pair(self._operation("^"), base, self.power())
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
            return _literal(machine, text)
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
            return Parser(self.machine, line, library=self.library).expression()()
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
        builtin = _LIBRARY.get((name, len(arguments))) if self.library else None

        def run() -> Number:
            function = machine.functions.get(name)
            if function is None or function.body is None:
                if builtin is not None:
                    values = [argument() for argument in arguments if not isinstance(argument, str)]
                    return builtin(*values, machine.scale)
                raise BcRuntimeError(f"Function {name} not defined.")
            return _invoke(machine, name, function, arguments)

        return run


def _invoke(machine: Machine, name: str, function: Function, arguments: list[Expression | str]) -> Number:
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


def _literal(machine: Machine, text: str) -> Expression:
    """A number; the base is that of the time when it is used."""
    ten = parse(text, 10)
    if text.isdigit() and len(text) == 1:
        return lambda: ten
    return lambda: ten if machine.ibase == 10 else parse(text, machine.ibase)


def _pair(function: Callable[[Number, Number], Number], left: Expression, right: Expression) -> Expression:
    return lambda: function(left(), right())


def _relation(left: Expression, right: Expression, test: Callable[[int], bool]) -> Expression:
    return lambda: ONE if test(compare(left(), right())) else ZERO


def _both(left: Expression, right: Expression) -> Expression:
    return lambda: ONE if left()[0] and right()[0] else ZERO


def _either(left: Expression, right: Expression) -> Expression:
    return lambda: ONE if left()[0] or right()[0] else ZERO


def _action(function: Callable[[], None]) -> Statement:
    def run() -> Iterator[None]:
        function()
        yield

    return run


def _raising(exception: type[Exception]) -> Statement:
    def run() -> Iterator[None]:
        raise exception
        yield

    return run


def _sequence(statements: list[Statement]) -> Statement:
    if len(statements) == 1:
        return statements[0]

    def run() -> Iterator[None]:
        for statement in statements:
            yield from statement()

    return run


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "q": '"', "r": "\r", "t": "\t", "\\": "\\"}


def _escaped(text: str) -> str:
    """The escapes of `print`; an unknown one is left out."""
    pieces = text.split("\\")
    result = [pieces[0]]
    position = 1
    while position < len(pieces):
        piece = pieces[position]
        if piece == "" and position + 1 < len(pieces):
            result.append("\\" + pieces[position + 1])
            position += 2
            continue
        result.append((_ESCAPES.get(piece[:1], "") + piece[1:]) if piece else "")
        position += 1
    return "".join(result)
