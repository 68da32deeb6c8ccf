"""fmt: fill paragraphs so that lines look even.

The breaks are those of the whole paragraph at the least cost: lines near the goal width, next to each
other of similar length, broken after sentences and punctuation rather than before a short last word.
The costs are GNU fmt's, so that the same text gives the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always

__all__: list[str] = []

_LINE = 70 * 70
_SENTENCE = 50 * 50
_NO_BREAK = 600 * 600
_PARENTHESIS = 40 * 40
_PUNCTUATION = 40 * 40
_WIDOW = 200 * 200
_ORPHAN = 150 * 150
_MAX_COST = 1 << 62
_WORD = re.compile(rb"([^ \t\n\v\f\r]+)([ \t\v\f\r]*)")


_BLANK = b" \t\v\f\r"


@dataclass(slots=True)
class _Word:
    text: bytes
    space: int
    paren: bool = False
    period: bool = False
    punct: bool = False
    final: bool = False
    line_length: int = 0
    best_cost: int = 0
    next_break: int = 0


def _width_option(words: list[str]) -> list[str]:
    if words and re.fullmatch(r"-\d+", words[0]):
        return [f"-w{words[0][1:]}", *words[1:]]
    return words


@dataclass
class _Style:
    crown: bool
    tagged: bool
    split: bool
    uniform: bool
    width: int
    goal: int
    prefix: bytes
    tabs: bool = False
    other_indent: int = 0


@utility(
    "fmt",
    short="cp:stuw:g:",
    long="crown-margin=c prefix=p: split-only=s tagged-paragraph=t uniform-spacing=u width=w: goal=g:",
    usage="[-WIDTH] [OPTION]... [FILE]...",
    rewrite=_width_option,
)
def fmt(call: Invocation) -> Generator[None, None, Status]:
    """Reformat each paragraph in the FILE(s), writing to standard output."""
    arguments = call.arguments
    width = _number(arguments.value("w"), 2500)
    goal = _number(arguments.value("g"), 75 if width is None else width)
    if width is None:
        width = goal + 10 if goal is not None else 75
    if goal is None:
        goal = width * (2 * (100 - 7) + 1) // 200
    style = _Style(
        arguments.has("c"),
        arguments.has("t"),
        arguments.has("s"),
        arguments.has("u"),
        width,
        goal,
        (arguments.value("p") or "").encode("utf-8", "surrogateescape"),
    )
    for name in call.operands or ["-"]:
        try:
            source = call.open(name)
        except OSError as error:
            call.complain(f"cannot open {shell_quote_always(name)} for reading", error)
            continue
        with source:
            for piece in _format(iter(source), style):
                call.stdout.write(piece)
                if call.stdout.full:
                    yield
    return call.status


def _number(text: str | None, highest: int) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) > highest:
        note = ": Numerical result out of range" if text.isdigit() else ""
        raise UsageError(f"invalid width: {quote(text)}{note}", hint=False)
    return int(text)


@dataclass
class _Line:
    raw: bytes
    indent: int
    prefix_indent: int
    words: bytes


def _measure(raw: bytes, style: _Style) -> _Line | None:
    """A line that belongs to a paragraph; None for one that is copied as it is."""
    body = raw.removesuffix(b"\n")
    if b"\t" in body:
        style.tabs = True
    lead = len(style.prefix) - len(style.prefix.lstrip(b" "))
    full = style.prefix[lead:]
    stripped = full.rstrip(b" ")
    rest = body.lstrip(_BLANK)
    column = len(body[: len(body) - len(rest)].expandtabs())
    prefix_indent = column
    if stripped:
        if not rest.startswith(stripped):
            return None
        text = rest[len(stripped) :]
        rest = text.lstrip(_BLANK)
        column = len((b" " * (column + len(stripped)) + text[: len(text) - len(rest)]).expandtabs())
    else:
        prefix_indent = min(lead, column)
    if not rest or prefix_indent < lead or column < prefix_indent + len(full):
        return None
    return _Line(raw, column, prefix_indent, rest)


def _format(lines: Iterator[bytes], style: _Style) -> Iterator[bytes]:
    raw = next(lines, None)
    while raw is not None:
        line = _measure(raw, style)
        if line is None:
            yield raw if raw.strip() else b"\n"
            raw = next(lines, None)
            continue
        paragraph = [line]
        raw = next(lines, None)
        other = line.indent
        follower = _measure(raw, style) if raw is not None else None
        same = follower is not None and follower.prefix_indent == line.prefix_indent
        if style.split:
            pass
        elif style.crown or style.tagged:
            if same and follower and (style.crown or follower.indent != line.indent):
                other = follower.indent
            elif style.tagged:
                # The indent of the paragraph before stays unless it would hide where a paragraph starts.
                other = style.other_indent
                if other == line.indent:
                    other = 0 if line.indent else 3
        style.other_indent = other
        joins = not style.split and not (style.tagged and follower and follower.indent == line.indent)
        while joins and same and follower and follower.indent == other:
            paragraph.append(follower)
            raw = next(lines, None)
            follower = _measure(raw, style) if raw is not None else None
            same = follower is not None and follower.prefix_indent == line.prefix_indent
        yield from _fill(paragraph, line.indent, other, style)


def _words(paragraph: list[_Line], uniform: bool) -> list[_Word]:
    words: list[_Word] = []
    for line in paragraph:
        column = line.indent
        for match in _WORD.finditer(line.words.rstrip()):
            text, gap = match.groups()
            column += len(text)
            space = len((b" " * (column % 8) + gap).expandtabs()) - column % 8
            column += space
            word = _Word(text, space)
            word.paren = text[0] in b"([`'\""
            word.punct = text[-1:] in _PUNCTUATION_MARKS
            core = text[:1] + text[1:].rstrip(b")]'\"")
            word.period = core[-1] in b".?!"
            at_end = not gap
            word.final = word.period and (at_end or space > 1)
            if at_end or uniform:
                word.space = 2 if word.final else 1
            words.append(word)
    words[-1].period = words[-1].final = True
    return words


_PUNCTUATION_MARKS = frozenset(bytes([c]) for c in range(33, 127) if not chr(c).isalnum())


def _fill(paragraph: list[_Line], first: int, other: int, style: _Style) -> Iterator[bytes]:
    words = _words(paragraph, style.uniform)
    end = len(words)
    costs = [0] * (end + 1)
    for start in range(end - 1, -1, -1):
        best = _MAX_COST
        word = words[start]
        length = (first if start == 0 else other) + len(word.text)
        at = start
        while True:
            at += 1
            cost = costs[at]
            if at < end:
                cost += (10 * (style.goal - length)) ** 2
                if words[at].next_break != end:
                    cost += (10 * (length - words[at].line_length)) ** 2 // 2
            if cost < best:
                best = cost
                word.next_break = at
                word.line_length = length
            if at == end:
                break
            length += words[at - 1].space + len(words[at].text)
            if length >= style.width:
                break
        costs[start] = best + _base_cost(words, start)
    at = 0
    prefix = style.prefix.strip(b" ")
    while at < end:
        stop = words[at].next_break
        indent = first if at == 0 else other
        out = bytearray()
        column = _pad(out, 0, paragraph[0].prefix_indent, style.tabs)
        out += prefix
        column += len(prefix)
        column = _pad(out, column, indent - column, style.tabs)
        for index in range(at, stop):
            word = words[index]
            out += word.text
            column += len(word.text)
            if index < stop - 1:
                column = _pad(out, column, word.space, style.tabs)
        yield bytes(out) + b"\n"
        at = stop


def _pad(out: bytearray, column: int, space: int, tabs: bool) -> int:
    """Append blanks, as tabs where the text had tabs; returns the column after them."""
    target = column + space
    if tabs:
        tab_target = target // 8 * 8
        if column + 1 < tab_target:
            while column < tab_target:
                out += b"\t"
                column = (column // 8 + 1) * 8
    out += b" " * (target - column)
    return max(target, column)


def _base_cost(words: list[_Word], at: int) -> int:
    """The cost of a line that starts with this word, apart from its length."""
    word = words[at]
    cost = _LINE
    if at:
        before = words[at - 1]
        if before.period:
            cost += -_SENTENCE if before.final else _NO_BREAK
        elif before.punct:
            cost -= _PUNCTUATION
        elif at > 1 and words[at - 2].final:
            cost += _WIDOW // (len(before.text) + 2)
    if word.paren:
        cost -= _PARENTHESIS
    elif word.final:
        cost += _ORPHAN // (len(word.text) + 2)
    return cost
