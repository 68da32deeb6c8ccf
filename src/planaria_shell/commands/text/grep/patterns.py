"""The patterns of one grep command as one compiled pattern."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from planaria_shell.toolkit.regex.posix import Newline, Pattern, compile_perl
from planaria_shell.toolkit.regex.syntax import (
    Alternatives,
    Assertion,
    Character,
    Group,
    Node,
    Parser,
    RegexError,
    Sequence,
)

#: Perl syntax that may match a newline or look across one: such patterns see one line at a time.
_CROSSES = re.compile(r"\[\^|\\[sSWDHNRXvVAzZGnxpPocK0]|\(\?[=!<>a-z^|-]|\(\?#|\[\[?:|\n")


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern, and whether a text of many lines may be searched at once."""

    pattern: Pattern
    whole_text: bool
    warnings: tuple[str, ...]


def crosses_lines(pattern: str) -> bool:
    """Whether a Perl expression might match or look at a newline, so that it must see single lines."""
    return bool(_CROSSES.search(pattern))


@lru_cache(maxsize=50)
def compile_patterns(
    patterns: tuple[str, ...], matcher: str, *, fold: bool, words: bool, whole_lines: bool, null_data: bool
) -> Matcher:
    """Compile patterns of which any may match; `matcher` is E, F, G or P. Raises RegexError."""
    newline: Newline = "text" if null_data else "lines"
    if matcher == "P":
        if len(patterns) > 1:
            raise RegexError("the -P option only supports a single pattern")
        source = patterns[0]
        if whole_lines:
            source = f"^(?:{source})$"
        elif words:
            source = rf"(?<!\w)(?:{source})(?!\w)"
        crosses = null_data or crosses_lines(patterns[0])
        return Matcher(
            compile_perl(source, ignore_case=fold, newline="text" if crosses else "lines"), not crosses, ()
        )
    groups = 0
    options: list[Node] = []
    warnings: list[str] = []
    if matcher == "F":
        options = [_words(sorted(set(patterns)))] if patterns else []
    else:
        for pattern in dict.fromkeys(patterns):
            parser = Parser(pattern, syntax="extended" if matcher == "E" else "basic", groups=groups)
            groups = parser.groups
            options.append(parser.node)
            warnings += parser.warnings
    # Without any pattern (an empty pattern file) nothing matches.
    node: Node = options[0] if len(options) == 1 else Alternatives(tuple(options))
    if whole_lines or words:
        before, after = ("line_start", "line_end") if whole_lines else ("no_word_before", "no_word_after")
        node = Sequence((Assertion(before), Group(0, node), Assertion(after)))  # type: ignore[arg-type]
    compiled = Pattern("\n".join(patterns), node, groups, fold, newline)
    return Matcher(compiled, not null_data and not compiled.explosive, tuple(warnings))


def _words(words: list[str]) -> Node:
    """Plain texts, sorted and without duplicates, as a tree that shares beginnings."""
    if len(words) == 1:
        return Sequence(tuple(map(Character, words[0])))
    options: list[Node] = []
    at = 1 if words and not words[0] else 0
    while at < len(words):
        end = at
        while end < len(words) and words[end][0] == words[at][0]:
            end += 1
        first, last = words[at], words[end - 1]
        common = 1
        while common < min(len(first), len(last)) and first[common] == last[common]:
            common += 1
        head = tuple(map(Character, first[:common]))
        rest = [word[common:] for word in words[at:end]]
        options.append(
            Sequence((*head, Group(0, _words(rest))))
            if end - at > 1
            else Sequence(tuple(map(Character, first)))
        )
        at = end
    if words and not words[0]:
        options.append(Sequence(()))
    return options[0] if len(options) == 1 else Alternatives(tuple(options))
