"""Expressions of awk, from tokens to their tree."""

from __future__ import annotations

from planaria_shell.commands.text.awk.lexer import Token, join_bytes, syntax_error, tokenize
from planaria_shell.commands.text.awk.syntax import (
    Assign,
    AwkError,
    Binary,
    Call,
    Conditional,
    Expression,
    Field,
    Getline,
    Grouping,
    Increment,
    Index,
    IndirectCall,
    Match,
    Membership,
    Name,
    Number,
    Regex,
    String,
    Target,
    TypedRegex,
    Unary,
)


class ExpressionParser:
    """The tokens of a program, and the expressions that they make."""

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
        self.lines: dict[int, int] = {}

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
            case "@":
                self.advance()
                if self.kind == "regex":
                    return TypedRegex(self.advance().text)
                if self.kind != "call":
                    raise self.error()
                return IndirectCall(Name(self.advance().text), self._arguments())
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


_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "^=", "**="}


_COMPARISONS = {"<", "<=", "==", "!=", ">", ">="}


#: What may begin the right side of a concatenation (a sign would be arithmetic).
_STARTS = {"number", "string", "regex", "name", "call", "builtin", "$", "!", "(", "-", "+", "++", "--", "@"}


_CONCATENATED = _STARTS - {"+", "-", "!", "regex"}


def _constant(text: str) -> float:
    if text[:2] in ("0x", "0X"):
        return float(int(text, 16))
    if len(text) > 1 and text[0] == "0" and text.isdigit() and not set(text) & set("89"):
        return float(int(text, 8))
    return float(text)
