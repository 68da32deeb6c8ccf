"""Regular expressions as POSIX and GNU tools understand them, run by Python's engine.

`compile_basic`, `compile_extended`, `compile_emacs` and `compile_perl` give a `Pattern`, kept in a
cache. Patterns work on str decoded as UTF-8 with surrogateescape: a byte that is not UTF-8 is matched by
no dot and no negated bracket, as in the C library. Matches are leftmost-longest (see regex_longest).
"""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from typing import Literal as OneOf

from planaria_shell.toolkit.regex.longest import (
    Automaton,
    ascii_class,
    first_is_longest,
    has_backreferences,
    may_explode,
    nullable,
    order,
)
from planaria_shell.toolkit.regex.perl import KEEP, translate
from planaria_shell.toolkit.regex.syntax import (
    Alternatives,
    AnyCharacter,
    Assertion,
    Backreference,
    Bracket,
    Character,
    Group,
    Node,
    Parser,
    RegexError,
    Repeat,
    Sequence,
    Syntax,
    Tool,
)

__all__ = [
    "Newline", "Pattern", "RegexError", "compile_basic", "compile_emacs", "compile_extended", "compile_perl",
]  # fmt: skip

#: What a newline is: "text", a character like others (sed, awk, bash); "multiline", never matched by
#: a dot or a negated bracket, and `^` and `$` match beside it (sed's M flag); "lines", the end of a
#: line that no match can hold (a text of many lines searched at once, as grep does).
Newline = OneOf["text", "multiline", "lines"]

_ASSERTIONS = {
    "text_start": r"\A",
    "text_end": r"\Z",
    "word_start": r"\b(?=\w)",
    "word_end": r"\b(?<=\w)",
    "edge": r"\b",
    # Python's \B does not match in an empty text before 3.14.
    "no_edge": r"(?!\b)",
    "no_word_before": r"(?<!\w)",
    "no_word_after": r"(?!\w)",
}
_INVALID = (0xDC80, 0xDCFF)


