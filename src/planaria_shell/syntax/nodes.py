"""The abstract syntax of the shell's language: words made of parts, and commands made of words.

The grammar is that of bash 5.2 (Bash Reference Manual, chapter 3). Nodes are plain data; `parser`
makes them, `compiler` turns them into closures and `printing` writes them back as source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "AndOr",
    "Arithmetic",
    "ArithmeticCommand",
    "ArithmeticFor",
    "ArrayElement",
    "Assignment",
    "Case",
    "CaseItem",
    "Command",
    "Condition",
    "Coprocess",
    "DoubleQuoted",
    "For",
    "Function",
    "Group",
    "If",
    "Literal",
    "Parameter",
    "Part",
    "Pipeline",
    "ProcessSubstitution",
    "Quoted",
    "Redirect",
    "Select",
    "Sequence",
    "Simple",
    "Subshell",
    "Substitution",
    "Test",
    "While",
    "Word",
    "last_command",
]


# -- words -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Literal:
    """Unquoted text: subject to braces, tilde and globbing."""

    text: str


@dataclass(slots=True)
class Quoted:
    """Text whose characters all stand for themselves: 'x', $'x', or one character after a backslash."""

    text: str


@dataclass(slots=True)
class DoubleQuoted:
    """The parts between double quotes."""

    parts: list[Part]


@dataclass(slots=True)
class Parameter:
    """`$name` or `${name…}`.

    `operator` is "" for a plain expansion, "#" with `length` for `${#name}`; `indirect` is `${!name…}`;
    `keys` is `${!name[@]}` and `prefix` is `${!name*}` (with the star or at sign as its value).
    """

    name: str
    subscript: Word | None = None
    operator: str = ""
    argument: Word | None = None
    second: Word | None = None
    length: bool = False
    indirect: bool = False
    keys: bool = False
    prefix: str = ""
    #: Set when `${…}` is not well formed: the text, to report when it is expanded.
    bad: str = ""
    #: Whether it is written without braces: to a name more may be joined by brace expansion (`$x{1,2}`).
    bare: bool = False
    #: Whether its values are joined by blanks whatever IFS is, as in a here-document.
    blanks: bool = False


@dataclass(slots=True)
class Substitution:
    """`$(…)`, backquotes, or bash 5.3's `${ …; }` are all a program whose output is taken."""

    body: Sequence
    #: The program's text where aliases are expanded, which happens each time it runs.
    source: str = ""
    line: int = 0
    #: Backquotes around what is not a program: its text runs as far as it is well formed.
    malformed: bool = False


@dataclass(slots=True)
class Arithmetic:
    """`$((…))`: the parts of the expression's text."""

    expression: Word


@dataclass(slots=True)
class ProcessSubstitution:
    """`<(…)` or `>(…)`; `direction` is the first character."""

    direction: str
    body: Sequence
    #: As of a command substitution.
    source: str = ""
    line: int = 0


Part: TypeAlias = (
    "Literal | Quoted | DoubleQuoted | Parameter | Substitution | Arithmetic | ProcessSubstitution"
)


@dataclass(slots=True)
class Word:
    """A word: its parts, and its source for printing it back."""

    parts: list[Part]
    source: str = ""
    #: What the compiler made of it, by the use that was asked for.
    codes: dict[str, Any] | None = field(default=None, compare=False, repr=False)

    def literal(self) -> str | None:
        """The text when nothing in the word is expanded or quoted."""
        if len(self.parts) == 1:
            part = self.parts[0]
            if type(part) is Literal:
                return part.text
        return "" if not self.parts else None

    def constant(self) -> str | None:
        """The text when quotes are all there is to remove (globs and tildes not looked at)."""
        texts: list[str] = []
        for part in self.parts:
            if isinstance(part, Literal | Quoted):
                texts.append(part.text)
            elif isinstance(part, DoubleQuoted):
                inner = Word(part.parts).constant()
                if inner is None:
                    return None
                texts.append(inner)
            else:
                return None
        return "".join(texts)


