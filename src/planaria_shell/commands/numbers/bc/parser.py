"""Makes Python functions of bc programs."""

from __future__ import annotations

from collections.abc import Iterator

from planaria_shell.commands.numbers.bc.evaluation import action, raising, sequence
from planaria_shell.commands.numbers.bc.expression_parser import ExpressionParser, Incomplete
from planaria_shell.commands.numbers.bc.machine import (
    BreakLoop,
    ContinueLoop,
    Expression,
    Function,
    Return,
    Statement,
    Stop,
)
from planaria_shell.commands.numbers.bc.numbers import ZERO


class Parser(ExpressionParser):
    """Parses one text; `machine` is what the functions will work on."""

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
            return action(lambda: machine.out(text))
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
            return raising(BreakLoop if kind == "break" else ContinueLoop)
        if kind == "return":
            return self.returning()
        if kind in ("quit", "halt"):
            self.take()
            return raising(Stop)
        if kind in ("limits", "warranty"):
            self.take()
            text = (
                "BC_BASE_MAX     = 2147483647\nBC_DIM_MAX      = 16777215\n"
                "BC_SCALE_MAX    = 2147483647\nBC_STRING_MAX   = 2147483647\n"
            )
            return action(lambda: machine.out(text if kind == "limits" else ""))
        if kind == "auto":
            raise self.error()
        return self.expression_statement()

    def block(self) -> Statement:
        self.expect("{")
        statements = self.statement_list({"}"})
        self.expect("}")
        return sequence(statements)

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
        function.body = sequence(body)
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
