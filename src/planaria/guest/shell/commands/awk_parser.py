"""awk's grammar (POSIX awk, with gawk's additions), read by recursive descent."""

from __future__ import annotations

from .awk_lexer import Token, join_bytes, syntax_error, tokenize
from .awk_syntax import (
    Assign,
    AwkError,
    Binary,
    Block,
    Call,
    Conditional,
    Delete,
    DoWhile,
    Evaluate,
    Expression,
    Field,
    For,
    ForIn,
    Function,
    Getline,
    Grouping,
    If,
    Increment,
    Index,
    Jump,
    Match,
    Membership,
    Name,
    Number,
    Print,
    Program,
    Regex,
    Rule,
    Statement,
    String,
    Switch,
    Target,
    Unary,
    While,
)

_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="}
_COMPARISONS = {"<", "<=", "==", "!=", ">", ">="}
#: What may begin the right side of a concatenation (a sign would be arithmetic).
_STARTS = {"number", "string", "regex", "name", "call", "builtin", "$", "!", "(", "-", "+", "++", "--"}
_CONCATENATED = _STARTS - {"+", "-", "!", "regex"}


def parse_program(source: str) -> Program:
    """Read a program; raises AwkError."""
    return _Parser(source).program()


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.warnings: list[str] = []
        self.tokens = tokenize(source, self.warnings)
        self.at = 0
        self.kind = self.tokens[0].kind
        #: Inside print without parentheses `>` redirects; in the head of a for `in` may end an expression.
        self.no_greater = False
        self.no_in = False
        self.function = False
        self.loops = 0

    # Tokens.

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
            self.kind = self.tokens[self.at].kind
        return token

    def back_to(self, at: int) -> None:
        self.at = at
        self.kind = self.tokens[at].kind

    def peek(self, ahead: int = 1) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].kind

    def error(self, what: str = "syntax error") -> AwkError:
        token = self.tokens[self.at]
        if what == "syntax error" and (token.kind == "end" or (token.kind == "newline" and not token.text)):
            what = "unexpected newline or end of string"
        return syntax_error(self.source, token.position, token.line, what)

    def expect(self, kind: str) -> Token:
        if self.kind != kind:
            raise self.error()
        return self.advance()

    def accept(self, kind: str) -> bool:
        if self.kind == kind:
            self.advance()
            return True
        return False

    def newlines(self) -> None:
        while self.kind == "newline":
            self.advance()

    def separators(self) -> None:
        while self.kind in ("newline", ";"):
            self.advance()

    # Rules and functions.

    def program(self) -> Program:
        program = Program(warnings=self.warnings)
        self.separators()
        while self.kind != "end":
            if self.kind == "function":
                self._function(program)
            elif self.kind == "@":
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
            parameters.append(self.advance().text)
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

    def _array(self) -> Name | Index:
        """An array where only an array can stand."""
        array: Name | Index = Name(self.expect("name").text)
        while self.kind == "[":
            array = Index(array, self._subscripts())
        return array

    def _subscripts(self) -> list[Expression]:
        self.expect("[")
        saved = self.no_greater, self.no_in
        self.no_greater = self.no_in = False
        keys = self._expressions("]")
        self.no_greater, self.no_in = saved
        self.expect("]")
        return keys

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
        if formatted and not arguments:
            raise self.error("printf: no format")
        return statement

    # Expressions, from the weakest binding to the strongest.

    def _expressions(self, end: str) -> list[Expression]:
        items: list[Expression] = []
        self.newlines()
        while self.kind != end:
            items.append(self.expression())
            if not self.accept(","):
                break
            self.newlines()
        return items

    def expression(self) -> Expression:
        left = self._or()
        if self.kind == "?":
            self.advance()
            self.newlines()
            then = self.expression()
            self.newlines()
            self.expect(":")
            self.newlines()
            return Conditional(left, then, self.expression())
        if self.kind in _ASSIGNMENTS:
            return self._assignment(left)
        return left

    def _assignment(self, left: Expression) -> Expression:
        """An assignment whose target ends the expression on its left (`1 + x = 3`, `!x = y`)."""
        if isinstance(left, Name | Field | Index):
            operator = self.advance().kind[:-1].replace("**", "^")
            self.newlines()
            return Assign(operator, left, self.expression())
        if isinstance(left, Binary):
            left.right = self._assignment(left.right)
            return left
        if isinstance(left, Unary):
            left.operand = self._assignment(left.operand)
            return left
        if isinstance(left, Match):
            left.pattern = self._assignment(left.pattern)
            return left
        raise self.error()

    def _or(self) -> Expression:
        left = self._and()
        while self.accept("||"):
            self.newlines()
            left = Binary("||", left, self._and())
        return left

    def _and(self) -> Expression:
        left = self._in()
        while self.accept("&&"):
            self.newlines()
            left = Binary("&&", left, self._in())
        return left

    def _in(self) -> Expression:
        left = self._match()
        while self.kind == "in" and not self.no_in:
            self.advance()
            keys: list[Expression] = left.items if isinstance(left, Grouping) else [left]
            left = Membership(keys, self._array())
        return left

    def _match(self) -> Expression:
        left = self._comparison()
        while self.kind in ("~", "!~"):
            negated = self.advance().kind == "!~"
            left = Match(negated, left, self._comparison())
        return left

    def _comparison(self) -> Expression:
        left = self._concatenation()
        compared = False
        while True:
            if self.kind in ("|", "|&") and self.peek() == "getline":
                self.advance()
                self.advance()
                left = Getline("|", left, self._optional_target())
            elif self.kind in _COMPARISONS and not (self.kind == ">" and self.no_greater):
                # Comparisons do not associate: `a < b < c` is an error.
                if compared:
                    raise self.error()
                compared = True
                operator = self.advance().kind
                left = Binary(operator, left, self._concatenation())
            else:
                return left

    def _concatenation(self) -> Expression:
        left = self._additive()
        while self.kind in _CONCATENATED:
            left = Binary(" ", left, self._additive())
        return left

    def _additive(self) -> Expression:
        left = self._multiplicative()
        while self.kind in ("+", "-"):
            left = Binary(self.advance().kind, left, self._multiplicative())
        return left

    def _multiplicative(self) -> Expression:
        left = self._unary()
        while self.kind in ("*", "/", "%"):
            left = Binary(self.advance().kind, left, self._unary())
        return left

    def _unary(self) -> Expression:
        if self.kind in ("!", "-", "+"):
            operator = self.advance().kind
            return Unary(operator, self._unary())
        return self._power()

    def _power(self) -> Expression:
        base = self._postfix()
        if self.kind in ("^", "**"):
            self.advance()
            # The exponent may have a sign, and powers associate to the right.
            exponent = (
                Unary(self.advance().kind, self._power_operand())
                if self.kind in ("-", "+", "!")
                else self._power()
            )
            return Binary("^", base, exponent)
        return base

    def _power_operand(self) -> Expression:
        if self.kind in ("-", "+", "!"):
            return Unary(self.advance().kind, self._power_operand())
        return self._power()

    def _postfix(self) -> Expression:
        primary = self._primary()
        if self.kind in ("++", "--") and isinstance(primary, Name | Field | Index):
            return Increment(self.advance().kind, False, primary)
        return primary

    def _optional_target(self) -> Target | None:
        if self.kind == "$":
            self.advance()
            return Field(self._field_operand())
        if self.kind == "name":
            return self._variable()
        return None

    def _variable(self) -> Name | Index:
        name: Name | Index = Name(self.advance().text)
        while self.kind == "[":
            name = Index(name, self._subscripts())
        return name

    def _field_operand(self) -> Expression:
        if self.kind in ("++", "--"):
            operator = self.advance().kind
            target = self._primary()
            if not isinstance(target, Name | Field | Index):
                raise self.error()
            return Increment(operator, True, target)
        if self.kind in ("-", "+", "!"):
            return Unary(self.advance().kind, self._field_operand())
        return self._primary()

    def _primary(self) -> Expression:
        kind = self.kind
        match kind:
            case "number":
                return Number(_constant(self.advance().text))
            case "string":
                return self._string()
            case "regex":
                return Regex(self.advance().text)
            case "$":
                self.advance()
                return Field(self._field_operand())
            case "name":
                return self._variable()
            case "++" | "--":
                self.advance()
                target = self._primary()
                if not isinstance(target, Name | Field | Index):
                    raise self.error()
                return Increment(kind, True, target)
            case "(":
                return self._parenthesis()
            case "-" | "+" | "!":
                self.advance()
                return Unary(kind, self._unary())
            case "call":
                name = self.advance().text
                return Call(name, self._arguments(), False)
            case "builtin":
                name = self.advance().text
                if name == "length" and self.kind != "(":
                    return Call(name, [], True)
                if self.kind != "(":
                    raise self.error()
                return Call(name, self._arguments(), True)
            case "getline":
                self.advance()
                destination = self._optional_target()
                if self.accept("<"):
                    return Getline("<", self._postfix(), destination)
                return Getline("", None, destination)
        raise self.error()

    def _string(self) -> Expression:
        return String(join_bytes(self.advance().text))

    def _arguments(self) -> list[Expression]:
        self.expect("(")
        saved = self.no_greater, self.no_in
        self.no_greater = self.no_in = False
        arguments = self._expressions(")")
        self.newlines()
        self.no_greater, self.no_in = saved
        self.expect(")")
        return arguments

    def _parenthesis(self) -> Expression:
        items = self._arguments()
        if not items:
            raise self.error()
        if len(items) > 1 and self.kind != "in" and not self.no_greater:
            raise self.error()
        return Grouping(items)


def _constant(text: str) -> float:
    if text[:2] in ("0x", "0X"):
        return float(int(text, 16))
    if len(text) > 1 and text[0] == "0" and text.isdigit() and not set(text) & set("89"):
        return float(int(text, 8))
    return float(text)
