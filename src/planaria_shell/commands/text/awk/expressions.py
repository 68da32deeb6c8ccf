"""Expressions and assignments of awk programs as Python expressions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from planaria_shell.commands.text.awk.analysis import GIVEN_ARRAYS
from planaria_shell.commands.text.awk.calls import Calls
from planaria_shell.commands.text.awk.symbols import SPECIAL, SPECIAL_NUMBERS, SPECIAL_TEXTS
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
    fatal,
)
from planaria_shell.commands.text.awk.values import text_number
from planaria_shell.toolkit.regex.posix import Pattern

_COMPARISONS = frozenset(("<", "<=", "==", "!=", ">", ">="))


class Expressions(Calls):
    """The part of the compiler that writes expressions: as value, number, text or condition."""

    constants: dict[str, Any]
    localized: set[str] | None

    if TYPE_CHECKING:

        @property
        def in_block(self) -> bool: ...
        def block_text(self, index: Expression, number: str) -> str: ...
        def block_value(self, index: Expression, number: str) -> str: ...
        def block_name(self, name: str) -> str | None: ...

    # Assignment.

    def assign(self, target: Target, code: str) -> str:
        """An expression that assigns and is the value."""
        match target:
            case Name(name):
                if name in SPECIAL or name == "ARGC":
                    return f"R.assign({name!r}, {code})"
                return f"({self._scalar(name)} := {code})"
            case Field(index):
                if self.in_block:  # only sub and gsub assign there, and only $0
                    return f"(record := {code})"
                return f"R.set_field({self.number(index)}, {code})"
        return f"put({self.array(target.array)}, {self.key(target.keys)}, {code})"

    def assign_statement(self, target: Target, code: str) -> None:
        if isinstance(target, Index):
            self.write(f"{self.array(target.array)}[{self.key(target.keys)}] = {code}")
        elif isinstance(target, Name) and target.name not in SPECIAL and target.name != "ARGC":
            self.write(f"{self._scalar(target.name)} = {code}")
        else:
            self.write(self.assign(target, code))

    def _update(self, target: Target, operator: str, amount: str) -> str:
        """`target operator= amount` as an expression."""
        if isinstance(target, Name):
            return self.assign(target, self.operation(operator, self.number(target), amount))
        name = self.temporary()
        if isinstance(target, Field):
            old = f"text_number(dynamic_text({name}))"
            index = f"({name} := {self.number(target.index)})"
            return f"R.set_field({index}, {self.operation(operator, old, amount)})"
        array = self.temporary()
        old = self.element(target, array, name)
        return (
            f"put(({array} := {self.array(target.array)}), ({name} := {self.key(target.keys)}),"
            f" {self.operation(operator, old, amount)})"
        )

    def _increment(self, node: Increment) -> str:
        if node.prefix:
            return self._update(node.target, node.operator[0], "1.0")
        old, operator = self.temporary(), node.operator[0]
        if isinstance(node.target, Name):
            change = self.assign(node.target, f"{old} {operator} 1.0")
            return f"(({old} := {self.number(node.target)}), {change})[0]"
        name = self.temporary()
        if isinstance(node.target, Field):
            return (
                f"(({name} := {self.number(node.target.index)}),"
                f" ({old} := text_number(dynamic_text({name}))),"
                f" R.set_field({name}, {old} {operator} 1.0))[1]"
            )
        array = self.temporary()
        before = self.element(node.target, array, name)
        return (
            f"(({array} := {self.array(node.target.array)}), ({name} := {self.key(node.target.keys)}),"
            f" ({old} := {before}), put({array}, {name}, {old} {operator} 1.0))[2]"
        )

    def element(self, node: Index, array: str, key: str) -> str:
        """The number that is the element of an array, without creating it."""
        if self.analysis.kind(node, self.scope) == "number":
            return f"({array}.get({key}) or 0.0)"
        return f"number({array}.get({key}))"

    # Names.

    def variable(self, name: str) -> str:
        """The Python name of a variable that is not a special one."""
        scope, _ = self.analysis.variable(self.scope, name)
        if scope:
            return f"l_{name}"
        if self.localized is not None:
            self.localized.add(name)
            return f"v_{name}"
        return f"g_{name}"

    def array(self, node: Name | Index) -> str:
        """The code for an array."""
        if isinstance(node, Index):
            return f"{self.array(node.array)}.inner({self.key(node.keys)})"
        if node.name in GIVEN_ARRAYS:
            return node.name
        if node.name in self.program.functions:
            raise fatal(f"attempt to use function `{node.name}' as an array")
        return self.variable(node.name)

    def is_array(self, node: Expression) -> bool:
        return (
            isinstance(node, Name) and self.analysis.variable(self.scope, node.name) in self.analysis.arrays
        )

    def key(self, keys: list[Expression]) -> str:
        return " + R.SUBSEP + ".join(self.text(key) for key in keys)

    # Expressions.

    def value(self, node: Expression) -> str:
        """The code for a value of whatever kind."""
        match node:
            case Number() | Unary() | Match() | Membership() | Regex() | Getline() | Increment():
                return self.number(node)
            case Binary(operator):
                return self.text(node) if operator == " " else self.number(node)
            case String():
                return self.text(node)
            case Name(name):
                return self._name(name)
            case Field(index) if self.in_block:
                return self.block_value(index, self.number(index))
            case Field(index):
                at = _constant_index(index)
                return f"field_value({at})" if at is not None else f"dynamic_field({self.number(index)})"
            case Index(array, keys):
                return f"{self.array(array)}[{self.key(keys)}]"
            case Conditional(condition, then, otherwise):
                return f"({self.value(then)} if {self.condition(condition)} else {self.value(otherwise)})"
            case Assign("", target, value):
                return self.assign(target, self.value(value))
            case Assign(operator, target, value):
                return self._update(target, operator, self.number(value))
            case Grouping([inner]):
                return self.value(inner)
            case Call():
                return self.call(node)
            case IndirectCall(variable, arguments):
                codes = [
                    self.array(part) if self.is_array(part) and isinstance(part, Name) else self.value(part)
                    for part in arguments
                ]
                return f"F.call_named({self.text(variable)}, [{', '.join(codes)}])"
            case TypedRegex(source):
                return f"Regexp({source!r})"
        raise AwkError(f"cmd. line:{self.line}: syntax error")

    def _name(self, name: str) -> str:
        if name in SPECIAL or name == "ARGC":
            return (self.block_name(name) if self.in_block else None) or f"R.{name}"
        return self._scalar(name)

    def _scalar(self, name: str) -> str:
        if self.is_array(Name(name)):
            raise fatal(f"attempt to use array `{name}' in a scalar context")
        if name in self.program.functions:
            raise fatal(
                f"function `{name}' called with space between name and `('\nor used as a variable or an array"
            )
        return self.variable(name)

    def number(self, node: Expression) -> str:
        """The code for a float."""
        match node:
            case Number(value):
                return repr(value) if math.isfinite(value) else "1e999"
            case String(text):
                return repr(text_number(text))
            case Grouping([inner]):
                return self.number(inner)
            case Name(name):
                code = self._name(name)
                if name in SPECIAL_NUMBERS:
                    return code
                known = self.analysis.variable(self.scope, name) in self.analysis.numeric
                return f"({code} or 0.0)" if known else f"number({code})"
            case Field():
                return f"text_number({self.text(node)})"
            case Index() if self.analysis.kind(node, self.scope) == "number":
                return f"({self.value(node)} or 0.0)"
            case Unary("-", operand):
                return f"(-{self.number(operand)})"
            case Unary("+", operand):
                return self.number(operand)
            case Unary() | Match() | Membership() | Regex():
                return f"(1.0 if {self.condition(node)} else 0.0)"
            case Binary(operator, left, right) if operator in _COMPARISONS or operator in ("&&", "||"):
                return f"(1.0 if {self.condition(node)} else 0.0)"
            case Binary(" "):
                return f"text_number({self.text(node)})"
            case Binary("/" | "%" as operator, Number(), Number(0.0)):
                what = " in `%'" if operator == "%" else ""
                raise AwkError(f"cmd. line:{self.line}: error: division by zero attempted{what}")
            case Binary(operator, left, right):
                return self.operation(operator, self.number(left), self.number(right))
            case Conditional(condition, then, otherwise):
                return f"({self.number(then)} if {self.condition(condition)} else {self.number(otherwise)})"
            case Increment():
                return self._increment(node)
            case Getline():
                return self._getline(node)
        code = self.value(node)
        return (
            code
            if self.analysis.kind(node, self.scope) == "number" and _is_float(node)
            else f"number({code})"
        )

    def operation(self, operator: str, left: str, right: str) -> str:
        if operator == "^":
            return f"power({left}, {right})"
        if operator == "%":
            return f"modulo({left}, {right})"
        return f"({left} {operator} {right})"

    def text(self, node: Expression) -> str:
        """The code for a str, numbers by CONVFMT."""
        return self._text(node, "text", "number_text", "known")

    def output_text(self, node: Expression) -> str:
        """The code for a str, numbers by OFMT."""
        return self._text(node, "output_text", "output_number_text", "output_known")

    def _text(self, node: Expression, text: str, number_text: str, known: str) -> str:
        match node:
            case String(value):
                return repr(value)
            case Number(value) if value == int(value) and abs(value) < 1e16:
                return repr(str(int(value)))
            case Grouping([inner]):
                return self._text(inner, text, number_text, known)
            case Grouping(items):
                return f"({self.key(items)})"
            case Binary(" ", left, right):
                return f"({self.text(left)} + {self.text(right)})"
            case Name(name) if name in SPECIAL_TEXTS:
                return f"R.{name}"
            case Field(index) if self.in_block:
                return self.block_text(index, self.number(index))
            case Field(index):
                at = _constant_index(index)
                if at == 0:
                    return "R.record_text()" if self.analysis.changes_fields else "R.record"
                return f"field({at})" if at is not None else f"dynamic_text({self.number(index)})"
            case Conditional(condition, then, otherwise):
                return (
                    f"({self._text(then, text, number_text, known)} if {self.condition(condition)}"
                    f" else {self._text(otherwise, text, number_text, known)})"
                )
        kind = self.analysis.kind(node, self.scope)
        if kind == "number" and _is_float(node):
            name = self.temporary()
            return f"({known}({name} := {self.number(node)}) or {number_text}({name}))"
        return (
            self.value(node) if kind == "text" and isinstance(node, Call) else f"{text}({self.value(node)})"
        )

    def condition(self, node: Expression) -> str:
        """The code for something Python takes as true or false."""
        match node:
            case Number(value):
                return "True" if value else "False"
            case String(text):
                return "True" if text else "False"
            case Grouping([inner]):
                return self.condition(inner)
            case Regex():
                return self._matches(self.text(Field(Number(0.0))), node)
            case Match(negated, subject, pattern):
                code = self._matches(self.text(subject), pattern)
                return f"(not {code})" if negated else code
            case Membership(keys, array):
                return f"({self.key(keys)} in {self.array(array)})"
            case Unary("!", operand):
                return f"(not {self.condition(operand)})"
            case Binary("&&", left, right):
                return f"({self.condition(left)} and {self.condition(right)})"
            case Binary("||", left, right):
                return f"({self.condition(left)} or {self.condition(right)})"
            case Binary(operator, left, right) if operator in _COMPARISONS:
                return self._comparison(operator, left, right)
        kind = self.analysis.kind(node, self.scope)
        if kind == "number":
            return self.number(node) if _is_float(node) else f"({self.value(node)})"
        return self.text(node) if kind == "text" else f"truth({self.value(node)})"

    def _comparison(self, operator: str, left: Expression, right: Expression) -> str:
        kinds = (self.analysis.kind(left, self.scope), self.analysis.kind(right, self.scope))
        if kinds == ("number", "number"):
            return f"({self.number(left)} {operator} {self.number(right)})"
        if "text" in kinds:
            texts = self.text(left), self.text(right)
            if self.analysis.ignores_case:
                texts = f"R.conversion.folded({texts[0]})", f"R.conversion.folded({texts[1]})"
            return f"({texts[0]} {operator} {texts[1]})"
        if kinds[1] == "number" and isinstance(left, Field) and _is_float(right):
            return f"(compare_field({self.text(left)}, {self.number(right)}) {operator} 0)"
        return f"(compare({self.value(left)}, {self.value(right)}) {operator} 0)"

    def _matches(self, subject: str, pattern: Expression) -> str:
        if isinstance(pattern, Grouping) and len(pattern.items) == 1:
            pattern = pattern.items[0]
        if isinstance(pattern, Regex):
            name = self.constant_pattern(pattern.source)
            constant = self.constants.get(name)
            if isinstance(constant, Pattern):
                return (
                    f"({constant.literal!r} in {subject})" if constant.literal else f"{name}_find({subject})"
                )
            return f"{name}.find({subject})"
        return f"pattern({self.text(pattern)}).find({subject})"

    def _getline(self, node: Getline) -> str:
        if not node.kind:
            if node.target is None:
                return "R.getline()"
            read = "R.getline_text()"
        else:
            source = self.text(node.source) if node.source is not None else "''"
            read = f"R.getline_from({source}, {node.kind == '|'})"
        status = self.temporary()
        store = self.assign(node.target or Field(Number(0.0)), "Input(R.result)")
        return f"(({store}, {status})[1] if ({status} := {read}) > 0.0 else {status})"


def _constant_index(node: Expression) -> int | None:
    if isinstance(node, Number) and node.value >= 0:
        return int(node.value)
    return None


def _is_float(node: Expression) -> bool:
    """Whether an expression of the kind number is a float even when a variable in it is unset."""
    match node:
        case Grouping([inner]):
            return _is_float(inner)
        case Name(name):
            return name in SPECIAL_NUMBERS
        case Index():
            return False
        case Assign("", _, value):
            return _is_float(value)
        case Conditional(_, then, otherwise):
            return _is_float(then) and _is_float(otherwise)
    return True
