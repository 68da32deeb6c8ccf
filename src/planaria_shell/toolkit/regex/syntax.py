"""Reading POSIX regular expressions (basic, extended, Emacs's, with the GNU extensions) into a small tree.

The dialects differ in little: which characters are operators with or without a backslash, and which
escape sequences a tool adds. See regex(7) and the GNU grep, sed and gawk manuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf

#: `bash` stands for the C library as it is, as `[[ =~ ]]` has it.
Tool = OneOf["grep", "sed", "awk", "bash"]
#: Where a repetition of nothing and a brace that begins no interval are errors in extended expressions.
_STRICT = frozenset(["sed", "bash"])
Syntax = OneOf["basic", "extended", "emacs"]

#: Which operators each syntax writes without a backslash, and which with one.
_OPERATORS = {"basic": ("", "(){}|+?"), "extended": ("(){}|+?", ""), "emacs": ("+?", "()|")}

REPEAT_MAX = 32767


class RegexError(ValueError):
    """A regular expression that is not well formed; the text is glibc's message."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character that stands for itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """A bracket expression: ranges of code points, named classes, negated or not."""

    ranges: tuple[tuple[int, int], ...]
    classes: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AnyCharacter:
    """The dot."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A condition on a place; `kind` is one of the names below."""

    kind: OneOf[
        "line_start", "line_end", "text_start", "text_end", "word_start", "word_end", "edge", "no_edge",
        "no_word_before", "no_word_after",
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Backreference:
    index: int


@dataclass(frozen=True, slots=True)
class Group:
    """Parentheses; an index of 0 captures nothing."""

    index: int
    body: Node


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times the body; None has no upper end."""

    body: Node
    low: int
    high: int | None


Node = (
    Character | Bracket | AnyCharacter | Assertion | Backreference | Group | Sequence | Alternatives | Repeat
)

CLASS_NAMES = frozenset(
    [
        "alpha",
        "digit",
        "alnum",
        "upper",
        "lower",
        "space",
        "blank",
        "punct",
        "print",
        "graph",
        "cntrl",
        "xdigit",
    ]
)

_ESCAPED_SETS: dict[str, Bracket] = {
    "w": Bracket((), ("word",)),
    "W": Bracket((), ("word",), True),
    "s": Bracket((), ("space",)),
    "S": Bracket((), ("space",), True),
}
_ESCAPED_ASSERTIONS: dict[str, Assertion] = {
    "<": Assertion("word_start"),
    ">": Assertion("word_end"),
    "b": Assertion("edge"),
    "B": Assertion("no_edge"),
    "`": Assertion("text_start"),
    "'": Assertion("text_end"),
}
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


def escaped_character(text: str, at: int, tool: Tool) -> tuple[str, int] | None:
    """The character that the escape whose letter stands at `at` names, and where it ends.

    None when the letter begins no escape of this tool.
    """
    letter = text[at]
    if tool == "grep":
        return None
    if letter in _CONTROL:
        return _CONTROL[letter], at + 1
    if tool == "awk":
        if letter == "b":
            return "\b", at + 1
        if letter in "01234567":
            return _digits(text, at, 8, 3)
        if letter == "x":
            return _digits(text, at + 1, 16, 2)
        return None
    if letter == "c" and at + 1 < len(text):
        return chr(ord(text[at + 1].upper()) ^ 64), at + 2
    base = {"d": (10, 3), "o": (8, 3), "x": (16, 2)}.get(letter)
    return _digits(text, at + 1, *base) if base else None


def _digits(text: str, at: int, base: int, most: int) -> tuple[str, int] | None:
    end = at
    while end < len(text) and end - at < most and text[end] in "0123456789abcdefABCDEF":
        if int(text[end], 16) >= base:
            break
        end += 1
    if end == at:
        return None
    code = int(text[at:end], base) & 0xFF
    # A byte above 127 alone is not UTF-8: it is kept as Python keeps such bytes.
    return chr(code if code < 128 else 0xDC00 + code), end


class Parser:
    """Reads one regular expression; `node` and `groups` (captures so far) are the outcome."""

    def __init__(self, pattern: str, *, syntax: Syntax, tool: Tool = "grep", groups: int = 0) -> None:
        self.text = pattern
        self.at = 0
        self.extended = syntax == "extended"
        self.plain, self.escaped = _OPERATORS[syntax]
        self.tool = tool
        self.groups = groups
        self.closed: set[int] = set()
        self.first_group = groups
        self.depth = 0
        self.warnings: list[str] = []
        self.node = self._alternatives()
        if self.at < len(self.text):
            raise RegexError("Unmatched ) or \\)")

    def _looking_at(self, operator: str) -> bool:
        """Whether an operator that basic expressions write with a backslash stands here."""
        if operator in self.plain:
            return self.text.startswith(operator, self.at)
        return operator in self.escaped and self.text.startswith("\\" + operator, self.at)

    def _skip(self, operator: str) -> None:
        self.at += 1 if operator in self.plain else 2

    def _alternatives(self) -> Node:
        options = [self._sequence()]
        while self._looking_at("|"):
            self._skip("|")
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.text):
            if self._looking_at("|"):
                break
            # A closing parenthesis too many is an ordinary one in extended expressions, but not in sed.
            if self._looking_at(")") and (self.depth or not self.extended or self.tool == "sed"):
                break
            strict = self.extended and self.tool in _STRICT
            first = not parts or (
                isinstance(parts[-1], Assertion) if strict else parts == [Assertion("line_start")]
            )
            part = self._atom(first, not parts)
            if part is None:
                continue
            if first and part == Assertion("line_start") and not strict:
                parts.append(part)
                continue
            parts.append(self._repeats(part))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self, first: bool, leading: bool) -> Node | None:
        """One unit; `first`: a repetition here has nothing to repeat; `leading`: nothing stands before."""
        char = self.text[self.at]
        if char == "\\":
            return self._escape()
        if self.extended:
            if char == "(":
                return self._group()
            if char in "^$":
                self.at += 1
                return Assertion("line_start" if char == "^" else "line_end")
            if first and (char in "*+?" or (char == "{" and (self.tool in _STRICT or self._at_interval()))):
                return self._leading_operator(char)
        elif char == "^" and leading:
            self.at += 1
            return Assertion("line_start")
        elif char == "$" and self._at_end_of_branch(self.at + 1):
            self.at += 1
            return Assertion("line_end")
        if char == "[":
            return self._bracket()
        self.at += 1
        return AnyCharacter() if char == "." else Character(char)

    def _leading_operator(self, char: str) -> Node | None:
        if self.tool in _STRICT:
            raise RegexError("Invalid preceding regular expression")
        self.at += 1
        if self.tool == "awk":
            return Character(char)
        if char == "{":
            self.at = self.text.index("}", self.at) + 1
            char = "{...}"
        self.warnings.append(f"{char} at start of expression")
        return None

    def _at_interval(self) -> bool:
        """Whether grep reads an interval here, which repeats nothing."""
        at = self.at
        found = self.tool == "grep" and self._interval() is not None
        self.at = at
        return found

    def _at_end_of_branch(self, at: int) -> bool:
        return at == len(self.text) or self.text.startswith(("\\)", "\\|"), at)

    def _group(self) -> Node:
        self._skip("(")
        self.groups += 1
        index = self.groups
        self.depth += 1
        body = self._alternatives()
        if not self._looking_at(")"):
            raise RegexError("Unmatched ( or \\(")
        self._skip(")")
        self.depth -= 1
        self.closed.add(index)
        return Group(index, body)

    def _escape(self) -> Node | None:
        self.at += 1
        if self.at == len(self.text):
            raise RegexError("Trailing backslash")
        char = self.text[self.at]
        if not self.extended and char == "(":
            self.at -= 1
            return self._group()
        named = escaped_character(self.text, self.at, self.tool)
        if named:
            self.at = named[1]
            return Character(named[0])
        self.at += 1
        if char in _ESCAPED_SETS:
            return _ESCAPED_SETS[char]
        if self.tool == "awk" and char == "y":
            return Assertion("edge")
        if char in _ESCAPED_ASSERTIONS:
            return _ESCAPED_ASSERTIONS[char]
        if char in "123456789" and self.tool != "awk":
            index = int(char) + self.first_group
            if index not in self.closed:
                raise RegexError("Invalid back reference")
            return Backreference(index)
        return Character(char)

    def _repeats(self, part: Node) -> Node:
        if self.extended and self.tool in _STRICT and isinstance(part, Assertion):
            return part  # what stands before an operator of repetition must match something
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "*":
                self.at += 1
                part = Repeat(part, 0, None)
            elif self._looking_at("+"):
                self._skip("+")
                part = Repeat(part, 1, None)
            elif self._looking_at("?"):
                self._skip("?")
                part = Repeat(part, 0, 1)
            elif self._looking_at("{"):
                interval = self._interval()
                if interval is None:
                    break
                part = Repeat(part, *interval)
            else:
                break
        return part

    def _interval(self) -> tuple[int, int | None] | None:
        """The numbers of an interval; None when the brace of an extended expression is a plain one."""
        start = self.at
        self._skip("{")
        end = self.text.find("}" if self.extended else "\\}", self.at)
        if end < 0:
            if self.extended and self.tool not in _STRICT:
                self.at = start
                return None
            raise RegexError("Unmatched \\{")
        low, comma, high = self.text[self.at : end].partition(",")
        if not all(part == "" or (part.isascii() and part.isdigit()) for part in (low, high)) or not (
            low or comma
        ):
            if self.extended and self.tool not in _STRICT:
                self.at = start
                return None
            raise RegexError("Invalid content of \\{\\}")
        least = int(low or 0)
        most = None if comma and not high else int(high) if comma else least
        if most is not None and most < least:
            raise RegexError("Invalid content of \\{\\}")
        if max(least, most or 0) > REPEAT_MAX:
            raise RegexError("Regular expression too big")
        self.at = end
        self._skip("}")
        return least, most

    def _bracket(self) -> Node:
        unmatched = RegexError("Unmatched [, [^, [:, [., or [=")
        text, at = self.text, self.at + 1
        negated = text.startswith("^", at)
        at += negated
        if at == len(text):
            raise RegexError("Invalid regular expression" if self.tool == "grep" else str(unmatched))
        ranges: list[tuple[int, int]] = []
        classes: list[str] = []
        first = True
        while True:
            if at >= len(text):
                raise unmatched
            if text[at] == "]" and not first:
                break
            first = False
            if text.startswith("[:", at):
                end = text.find(":]", at + 2)
                if end < 0:
                    raise unmatched
                name = text[at + 2 : end]
                if name not in CLASS_NAMES:
                    raise RegexError("Invalid character class name")
                classes.append(name)
                at = end + 2
                continue
            low, at = self._bracket_character(at)
            if text.startswith("-", at) and at + 1 < len(text) and text[at + 1] != "]":
                high, at = self._bracket_character(at + 1)
                if high < low:
                    raise RegexError("Invalid range end")
                ranges.append((ord(low), ord(high)))
            else:
                ranges.append((ord(low), ord(low)))
        if self.tool == "grep" and not negated and _looks_like_class(text[self.at : at + 1]):
            raise RegexError("character class syntax is [[:space:]], not [:space:]")
        self.at = at + 1
        return Bracket(tuple(ranges), tuple(classes), negated)

    def _bracket_character(self, at: int) -> tuple[str, int]:
        text = self.text
        for kind in "=.":
            if text.startswith("[" + kind, at):
                end = text.find(kind + "]", at + 3)
                if end < 0:
                    raise RegexError("Unmatched [, [^, [:, [., or [=")
                if end != at + 3:
                    raise RegexError("Invalid collation character")
                return text[at + 2], end + 2
        if text[at] == "\\" and at + 1 < len(text):
            named = escaped_character(text, at + 1, self.tool)
            if named:
                return named
            if self.tool == "awk":
                return text[at + 1], at + 2
        return text[at], at + 1


def _looks_like_class(bracket: str) -> bool:
    return len(bracket) > 4 and bracket[1] in ":.=" and bracket[-2] == bracket[1]