@dataclass(slots=True)
class ArrayElement:
    """One element of `name=(…)`: `[subscript]=value`, `[subscript]+=value` or just words."""

    value: Word
    subscript: Word | None = None
    append: bool = False


@dataclass(slots=True)
class Assignment:
    """`name=value`, `name+=value`, `name[subscript]=value`, `name=(elements)`."""

    name: str
    value: Word | None
    subscript: Word | None = None
    append: bool = False
    elements: list[ArrayElement] | None = None
    source: str = ""


# -- redirections ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Redirect:
    """`fd operator target`; `variable` for `{name}>`; a here-document carries its body as `target`."""

    operator: str
    target: Word
    fd: int | None = None
    variable: str = ""
    #: Here-documents: the delimiter as written, and whether it was quoted.
    delimiter: str = ""
    quoted: bool = False
    line: int = 0


# -- commands --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Simple:
    assignments: list[Assignment]
    #: Arguments; assignments among them where the command is one like `declare`.
    words: list[Word | Assignment]
    redirects: list[Redirect]
    line: int = 0


@dataclass(slots=True)
class Pipeline:
    """`!` `time` and stages."""

    stages: list[Command]
    negated: bool = False
    timed: str = ""
    line: int = 0


@dataclass(slots=True)
class AndOr:
    first: Command
    rest: list[tuple[str, Command]]
    line: int = 0


@dataclass(slots=True)
class Sequence:
    """Commands, each with whether it runs in the background."""

    items: list[tuple[Command, bool]]
    line: int = 0


def last_command(body: Sequence) -> Simple | None:
    """The simple command without redirections that is the second of the two that `body` joins in the end."""
    command, in_background = body.items[-1]
    if in_background or (len(body.items) > 1 and body.items[-2][1]):
        return None
    if isinstance(command, AndOr) and len(body.items) == 1:
        command = command.rest[-1][1]
    return command if isinstance(command, Simple) and not command.redirects else None


@dataclass(slots=True)
class Group:
    body: Sequence
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Subshell:
    body: Sequence
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class If:
    #: Pairs of condition and body.
    branches: list[tuple[Sequence, Sequence]]
    otherwise: Sequence | None
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class For:
    name: str
    #: None: over the positional parameters.
    words: list[Word] | None
    body: Sequence
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Select:
    name: str
    words: list[Word] | None
    body: Sequence
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class ArithmeticFor:
    start: Word
    condition: Word
    step: Word
    body: Sequence
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class While:
    condition: Sequence
    body: Sequence
    until: bool = False
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class CaseItem:
    patterns: list[Word]
    body: Sequence
    #: ";;", ";&" or ";;&".
    end: str


@dataclass(slots=True)
class Case:
    word: Word
    items: list[CaseItem]
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Function:
    name: str
    #: The body, or what parses that of a definition: a body that is never asked for need not be parsed.
    definition: Command | Callable[[Function], Command]
    line: int = 0

    # The redirections written after the body are the body's own.

    @property
    def body(self) -> Command:
        if callable(self.definition):
            self.definition = self.definition(self)
        return self.definition


@dataclass(slots=True)
class ArithmeticCommand:
    expression: Word
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Test:
    """A node of `[[ … ]]`: operator "!" "&&" "||" "(" or a unary or binary test."""

    operator: str
    left: Test | Word
    right: Test | Word | None = None


@dataclass(slots=True)
class Condition:
    test: Test
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class Coprocess:
    name: str
    body: Command
    redirects: list[Redirect] = field(default_factory=list)
    line: int = 0


Command: TypeAlias = (
    Simple
    | Pipeline
    | AndOr
    | Sequence
    | Group
    | Subshell
    | If
    | For
    | Select
    | ArithmeticFor
    | While
    | Case
    | Function
    | ArithmeticCommand
    | Condition
    | Coprocess
)
