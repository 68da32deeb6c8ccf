"""awk's grammar (POSIX awk, with gawk's additions), read by recursive descent."""

from __future__ import annotations

from planaria_shell.commands.text.awk.expression_parser import ExpressionParser
from planaria_shell.commands.text.awk.syntax import (
    AwkError,
    Block,
    Delete,
    DoWhile,
    Evaluate,
    Expression,
    For,
    ForIn,
    Function,
    Grouping,
    If,
    Index,
    Jump,
    Name,
    Print,
    Program,
    Rule,
    Statement,
    Switch,
    While,
)


def parse_program(source: str) -> Program:
    """Read a program; raises AwkError."""
    return _Parser(source).program()


class _Parser(ExpressionParser):
    # Tokens.

    def separators(self) -> None:
        while self.kind in ("newline", ";"):
            self.advance()

    # Rules and functions.

    def program(self) -> Program:
        program = Program(warnings=self.warnings, lines=self.lines)
        self.separators()
        while self.kind != "end":
            if self.kind == "function":
                self._function(program)
            elif self.kind == "@" and self.peek() == "name":
                raise self.error("@-directives are not supported")
            else:
                program.rules.append(self._rule())
            if self.kind not in ("newline", ";", "end") and self.tokens[self.at - 1].kind != "}":
                raise self.error()
            self.separators()
        return program

    def _function(self, program: Program) -> None:
        self.advance()
        if self.kind not in ("name", "call"):
            raise self.error()
        name = self.advance().text
        if name in program.functions:
            raise AwkError(
                f"cmd. line:{self.tokens[self.at].line}: error: function name `{name}' previously defined"
            )
        self.expect("(")
        parameters: list[str] = []
        while self.kind == "name":
            parameter = self.advance().text
            where = f"cmd. line:{self.tokens[self.at].line}: error: function `{name}': "
            if parameter == name:
                raise AwkError(f"{where}cannot use function name as parameter name")
            if parameter in parameters:
                number = f"#{len(parameters) + 1}, `{parameter}'"
                first = parameters.index(parameter) + 1
                raise AwkError(f"{where}parameter {number}, duplicates parameter #{first}")
            parameters.append(parameter)
            if not self.accept(","):
                break
            self.newlines()
        self.expect(")")
        self.newlines()
        self.function = True
        program.functions[name] = Function(name, parameters, self._block())
        self.function = False

    def _rule(self) -> Rule:
        if self.kind in ("BEGIN", "END", "BEGINFILE", "ENDFILE"):
            kind = self.advance().kind
            if self.kind != "{":
                raise AwkError(
                    f"cmd. line:{self.tokens[self.at].line}: {kind} blocks must have an action part"
                )
            return Rule(kind, None, None, self._block())
        first = second = None
        if self.kind != "{":
            first = self.expression()
            if self.accept(","):
                self.newlines()
                second = self.expression()
        action = self._block() if self.kind == "{" else None
        return Rule("", first, second, action)

    # Statements.

    def _block(self) -> Block:
        self.expect("{")
        body: list[Statement] = []
        self.separators()
        while self.kind != "}":
            body.append(self._statement())
            self.separators()
        self.advance()
        return Block(body)

    def _end_of_statement(self) -> None:
        if self.kind in (";", "newline"):
            self.advance()
        elif self.kind not in ("}", "end"):
            raise self.error()

    def _body(self) -> Statement:
        """The statement after a condition; a lone semicolon is an empty one."""
        self.newlines()
        if self.accept(";"):
            return Block([])
        return self._statement()

    def _loop_body(self) -> Statement:
        self.loops += 1
        body = self._body()
        self.loops -= 1
        return body

    def _statement(self) -> Statement:
        line = self.tokens[self.at].line
        statement = self._plain_statement()
        self.lines[id(statement)] = line
        return statement

    def _plain_statement(self) -> Statement:
        match self.kind:
            case "{":
                return self._block()
            case "if":
                return self._if()
            case "while":
                self.advance()
                condition = self._condition()
                if self.accept(";"):
                    return While(condition, Block([]))
                return While(condition, self._loop_body())
            case "do":
                return self._do()
            case "for":
                return self._for()
            case "switch":
                return self._switch()
            case ";":
                self.advance()
                return Block([])
        statement = self._simple()
        self._end_of_statement()
        return statement

    def _condition(self) -> Expression:
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return condition

    def _if(self) -> Statement:
        self.advance()
        condition = self._condition()
        then = self._body()
        before = self.at
        self.separators()
        if self.accept("else"):
            return If(condition, then, self._body())
        self.back_to(before)
        return If(condition, then, None)

    def _do(self) -> Statement:
        self.advance()
        body = self._loop_body()
        self.separators()
        self.expect("while")
        statement = DoWhile(body, self._condition())
        self._end_of_statement()
        return statement

    def _for(self) -> Statement:
        self.advance()
        self.expect("(")
        if self.kind == "name" and self.peek() == "in":
            before = self.at
            variable = Name(self.advance().text)
            self.advance()
            if self.kind == "name":
                array = self._array()
                if self.accept(")"):
                    return ForIn(variable, array, self._loop_body())
            self.back_to(before)
        first = None if self.kind == ";" else self._simple()
        self.expect(";")
        self.newlines()
        condition = None if self.kind == ";" else self.expression()
        self.expect(";")
        self.newlines()
        step = None if self.kind == ")" else self._simple()
        self.expect(")")
        if self.accept(";"):
            return For(first, condition, step, Block([]))
        return For(first, condition, step, self._loop_body())

    def _switch(self) -> Statement:
        self.advance()
        subject = self._condition()
        self.newlines()
        self.expect("{")
        self.separators()
        cases: list[tuple[Expression | None, list[Statement]]] = []
        self.loops += 1
        while not self.accept("}"):
            value: Expression | None = None
            if self.accept("case"):
                value = self._unary()
            else:
                self.expect("default")
            self.expect(":")
            self.separators()
            body: list[Statement] = []
            while self.kind not in ("case", "default", "}"):
                body.append(self._statement())
                self.separators()
            cases.append((value, body))
        self.loops -= 1
        return Switch(subject, cases)

    def _simple(self) -> Statement:
        match self.kind:
            case "print" | "printf":
                return self._print()
            case "delete":
                return self._delete()
            case "break" | "continue":
                if not self.loops:
                    raise self.error(f"`{self.kind}' is not allowed outside a loop")
                return Jump(self.advance().kind)
            case "next" | "nextfile":
                return Jump(self.advance().kind)
            case "exit" | "return":
                if self.kind == "return" and not self.function:
                    raise self.error("`return' used outside function context")
                kind = self.advance().kind
                value = None if self.kind in (";", "newline", "}", "end") else self.expression()
                return Jump(kind, value)
        return Evaluate(self.expression())

    def _delete(self) -> Statement:
        self.advance()
        parenthesis = self.accept("(")
        array = self._array()
        if parenthesis:
            self.expect(")")
        if isinstance(array, Index):
            return Delete(array.array, array.keys)
        return Delete(array, None)

    def _print(self) -> Statement:
        formatted = self.advance().kind == "printf"
        arguments: list[Expression] = []
        before, self.no_greater = self.no_greater, True
        if self.kind not in (";", "newline", "}", ">", ">>", "|", "end"):
            arguments = self._expressions("")
            if len(arguments) == 1 and isinstance(arguments[0], Grouping):
                arguments = arguments[0].items
        statement = Print(arguments, formatted)
        if self.kind in (">", ">>", "|", "|&"):
            statement.redirection = self.advance().kind
            statement.destination = self._concatenation()
        self.no_greater = before
        return statement

    # Expressions, from the weakest binding to the strongest.
