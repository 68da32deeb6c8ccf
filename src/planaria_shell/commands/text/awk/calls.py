"""Calls of functions, and formats, in compiled awk programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planaria_shell.commands.text.awk.syntax import (
    AwkError,
    Call,
    Expression,
    Field,
    Grouping,
    Index,
    Name,
    Number,
    Regex,
    String,
    Target,
    TypedRegex,
    fatal,
)

if TYPE_CHECKING:
    from planaria_shell.commands.text.awk.analysis import Analysis
    from planaria_shell.commands.text.awk.syntax import Program

#: How many arguments each built-in function takes.
_COUNTS = {
    "length": (0, 1), "substr": (2, 3), "index": (2, 2), "split": (2, 4), "sub": (2, 3), "gsub": (2, 3),
    "gensub": (3, 4), "match": (2, 3), "sprintf": (1, 10_000), "sin": (1, 1), "cos": (1, 1),
    "atan2": (2, 2), "exp": (1, 1), "log": (1, 1), "sqrt": (1, 1), "int": (1, 1), "rand": (0, 0),
    "srand": (0, 1), "tolower": (1, 1), "toupper": (1, 1), "system": (1, 1), "close": (1, 2),
    "fflush": (0, 1), "strftime": (0, 3), "systime": (0, 0), "mktime": (1, 2), "and": (2, 10_000),
    "or": (2, 10_000), "xor": (2, 10_000), "lshift": (2, 2), "rshift": (2, 2), "compl": (1, 1),
    "strtonum": (1, 1), "asort": (1, 3), "asorti": (1, 3), "patsplit": (2, 4), "typeof": (1, 1),
    "isarray": (1, 1),
}  # fmt: skip
_SIMPLE_FORMAT = re.compile(r"%(?:%|[-0 +]*\d*(?:(?:\.\d+)?[sfeg]|(?:\.[1-9]\d*)?[di]))|[^%]+")


class Calls:
    """The part of the compiler that writes calls."""

    analysis: Analysis
    line: int
    program: Program
    scope: str

    if TYPE_CHECKING:

        def write(self, line: str) -> None: ...
        def temporary(self) -> str: ...
        def constant_pattern(self, source: str) -> str: ...
        def value(self, node: Expression) -> str: ...
        def number(self, node: Expression) -> str: ...
        def text(self, node: Expression) -> str: ...
        def array(self, node: Name | Index) -> str: ...
        def is_array(self, node: Expression) -> bool: ...
        def assign(self, target: Target, code: str) -> str: ...
        def plain_substitution(self, node: Call) -> str | None: ...

        @property
        def in_block(self) -> bool: ...

    def call(self, node: Call) -> str:
        """The code of a call."""
        return self._builtin(node) if node.builtin else self._user(node)

    def _user(self, node: Call) -> str:
        function = self.program.functions.get(node.name)
        if function is None:
            raise fatal(f"function `{node.name}' not defined")
        extra = node.arguments[len(function.parameters) :]
        if extra:
            self.program.warnings.append(f"function `{node.name}' called with more arguments than declared")
        codes: list[str] = []
        for parameter, argument in zip(function.parameters, node.arguments, strict=False):
            wants_array = (node.name, parameter) in self.analysis.arrays
            if isinstance(argument, Name | Index) and (wants_array or self.is_array(argument)):
                codes.append(self.array(argument))
            elif wants_array:
                raise fatal(f"function `{node.name}' wants an array, not a scalar, as `{parameter}'")
            else:
                codes.append(self.value(argument))
        call = f"f_{node.name}({', '.join(codes)})"
        if node.name in self.analysis.printing:
            call = f"(yield from {call})"
        return f"({call}, {', '.join(map(self.value, extra))})[0]" if extra else call

    def _builtin(self, node: Call) -> str:
        name, arguments = node.name, node.arguments
        least, most = _COUNTS[name]
        if not least <= len(arguments) <= most:
            raise AwkError(
                f"cmd. line:{self.line}: {len(arguments)} is invalid as number of arguments for {name}"
            )
        record = Field(Number(0.0))
        match name:
            case "length":
                if not arguments:
                    return f"(len({self.text(record)}) + 0.0)"
                one = _bare(arguments[0])
                if isinstance(one, Name) and self.is_array(one):
                    return f"float(len({self.array(one)}))"
                if isinstance(one, Name | Index):
                    return f"F.length({self.value(one)})"
                return f"(len({self.text(one)}) + 0.0)"
            case "substr":
                rest = ", ".join(self.number(part) for part in arguments[1:])
                return f"F.substr({self.text(arguments[0])}, {rest})"
            case "index":
                if self.analysis.ignores_case:
                    return f"F.index({self.text(arguments[0])}, {self.text(arguments[1])})"
                found = f"{self.text(arguments[0])}.find({self.text(arguments[1])})"
                return f"({found} + 1.0)"
            case "tolower" | "toupper":
                return f"{name[2:]}_case({self.text(arguments[0])})"
            case "split" | "patsplit":
                return self._split(node)
            case "sub" | "gsub":
                count, target = self._substitution(node)
                status = self.temporary()
                if target is None:
                    return count
                store = self.assign(target, "R.result")
                return f"(({store}, {status})[1] if ({status} := {count}) else 0.0)"
            case "gensub":
                subject = self.text(arguments[3] if len(arguments) > 3 else record)
                return (
                    f"F.gensub({self.pattern(arguments[0])}, {self.text(arguments[1])},"
                    f" {self.value(arguments[2])}, {subject})"
                )
            case "match":
                groups = f", {self._array_argument(arguments[2])}" if len(arguments) > 2 else ""
                return f"F.match({self.text(arguments[0])}, {self.pattern(arguments[1])}{groups})"
            case "sprintf":
                return self.formatted(arguments)
            case "sin" | "cos":
                return f"F.{name}({self.number(arguments[0])})"
            case "atan2":
                return f"F.atan2({self.number(arguments[0])}, {self.number(arguments[1])})"
            case "exp" | "log" | "sqrt" | "int":
                full = {"exp": "exponential", "log": "logarithm", "sqrt": "square_root", "int": "integer"}[
                    name
                ]
                return f"F.{full}({self.number(arguments[0])})"
            case "rand" | "systime":
                return f"F.{name}()"
            case "srand":
                return f"F.srand({self.number(arguments[0]) if arguments else 'None'})"
            case "system" | "close":
                return f"R.{name}({', '.join(map(self.text, arguments))})"
            case "fflush":
                return f"R.fflush({self.text(arguments[0]) if arguments else 'None'})"
            case "strftime":
                template = self.text(arguments[0]) if arguments else "None"
                when = self.number(arguments[1]) if len(arguments) > 1 else "None"
                utc = f"truth({self.value(arguments[2])})" if len(arguments) > 2 else "False"
                return f"F.strftime({template}, {when}, {utc})"
            case "mktime":
                utc = f", truth({self.value(arguments[1])})" if len(arguments) > 1 else ""
                return f"F.mktime({self.text(arguments[0])}{utc})"
            case "strtonum":
                return f"F.strtonum({self.value(arguments[0])})"
            case "asort" | "asorti":
                target_code = self._array_argument(arguments[1]) if len(arguments) > 1 else "None"
                how = self.value(arguments[2]) if len(arguments) > 2 else "''"
                return (
                    f"F.sort({self._array_argument(arguments[0])}, {target_code}, {how}, {name == 'asorti'})"
                )
            case "typeof" | "isarray":
                return self._type(name, _bare(arguments[0]))
        return f"F.bits({name!r}, [{', '.join(self.number(part) for part in arguments)}])"

    def _type(self, name: str, argument: Expression) -> str:
        array = isinstance(argument, Name) and self.is_array(argument)
        code = self.array(argument) if array and isinstance(argument, Name) else self.value(argument)
        if name == "isarray":
            return f"(1.0 if isinstance({code}, Array) else 0.0)"
        return f"F.typeof({code})"

    def _array_argument(self, node: Expression) -> str:
        node = _bare(node)
        if not isinstance(node, Name | Index):
            raise fatal("argument is not an array")
        return self.array(node)

    def pattern(self, node: Expression) -> str:
        """The code for a compiled pattern: of an expression in slashes, or of the text of any other."""
        node = _bare(node)
        if isinstance(node, Regex | TypedRegex):
            return self.constant_pattern(node.source)
        return f"pattern({self.text(node)})"

    def _split(self, node: Call) -> str:
        arguments = node.arguments
        separator = "None"
        if len(arguments) > 2:
            given = _bare(arguments[2])
            if isinstance(given, Regex) or node.name == "patsplit":
                separator = self.pattern(given)
            else:
                separator = self.text(given)
        between = f", {self._array_argument(arguments[3])}" if len(arguments) > 3 else ""
        if between and self._array_argument(arguments[1]) == self._array_argument(arguments[3]):
            raise fatal(f"{node.name}: cannot use the same array for second and fourth args")
        return (
            f"F.{node.name}({self.text(arguments[0])}, {self._array_argument(arguments[1])},"
            f" {separator}{between})"
        )

    def _substitution(self, node: Call) -> tuple[str, Target | None]:
        """The code that counts replacements, and where the result goes."""
        arguments = node.arguments
        target = _bare(arguments[2]) if len(arguments) > 2 else Field(Number(0.0))
        count = (
            f"F.substitute({self.pattern(arguments[0])}, {self.text(arguments[1])}, {self.text(target)},"
            f" {node.name == 'gsub'})"
        )
        return count, target if isinstance(target, Name | Field | Index) else None

    def substitution_statement(self, node: Call) -> None:
        """sub or gsub for its effect."""
        if self.in_block and (code := self.plain_substitution(node)) is not None:
            self.write(f"record = {code}")
            return
        count, target = self._substitution(node)
        self.write(f"if {count}: {self.assign(target, 'R.result')}" if target is not None else count)

    def formatted(self, arguments: list[Expression]) -> str:
        """printf and sprintf; plain formats known beforehand become plain code."""
        if len(arguments) == 1 and isinstance(arguments[0], Grouping):
            arguments = arguments[0].items
        template = _bare(arguments[0])
        if isinstance(template, String):
            code = self._known_format(template.value, arguments[1:])
            if code is not None:
                return code
        values = "".join(f"{self.value(part)}, " for part in arguments[1:])
        return f"format_values({self.text(template)}, ({values}), text)"

    def _known_format(self, template: str, arguments: list[Expression]) -> str | None:
        pieces = _SIMPLE_FORMAT.findall(template)
        if "".join(pieces) != template:
            return None
        directives = [piece for piece in pieces if piece[0] == "%" and piece != "%%"]
        if len(directives) > len(arguments):
            return None
        waiting = iter(arguments)
        codes: list[str] = []
        for piece in pieces:
            if piece == "%%":
                codes.append("'%'")
            elif piece[0] != "%":
                codes.append(repr(piece))
            elif piece[-1] == "s":
                code = self.text(next(waiting))
                if piece != "%s":
                    # Of the flags only the minus means something for a text.
                    rest = piece[1:].lstrip("-0 +")
                    minus = "-" if "-" in piece[: -len(rest)] else ""
                    code = f"({'%' + minus + rest!r} % ({code},))"
                codes.append(code)
            else:
                kind = "integer_text" if piece[-1] in "di" else "float_text"
                codes.append(f"{kind}({piece.replace('i', 'd')!r}, {self.number(next(waiting))})")
        # Arguments beyond the format are still evaluated.
        unused = [self.value(argument) for argument in waiting]
        code = "(" + (" + ".join(codes) or "''") + ")"
        return f"({code}, {', '.join(unused)})[0]" if unused else code


def _bare(node: Expression) -> Expression:
    """Without parentheses around it."""
    while isinstance(node, Grouping) and len(node.items) == 1:
        node = node.items[0]
    return node
