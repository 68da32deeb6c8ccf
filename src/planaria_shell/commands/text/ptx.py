"""ptx: a permuted index of a text, each word of it in its context."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_SPACES = frozenset(" \t\n\v\f\r")
_TEX = {ord(c): f"\\{c}" for c in "$%&#_"} | {
    ord("{"): "$\\{$",
    ord("}"): "$\\}$",
    ord("\\"): "\\backslash{}",
}
#: Where a sentence ends.
_SENTENCE = r"[.?!][\]\"')}]*(?:$|\t|  )[ \t\n]*"


@dataclass(slots=True)
class _Text:
    """All input as one text of bytes (a character each), and where each file ends in it."""

    whole: str
    files: list[tuple[str, int, int]]


@dataclass(slots=True)
class _Word:
    """A word in its context; all are places in the text."""

    start: int
    end: int
    left: int
    right: int
    reference: str


@dataclass(slots=True)
class _Layout:
    width: int
    gap: int
    mark: str
    references: bool
    right: bool
    #: Whether the marks are shown; room for them there is anyhow.
    marked: bool
    reference_width: int = 0
    #: The length of the longest word.
    longest: int = 0

    def room(self) -> tuple[int, int, int]:
        """Columns of half a line, and of what stands before the key and from the key on."""
        width = self.width
        if self.references and not self.right:
            width = max(width - self.reference_width - self.gap, 0)
        half = width // 2
        marks = 2 * len(self.mark)
        return half, max(half - self.gap - marks, 0), max(half - marks, 0)


@utility(
    "ptx",
    short="AF:GM:ORS:TW:b:fg:i:o:rtw:",
    long="auto-reference=A flag-truncation=F: traditional=G macro-name=M: right-side-refs=R "
    "sentence-regexp=S: word-regexp=W: break-file=b: ignore-case=f gap-size=g: ignore-file=i: only-file=o: "
    "references=r typeset-mode=t width=w: format:",
    usage="[OPTION]... [INPUT]...",
)
def ptx(call: Invocation) -> Generator[None, None, Status]:
    """Output a permuted index, including context, of the words in the input files."""
    arguments = call.arguments
    macro = arguments.value("M") or "xx"
    style = _style(call)
    layout = _Layout(
        _number(arguments.value("w"), 72, "line width"),
        _number(arguments.value("g"), 3, "gap width"),
        "/" if arguments.value("F") is None else arguments.value("F") or "",
        arguments.has("A", "r"),
        arguments.has("R"),
        style != "tex",
    )
    fold = arguments.has("f")
    text = _read(call)
    words = list(_words(call, text, fold))
    words.sort(key=lambda word: (_key(text.whole[word.start : word.end], fold), word.start))
    if layout.references:
        layout.reference_width = max((len(word.reference) for word in words), default=0)
    layout.longest = max((word.end - word.start for word in words), default=0)
    breaks = _file(call, arguments.value("b") or "") if arguments.has("b") else None
    if breaks is None and arguments.has("G"):
        breaks = " \t\n"
    skip = _skipper(arguments.value("W"), breaks)
    for word in words:
        pieces = _cut(text.whole, word, layout, skip)
        if style == "roff":
            line = _roff(pieces, layout, macro)
        elif style == "tex":
            line = _tex(pieces, layout, macro)
        else:
            line = _line(pieces, layout, arguments.has("A"))
        call.stdout.write(line.encode("latin-1") + b"\n")
        if call.stdout.full:
            yield
    return call.status


def _style(call: Invocation) -> str:
    """The format of the output: "plain", "roff" or "tex"."""
    style = "roff" if call.arguments.has("G") else "plain"
    for key, value in call.arguments:
        if key == "O":
            style = "roff"
        elif key == "T":
            style = "tex"
        elif key == "format":
            style = choose(value or "", ("roff", "tex"), "--format")
    return style


def _number(text: str | None, default: int, what: str) -> int:
    if text is None:
        return default
    if not text.isdigit() or not int(text):
        raise UsageError(f"invalid {what}: {quote(text)}", hint=False)
    return int(text)


def _file(call: Invocation, name: str) -> str:
    try:
        with call.open(name) as source:
            return source.read().decode("latin-1")
    except OSError as error:
        raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None


def _read(call: Invocation) -> _Text:
    whole = ""
    files: list[tuple[str, int, int]] = []
    for name in call.operands or ["-"]:
        start = len(whole)
        whole += _file(call, name)
        if whole and not whole.endswith("\n"):
            whole += "\n"
        files.append(("" if name == "-" else os.fsencode(name).decode("latin-1"), start, len(whole)))
    return _Text(whole, files)


def _key(word: str, fold: bool) -> bytes:
    data = word.encode("latin-1")
    return data.upper() if fold else data


def _pattern(call: Invocation, source: str) -> re.Pattern[str]:
    try:
        return re.compile(source, re.MULTILINE)
    except re.error as problem:
        raise CommandError(f"{problem.msg} (for regexp {quote(source)})") from None


def _words(call: Invocation, text: _Text, fold: bool) -> Iterator[_Word]:
    arguments = call.arguments
    given = arguments.value("S")
    ends = _pattern(call, given if given is not None else "\n" if arguments.has("r", "G") else _SENTENCE)
    breaks = arguments.value("b")
    if (source := arguments.value("W")) is not None:
        word_pattern = _pattern(call, source)
    elif breaks is not None:
        word_pattern = re.compile("[^" + re.escape(_file(call, breaks)) + "]+")
    elif arguments.has("G"):
        word_pattern = re.compile(r"[^ \t\n]+")
    else:
        word_pattern = re.compile(r"[A-Za-z]+")
    ignored = _table(call, arguments.value("i"), fold)
    only = _table(call, arguments.value("o"), fold)
    whole = text.whole
    for name, start, stop in text.files:
        line, counted = 1, start
        context = start
        while context < stop:
            end = _context_end(ends, whole, context, stop)
            reference, begin = "", context
            if arguments.has("r"):
                found = re.compile(r"[^ \t\n]*").match(whole, context, end)
                reference = found[0] if found else ""
                begin = context + len(reference)
                while begin < end and whole[begin] in _SPACES:
                    begin += 1
            right = end
            while right > begin and whole[right - 1] in _SPACES:
                right -= 1
            for found in word_pattern.finditer(whole, begin, right):
                key = _key(found[0], fold)
                if (
                    not found[0]
                    or (ignored is not None and key in ignored)
                    or (only is not None and key not in only)
                ):
                    continue
                if arguments.has("A"):
                    line += whole.count("\n", counted, found.start())
                    counted = found.start()
                    reference = f"{name}:{line}"
                yield _Word(found.start(), found.end(), begin, right, reference)
            context = end


def _context_end(ends: re.Pattern[str], whole: str, start: int, stop: int) -> int:
    if not ends.pattern:
        return stop
    found = ends.search(whole, start, stop)
    return stop if found is None or found.end() == start else found.end()


def _table(call: Invocation, name: str | None, fold: bool) -> set[bytes] | None:
    return None if name is None else {_key(word, fold) for word in _file(call, name).split("\n") if word}


def _skipper(word: str | None, breaks: str | None) -> re.Pattern[str]:
    """What a cut never goes through: a word, or any one character."""
    if word is not None:
        return re.compile(f"(?:{word})|[\\s\\S]")
    inner = r"[A-Za-z]+" if breaks is None else "[^" + re.escape(breaks) + "]+"
    return re.compile(f"{inner}|[\\s\\S]")


@dataclass(slots=True)
class _Pieces:
    """What a line of the index shows: the key, and what stands around it in the text."""

    left: str  # what follows what stands after the key, shown at the left
    before: str
    width: int  # columns of `before`
    key: str
    after: str  # what follows the key
    head: str  # what comes before `before`, shown at the right
    reference: str


def _cut(whole: str, word: _Word, layout: _Layout, skip: re.Pattern[str]) -> _Pieces:
    """The pieces of the context that there is room for."""
    half, before_room, after_room = layout.room()
    mark, gap = layout.mark, layout.gap

    def step(at: int, limit: int) -> int:
        found = skip.match(whole, at, limit)
        return found.end() if found and found.end() > at else at + 1

    def stripped(at: int, least: int) -> int:
        while at > least and whole[at - 1] in _SPACES:
            at -= 1
        return at

    def skipped(at: int, most: int) -> int:
        while at < most and whole[at] in _SPACES:
            at += 1
        return at

    after_start = after_end = word.start
    after_end = cursor = word.end
    while cursor < word.right and cursor <= after_start + after_room:
        after_end = cursor
        cursor = step(cursor, word.right)
    if cursor <= after_start + after_room:
        after_end = cursor
    after_cut = bool(mark) and after_end < word.right
    after_end = stripped(after_end, after_start)

    # What is far to the left cannot be shown, and is not gone through.
    reach = half + layout.longest
    first = word.left
    if after_start - word.left > reach:
        first = step(after_start - reach, after_start)
    before_start, before_end = first, stripped(after_start, first)
    while before_start + before_room < before_end:
        before_start = step(before_start, before_end)
    before_cut = bool(mark) and stripped(before_start, 0) > word.left
    before_start = skipped(before_start, len(whole))

    tail_start = tail_end = 0
    tail_cut = False
    room = before_room - (before_end - before_start) - gap
    if room > 0:
        tail_start = tail_end = cursor = skipped(after_end, len(whole))
        while cursor < word.right and cursor < tail_start + room:
            tail_end = cursor
            cursor = step(cursor, word.right)
        if cursor < tail_start + room:
            tail_end = cursor
        if tail_end > tail_start:
            after_cut = False
            tail_cut = bool(mark) and tail_end < word.right
        tail_end = stripped(tail_end, tail_start)

    head_start = head_end = 0
    head_cut = False
    room = after_room - (after_end - after_start) - gap
    if room > 0:
        head_start, head_end = first, stripped(before_start, 0)
        while head_start + room < head_end:
            head_start = step(head_start, head_end)
        if head_end > head_start:
            before_cut = False
            head_cut = bool(mark) and head_start > word.left
        head_start = skipped(head_start, max(head_end, head_start))

    def shown(start: int, end: int, cut_before: bool = False, cut_after: bool = False) -> str:
        body = re.sub(r"[ \t\n\v\f\r]", " ", whole[start:end])
        sign = mark if layout.marked else ""
        return (sign if cut_before else "") + body + (sign if cut_after else "")

    before = shown(before_start, before_end, cut_before=before_cut)
    # White space is skipped past the key where nothing is before it: a column more.
    width = before_end - before_start + len(mark) * before_cut
    key_end = min(word.end, after_end)
    key = shown(after_start, key_end)
    after = shown(key_end, after_end, cut_after=after_cut)
    left = shown(tail_start, tail_end, cut_after=tail_cut) if tail_start < tail_end else ""
    head = shown(head_start, head_end, cut_before=head_cut) if head_start < head_end else ""
    return _Pieces(left, before, width, key, after, head, word.reference)


def _roff(pieces: _Pieces, layout: _Layout, macro: str) -> str:
    """A call of a macro of roff, with the pieces as its arguments."""
    texts = [pieces.left, pieces.before, pieces.key + pieces.after, pieces.head]
    if layout.references:
        texts.append(pieces.reference)
    quoted = (text.replace('"', '""') for text in texts)
    return f".{macro} " + " ".join(f'"{text}"' for text in quoted)


def _tex(pieces: _Pieces, layout: _Layout, macro: str) -> str:
    """A call of a macro of TeX, with the pieces as its arguments."""
    texts = [pieces.left, pieces.before, pieces.key, pieces.after, pieces.head]
    if layout.references:
        texts.append(pieces.reference)
    return f"\\{macro} " + "".join("{" + text.translate(_TEX) + "}" for text in texts)


def _line(pieces: _Pieces, layout: _Layout, auto: bool) -> str:
    """One line of the index: the end of the context or its part before the key, the key and what follows."""
    half, gap = layout.room()[0], layout.gap
    left, width, after, head = pieces.left, pieces.width, pieces.key + pieces.after, pieces.head
    line = left + " " * (half - gap - width - len(left)) + pieces.before + " " * gap + after
    if head:
        line += " " * (half - len(after) - len(head)) + head
    elif layout.references and layout.right:
        line += " " * (half - len(after))
    if not layout.references:
        return " " * gap + line if not layout.right else line
    if layout.right:
        return line + " " * gap + pieces.reference
    reference = pieces.reference + ":" if auto else pieces.reference
    return reference.ljust(layout.reference_width + gap) + line
