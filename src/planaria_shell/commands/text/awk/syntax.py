"""What an awk program consists of."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import FrameType, TracebackType

#: The name under which compiled code finds the awk line that each of its own lines comes from.
LINE_NUMBERS = "line_numbers"
#: The file name of compiled code.
COMPILED = "<awk>"


class AwkError(Exception):
    """An error in a program (status 1), or one that ends it (status 2); the text is the message.

    `line` is the line of the program that ran, None where the message says it or none did.
    """

    def __init__(self, message: str, status: int = 1, line: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.line = line


def fatal(message: str) -> AwkError:
    """An error that ends the program while it runs."""
    return AwkError(f"fatal: {message}", 2, running_line())


def running_line() -> int | None:
    """The line of the awk program that is running, None outside of one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == COMPILED:
            return frame.f_globals[LINE_NUMBERS][frame.f_lineno - 1]  # type: ignore[no-any-return]
        frame = frame.f_back
    return None


def line_of(traceback: TracebackType | None) -> int | None:
    """The line of the awk program that raised an exception of Python's."""
    line: int | None = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == COMPILED:
            line = traceback.tb_frame.f_globals[LINE_NUMBERS][traceback.tb_lineno - 1]
        traceback = traceback.tb_next
    return line


@dataclass(slots=True)
class Number:
    value: float


@dataclass(slots=True)
class String:
    value: str


@dataclass(slots=True)
class Regex:
    source: str


@dataclass(slots=True)
class TypedRegex:
    """`@/source/`, a value."""

    source: str


@dataclass(slots=True)
class Name:
    name: str


@dataclass(slots=True)
class Field:
    index: Expression


@dataclass(slots=True)
class Index:
    """`array[keys]`; the array of an array is an Index itself."""

    array: Name | Index
    keys: list[Expression]


@dataclass(slots=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(slots=True)
class Binary:
    """Arithmetic, comparison, concatenation (operator " "), `&&` and `||`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Match:
    negated: bool
    text: Expression
    pattern: Expression


@dataclass(slots=True)
class Membership:
    keys: list[Expression]
    array: Name | Index


@dataclass(slots=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(slots=True)
class Assign:
    """`operator` is empty for a plain assignment."""

    operator: str
    target: Target
    value: Expression


@dataclass(slots=True)
class Increment:
    operator: str
    prefix: bool
    target: Target


@dataclass(slots=True)
class Call:
    name: str
    arguments: list[Expression]
    builtin: bool


@dataclass(slots=True)
class IndirectCall:
    """`@variable(arguments)`: a call of the function that the variable names."""

    variable: Name
    arguments: list[Expression]


@dataclass(slots=True)
class Getline:
    """`kind`: "" (main input), "<" (file) or "|" (command)."""

    kind: str
    source: Expression | None
    target: Target | None


@dataclass(slots=True)
class Grouping:
    """Expressions in parentheses; more than one only in print and before `in`."""

    items: list[Expression]


Target = Name | Field | Index
Expression = (
    Number | String | Regex | TypedRegex | Name | Field | Index | Unary | Binary | Match | Membership
    | Conditional | Assign | Increment | Call | IndirectCall | Getline | Grouping
)  # fmt: skip


@dataclass(slots=True)
class Block:
    body: list[Statement]


@dataclass(slots=True)
class If:
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(slots=True)
class While:
    condition: Expression
    body: Statement


@dataclass(slots=True)
class DoWhile:
    body: Statement
    condition: Expression


@dataclass(slots=True)
class For:
    first: Statement | None
    condition: Expression | None
    step: Statement | None
    body: Statement


@dataclass(slots=True)
class ForIn:
    variable: Target
    array: Name | Index
    body: Statement


@dataclass(slots=True)
class Switch:
    subject: Expression
    #: (value or regex, or None for default; statements)
    cases: list[tuple[Expression | None, list[Statement]]]


@dataclass(slots=True)
class Print:
    arguments: list[Expression]
    formatted: bool
    redirection: str = ""
    destination: Expression | None = None


@dataclass(slots=True)
class Delete:
    array: Name | Index
    keys: list[Expression] | None


@dataclass(slots=True)
class Evaluate:
    expression: Expression


@dataclass(slots=True)
class Jump:
    """next, nextfile, break, continue, exit and return; the latter two may have a value."""

    kind: str
    value: Expression | None = None


Statement = Block | If | While | DoWhile | For | ForIn | Switch | Print | Delete | Evaluate | Jump


@dataclass(slots=True)
class Rule:
    """A pattern, a range of two patterns or a special one (BEGIN …), and an action (None prints)."""

    kind: str
    first: Expression | None
    second: Expression | None
    action: Block | None


@dataclass(slots=True)
class Function:
    name: str
    parameters: list[str]
    body: Block


@dataclass(slots=True)
class Program:
    rules: list[Rule] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    #: The line on which a statement begins, by the statement's id.
    lines: dict[int, int] = field(default_factory=dict)