class Pattern:
    """A compiled expression.

    `groups`: how many captures; `literal`: the text when the expression is plain text; `nullable`:
    it may match nothing; `exact`: the engine's own match is the longest, so that `engine(text)` may
    be used directly; `explosive`: the engine might backtrack without end, `find` and `search` do not.
    """

    __slots__ = (
        "_anywhere", "_ascii", "_automaton", "_fold", "_for_lines", "_newline", "_node", "_unicode",
        "_with_rest", "anchored", "exact", "explosive", "groups", "literal", "nullable",
        "refers_back", "source",
    )  # fmt: skip

    def __init__(self, source: str, node: Node, groups: int, fold: bool, newline: Newline) -> None:
        node = order(node)
        self.source = source
        self.groups = groups
        self._node = node
        self._fold = fold
        self._newline: Newline = newline
        self.literal = _literal(node) if not fold else None
        self.nullable = nullable(node)
        self.refers_back = has_backreferences(node)
        self.exact = self.refers_back or first_is_longest(node, fold, newline != "multiline")
        self.explosive = not self.refers_back and may_explode(node, fold)
        self.exact = self.exact and not self.explosive
        #: Whether it matches at the start of a line only.
        self.anchored = _starts_line(node)
        self._for_lines: Pattern | None = None
        self._with_rest: dict[bool, re.Pattern[str]] = {}
        self._anywhere: Automaton | None = None
        self._ascii = self._compile(node, False)
        self._unicode: re.Pattern[str] | None = None
        self._automaton: Automaton | None = None

    @classmethod
    def of_engine(cls, source: str, compiled: re.Pattern[str]) -> Pattern:
        """A pattern of Python's own engine, with its own rules."""
        pattern = cls.__new__(cls)
        pattern.source = source
        pattern.groups = compiled.groups
        pattern.literal = None
        pattern.nullable = compiled.match("") is not None
        pattern.exact = True
        pattern.explosive = False
        pattern._ascii = pattern._unicode = compiled
        pattern._automaton = None
        pattern.anchored = pattern.refers_back = False
        pattern._newline = "multiline"
        pattern._fold = bool(compiled.flags & re.IGNORECASE)
        return pattern

    def engine(self, text: str) -> re.Pattern[str]:
        """Python's pattern for this text: texts that are ASCII have a simpler and faster one."""
        if text.isascii():
            return self._ascii
        if self._unicode is None:
            self._unicode = self._compile(self._node, True)
        return self._unicode

    def for_lines(self) -> Pattern | None:
        """The same expression, made to find in a text of many lines what it would find in each.

        None where there is no such expression.
        """
        if self._newline != "text" or _looks_beyond(self._node):
            return None
        if self._for_lines is None:
            self._for_lines = Pattern(self.source, self._node, self.groups, self._fold, "lines")
        return self._for_lines

    @property
    def by_lines(self) -> bool:
        """Whether `engine_with_rest` is there for texts of many lines."""
        return self._newline == "lines" and not self.refers_back and not self.explosive

    def engine_with_rest(self, text: str) -> re.Pattern[str]:
        """Like `engine`, with a first group around the expression, and a last one for the rest of the line.

        That takes the newline too, so there is at most one match in a line. Not for what refers back.
        """
        unicode = not text.isascii()
        compiled = self._with_rest.get(unicode)
        if compiled is None:
            inner = _emit(self._node, unicode, self._newline)
            flags = self.engine(text).flags & (re.IGNORECASE | re.ASCII)
            compiled = self._with_rest[unicode] = re.compile(f"({inner})([^\\n]*+\\n)", flags)
        return compiled

    def find(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The leftmost match at or after `start`, not always the longest: to know whether there is one."""
        if self.explosive:
            return self._search_by_automaton(text, start)
        return (self._ascii if text.isascii() else self.engine(text)).search(text, start)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The leftmost match at or after `start`, and of those there the longest."""
        if self.explosive:
            return self._search_by_automaton(text, start)
        found = (self._ascii if text.isascii() else self.engine(text)).search(text, start)
        if found is None or self.exact:
            return found
        return self._lengthen(found, text)

    def match(self, text: str) -> re.Match[str] | None:
        """The longest match at the start of `text`."""
        if self.explosive:
            found = self._search_by_automaton(text, 0)
            return found if found and not found.start() else None
        found = self.engine(text).match(text)
        return found if found is None or self.exact else self._lengthen(found, text)

    def matches_all(self, text: str) -> bool:
        """Whether the expression matches `text` from its start to its end."""
        if self.explosive:
            found = self._search_by_automaton(text, 0)
            return found is not None and found.span() == (0, len(text))
        return self.engine(text).fullmatch(text) is not None

    def _lengthen(self, found: re.Match[str], text: str) -> re.Match[str]:
        try:
            automaton = self._automaton or self._build(self._node)
        except OverflowError:
            # An expression of that size is left to the engine's order.
            self.exact = True
            return found
        self._automaton = automaton
        start = found.start()
        end = automaton.longest(text, start)
        if end is None or end <= found.end():
            return found
        return self.engine(text).fullmatch(text, start, end) or found

    def _build(self, node: Node) -> Automaton:
        return Automaton(node, self._compile_single, self._newline != "text")

    def _search_by_automaton(self, text: str, start: int) -> re.Match[str] | None:
        """Find the leftmost longest match in time that does not explode; the engine only fills its groups."""
        try:
            automaton = self._automaton = self._automaton or self._build(self._node)
            anywhere = self._anywhere = self._anywhere or self._build(
                Sequence((Repeat(AnyCharacter(), 0, None), self._node))
            )
        except OverflowError:
            self.explosive = False
            return self.search(text, start)
        if anywhere.longest(text, start) is None and text.isascii():
            return None
        for place in range(start, len(text) + 1):
            end = automaton.longest(text, place)
            if end is not None:
                engine = self.engine(text)
                return engine.fullmatch(text, place, end) or engine.search(text, place)
        return None

    def _compile_single(self, node: Node) -> re.Pattern[str]:
        return self._compile(node, True)

    def _compile(self, node: Node, unicode: bool) -> re.Pattern[str]:
        flags = re.IGNORECASE if self._fold else re.NOFLAG
        if not unicode:
            flags |= re.ASCII
        try:
            return re.compile(_emit(node, unicode, self._newline), flags)
        except (OverflowError, RecursionError, re.error) as problem:
            raise RegexError("Regular expression too big") from problem


def _starts_line(node: Node) -> bool:
    match node:
        case Assertion("line_start"):
            return True
        case Sequence(parts):
            return bool(parts) and _starts_line(parts[0])
        case Group(_, body):
            return _starts_line(body)
        case Alternatives(options):
            return bool(options) and all(map(_starts_line, options))
    return False


def _looks_beyond(node: Node) -> bool:
    """Whether the expression distinguishes the ends of a text from those of its lines."""
    match node:
        case Assertion(kind):
            return kind in ("text_start", "text_end")
        case Sequence(parts) | Alternatives(parts):
            return any(map(_looks_beyond, parts))
        case Group(_, body) | Repeat(body):
            return _looks_beyond(body)
    return False


def _literal(node: Node) -> str | None:
    match node:
        case Character(text):
            return text
        case Sequence(parts) if all(isinstance(part, Character) for part in parts):
            return "".join(part.text for part in parts if isinstance(part, Character))
    return None


def _emit(node: Node, unicode: bool, newline: Newline) -> str:
    """The expression in Python's syntax."""
    match node:
        case Character(text):
            # A pattern may hold the newline of another line; no line has it.
            return "(?!)" if text == "\n" and newline == "lines" else re.escape(text)
        case AnyCharacter():
            excluded = ("" if newline == "text" else r"\n") + ("\udc80-\udcff" if unicode else "")
            return f"[^{excluded}]" if excluded else "(?s:.)"
        case Bracket():
            return _emit_bracket(node, unicode, newline)
        case Assertion("line_start"):
            return "^" if newline == "text" else "(?m:^)"
        case Assertion("line_end"):
            return r"\Z" if newline == "text" else "(?m:$)"
        case Assertion(kind):
            return _ASSERTIONS[kind]
        case Backreference(index):
            return f"(?:\\{index})"
        case Group(index, body):
            return f"({'' if index else '?:'}{_emit(body, unicode, newline)})"
        case Sequence(parts):
            return "".join(
                f"(?:{_emit(part, unicode, newline)})"
                if isinstance(part, Alternatives)
                else _emit(part, unicode, newline)
                for part in parts
            )
        case Alternatives(options):
            return "|".join(_emit(option, unicode, newline) for option in options) if options else "(?!)"
        case Repeat(body, low, high):
            inner = _emit(body, unicode, newline)
            if isinstance(body, Assertion) or (isinstance(body, Sequence) and not body.parts):
                return inner if low else f"(?:{inner})?"
            if not isinstance(body, Character | Bracket | AnyCharacter) and not (
                isinstance(body, Group) and body.index
            ):
                inner = f"(?:{inner})"
            suffix = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            return inner + (suffix or f"{{{low},{'' if high is None else high}}}")


def _emit_bracket(node: Bracket, unicode: bool, newline: Newline) -> str:
    if unicode:
        ranges = list(node.ranges)
        for name in node.classes:
            ranges += _class_ranges(name)
    else:
        codes = {code for low, high in node.ranges for code in range(low, min(high, 127) + 1)}
        for name in node.classes:
            codes.update(code for code in range(128) if ascii_class(name, code))
        ranges = _to_ranges(sorted(codes))
    if newline == "lines" or (newline == "multiline" and node.negated):
        if node.negated:
            ranges.append((10, 10))
        else:
            ranges = [part for low, high in ranges for part in _without_newline(low, high)]
    if node.negated and unicode:
        ranges.append(_INVALID)
    if not ranges:
        return "(?s:.)" if node.negated else "(?!)"
    inner = "".join(
        _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}" for low, high in ranges
    )
    return f"[{'^' if node.negated else ''}{inner}]"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 128 and not chr(code).isalnum() else chr(code)


def _without_newline(low: int, high: int) -> list[tuple[int, int]]:
    if not low <= 10 <= high:
        return [(low, high)]
    return [part for part in ((low, 9), (11, high)) if part[0] <= part[1]]


def _to_ranges(codes: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges


@cache
def _class_ranges(name: str) -> list[tuple[int, int]]:
    """The code points of a named class, all of Unicode."""
    codes = [code for code in range(128) if ascii_class(name, code)]
    if name not in ("digit", "xdigit"):
        # Beyond the third plane there are no characters of any class.
        codes += [code for code in range(128, min(0x32400, sys.maxunicode)) if _in_class(name, chr(code))]
    return _to_ranges(codes)


def _in_class(name: str, char: str) -> bool:
    match name:
        case "alpha" | "alnum" | "word":
            return char.isalnum()
        case "upper":
            return char.isupper()
        case "lower":
            return char.islower()
        case "space" | "blank":
            # Spaces that forbid a line break are not white space to the C library.
            return char.isspace() and char not in "\x85\xa0\u2007\u202f"
        case "punct":
            return char.isprintable() and not char.isalnum() and not char.isspace()
        case "print":
            return char.isprintable() or char.isspace()
        case "graph":
            return char.isprintable() and not char.isspace()
    return char < "\xa0"


@lru_cache(maxsize=500)
def _compile(pattern: str, syntax: Syntax, fold: bool, newline: Newline, tool: Tool) -> Pattern:
    parser = Parser(pattern, syntax=syntax, tool=tool)
    return Pattern(pattern, parser.node, parser.groups, fold, newline)


def compile_basic(
    pattern: str, *, ignore_case: bool = False, newline: Newline = "text", tool: Tool = "grep"
) -> Pattern:
    """Compile a basic regular expression with the GNU extensions.

    `tool` chooses the escape sequences (sed adds `\\t`, `\\x41` and the like). Raises RegexError.
    """
    return _compile(pattern, "basic", ignore_case, newline, tool)


def compile_extended(
    pattern: str, *, ignore_case: bool = False, newline: Newline = "text", tool: Tool = "grep"
) -> Pattern:
    """Compile an extended regular expression with the GNU extensions; see `compile_basic`.

    `[[ =~ ]]` refuses more than grep does (`tool="bash"`); awk has escapes and rules of its own
    (`tool="awk"`).
    """
    return _compile(pattern, "extended", ignore_case, newline, tool)


def compile_emacs(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """Compile an expression of Emacs, which `find -regex` takes: `+` and `?`, but `\\(`, `\\)` and `\\|`."""
    return _compile(pattern, "emacs", ignore_case, "text", "grep")


@lru_cache(maxsize=500)
def compile_perl(
    pattern: str, *, ignore_case: bool = False, newline: Newline = "text", unicode: bool = False
) -> Pattern:
    """Compile a Perl-compatible regular expression (pcre2pattern(3)) as far as Python's engine goes.

    `unicode`: `\\w`, `\\d`, `\\s` and `\\b` know all of Unicode (as in ripgrep), not ASCII alone (as in
    grep -P). Raises RegexError for what is malformed, and for recursion, branch reset and callouts.
    """
    flags = (re.NOFLAG if unicode else re.ASCII) | (re.IGNORECASE if ignore_case else re.NOFLAG)
    if newline != "text":
        flags |= re.MULTILINE
    try:
        return Pattern.of_engine(pattern, re.compile(translate(pattern), flags))
    except re.error as problem:
        raise RegexError(_perl_message(problem.msg)) from problem


#: What Python's engine says of a pattern, by its beginning, and what PCRE2 does.
_PERL_MESSAGES = {
    "missing ), unterminated": "missing closing parenthesis",
    "unterminated character set": "missing terminating ] for character class",
    "unbalanced parenthesis": "unmatched closing parenthesis",
    "nothing to repeat": "quantifier does not follow a repeatable item",
    "multiple repeat": "quantifier does not follow a repeatable item",
    "min repeat greater": "numbers out of order in {} quantifier",
    "bad character range": "range out of order in character class",
    "invalid group reference": "reference to non-existent subpattern",
    "unknown group name": "reference to non-existent subpattern",
    "look-behind requires": "lookbehind assertion is not fixed length",
    "bad character in group name": "subpattern name must start with a non-digit",
    "bad escape (end": "\\ at end of pattern",
}


def _perl_message(message: str) -> str:
    return next((said for start, said in _PERL_MESSAGES.items() if message.startswith(start)), message)


def match_start(found: re.Match[str]) -> int:
    """Where a match begins for the user: after the last `\\K` of a Perl expression."""
    for name in reversed(list(found.re.groupindex)):
        if name.startswith(KEEP) and found.start(name) >= 0:
            return found.start(name)
    return found.start()
