"""Find the well-formed definitions of functions in a script without parsing them one by one.

A script that defines many functions calls few of them, so their bodies are parsed when they are first called;
but an error in one has to be reported where it is defined. Here all definitions are looked at together:
their texts become an outline in which a letter stands for each word, and regular expressions reduce the
outline of a complete command to one letter, as a bottom-up parser would. The language of the outline is a
part of the shell's: what it does not know (here-documents, arrays, commands in words) stays in the outline
as it is, and such a definition is parsed when it is read.

Letters: `w` a word, `v` one with quotes, `b` and `z` words that are operators of tests; reserved words (`i`
if, `t` then, `e` elif, `l` else, `f` fi, `h` while, `F` for, `n` in, `d` do, `D` done, `c` case, `C` esac,
`[` and `]` for `[[` and `]]`, and braces and `!`); `r` a redirection, `o` one with quotes, `R` one whose
target follows; `A` and-or, `P` a pipe, `;` also `&`, a newline, `K` `;;`; `p` and `y` a pattern of `case`,
plain or with quotes; `q` and `s` a text with one double or single quote (`Q` and `S`: and a semicolon at its
end); `#` a comment; `u` what is only known between quotes, `?` what is not known at all. The reductions make
`x`, a command, `L`, a list, and `G` and `H`, which begin a loop and a case. `(` stands for the brace of the
function itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import filterfalse, repeat

from planaria_shell.syntax.lexer import BRACED, NAMED, PLAIN_WORD

__all__ = ["Definitions", "definitions"]

_DEFINITION = re.compile(
    r"^([A-Za-z_][A-Za-z0-9_:.-]*+)[ \t]*\([ \t]*\)[ \t]*"
    r"(\{ [^\n]*[ ;]\}|\{[ \t]*\n(?:(?!\}|[A-Za-z_][A-Za-z0-9_:.-]*+[ \t]*\()[^\n]*\n)*+\})[ \t]*+$",
    re.MULTILINE,
)
#: Stands between the outlines of definitions.
_BETWEEN = "|"

_RESERVED = {
    "if": "i", "then": "t", "elif": "e", "else": "l", "fi": "f", "while": "h", "until": "h", "for": "F",
    "in": "n", "do": "d", "done": "D", "case": "c", "esac": "C", "{": "{", "}": "}", "!": "!", "[[": "[",
    "]]": "]", "select": "u", "function": "u", "time": "u", "coproc": "u",
}  # fmt: skip
_OPERATORS = {";": ";", "&": ";", ";;": "K", "&&": "A", "||": "A", "|": "P", "|&": "P"}
_COMPARISONS = ("==", "=", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")

_WORD = re.compile(PLAIN_WORD)
_NUMBER = re.compile(r"[0-9]+")
_OPEN_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[[^\]]*\Z")
_REDIRECT = re.compile(r"[0-9]*(?:>>|>\||<>|<<<|>|<)|&>>?")
_DUPLICATE = re.compile(r"[0-9]*[<>]&(?:[0-9]+-?|-)\Z")
_PATTERN = re.compile(rf"\(?{PLAIN_WORD}(?:\|{PLAIN_WORD})*+\)\Z")
#: A piece beside a quote that means the same inside the quotes and outside.
_PIECE = rf"(?:[A-Za-z0-9_./:,%+@^~=*?!-]|{NAMED}|{BRACED})*+"
_ONE_DOUBLE = re.compile(rf'{_PIECE}"{_PIECE}(;?)\Z')
_ONE_SINGLE = re.compile(r"[A-Za-z0-9_./:,%+@^~=*?!-]*+'[A-Za-z0-9_./:,%+@^~=*?!-]*+(;?)\Z")
#: What a word between double quotes must not have in it.
_SPECIAL = re.compile(r"[\"'\\`]|\$\(")
#: What makes a text mean something between quotes that is not known here.
_TOXIC = re.compile(r"[\"'\\`\s]|\$(?![A-Za-z0-9_@*#?$!-])")

# -- reductions ------------------------------------------------------------------------------------

#: Comments, and what stands between quotes.
_LEXED = re.compile(r"#[^\n|]*+|[qQ][^qQvoy?|]*+([qQ])|[sS][^sSvoy?|]*+([sS])")
_ARGUMENT = r"wvbzitelfhFndDcC{}!"
_WORDS = rf"{_ARGUMENT}\[\]"
#: A body, whose last brace is not in a comment.
_BODY = re.compile(r"(?:^|(?<=\|))\{([^|]*)\}(?=\||$)")
_FOR = re.compile(rf"Fw(?:n[{_WORDS}]*+)?[;\n]\n*+")
_CASE = re.compile(r"c[wv]n\n*+")
_TARGET = re.compile(rf"R[{_WORDS}]|o")
_TEST = rf"!*+(?:z[{_ARGUMENT}]|[wv]b[{_ARGUMENT}]|[wv])"
_CONDITION = re.compile(rf"\[{_TEST}(?:A{_TEST})*+\]")
_SIMPLE = re.compile(rf"r*+[wvbz][{_WORDS}r]*+")
_NEWLINES = re.compile(r"([AP({itelhdGHKpy;\n])\n++")
_PIPELINE = re.compile(r"(?<!P)!?x(?:Px)++|(?<!P)!x")
_AND_OR = re.compile(r"x(?:Ax)++")
_LIST = re.compile(r"(?:L|(?<![AP!])x[;\n])++")
_COMPOUND = re.compile(r"(?:iLtL(?:eLtL)*+(?:lL)?+f|hLdLD|GdLD|\{L\}|H(?:[py]L?+x?+K)*+(?:[py]L?+x?+)?+C)r*+")
#: How deep commands may stand in one another.
_DEEPEST = 50

#: Words that differ in digits only are of the same kind, and so are bodies.
_SAME_DIGITS = str.maketrans("123456789", "0" * 9)
_SAME_BYTES = bytes.maketrans(b"123456789", b"0" * 9)
#: Characters of bodies that are remembered.
_MOST_CHARACTERS = 1_000_000


class _Letters(dict[str, str]):
    """The letters for a text between blanks."""

    def __missing__(self, text: str) -> str:
        if len(self) > 8192:
            self.clear()
            self.update(_FIXED)
        # Words that differ in numbers only are of the same kind.
        kind = _NUMBER.sub("1", text)
        self[text] = letters = _letters(text) if kind == text else self[kind]
        return letters


def _letters(text: str) -> str:
    if text.endswith(";") and not _SPECIAL.search(text):
        core = text[:-1]
        if not core.endswith(";"):
            return _LETTERS[core] + ";"
        core = core[:-1]
        return _LETTERS[core] + "K" if not core.endswith(";") else "u"
    if text.startswith("#"):
        return "#" if not _TOXIC.search(text) else "?"
    if _WORD.fullmatch(text):
        if not _OPEN_SUBSCRIPT.match(text) and not re.search(r"\s", text):
            return "v" if _SPECIAL.search(text) else "w"
    elif _DUPLICATE.match(text):
        return "r"
    elif (redirect := _REDIRECT.match(text)) is not None:
        target = text[redirect.end() :]
        if not target:
            return "R"
        if _WORD.fullmatch(target):
            return "o" if _SPECIAL.search(target) else "r"
    elif _PATTERN.match(text):
        return "y" if _SPECIAL.search(text) else "p"
    elif text.endswith(";") and _WORD.fullmatch(text, 0, len(text) - 1):
        return "v;"
    for one, letters in ((_ONE_DOUBLE, "qQ"), (_ONE_SINGLE, "sS")):
        match = one.match(text)
        if match is not None:
            return letters[len(match.group(1))]
    return "?" if _TOXIC.search(text) else "u"


_FIXED = {
    "": "", "\n": "\n", "\0": _BETWEEN, **_RESERVED, **_OPERATORS, **dict.fromkeys(_COMPARISONS, "b"),
    **{f"-{letter}": "z" for letter in "abcdefghkprstuwxGLNOSzRvno"},
}  # fmt: skip
_LETTERS = _Letters(_FIXED)


def _quoted(match: re.Match[str]) -> str:
    closing = match.group(1) or match.group(2)
    if closing is None:
        return ""
    return "v;" if closing in "QS" else "v"


class _Verdicts(dict[str, bool]):
    """Which texts of bodies are well formed, whatever the digits in them (all are 0)."""

    def __init__(self) -> None:
        super().__init__()
        self._characters = 0

    def look_at(self, texts: list[str]) -> None:
        """Have a verdict on each of the texts: scripts and sessions define the same functions again."""
        if self._characters > _MOST_CHARACTERS:
            self.clear()
            self._characters = 0
        unknown = list(dict.fromkeys(filterfalse(self.__contains__, texts)))
        if unknown:
            self._characters += sum(map(len, unknown))
            self.update(zip(unknown, _are_well_formed(unknown), strict=True))


_VERDICTS = _Verdicts()


@dataclass(slots=True)
class Definitions:
    """Definitions of functions in a script, in their order."""

    places: dict[int, int]
    """Which of them begins at a place."""
    names: list[str]
    starts: list[int]
    bodies: list[int]
    """Where the body of each begins."""
    ends: list[int]
    """Where the body of each ends."""

    def run_from(self, first: int) -> int:
        """Which definition is the first behind `first` that does not begin on the line after the last one."""
        starts, ends = self.starts, self.ends
        last = first + 1
        for start in starts[last:]:
            if start != ends[last - 1] + 1:
                break
            last += 1
        return last


def definitions(source: str) -> Definitions:
    """The definitions of functions that begin a line and are known to be well formed.

    (A place may be in a here-document or between quotes: only who comes to it in the course of parsing knows
    that a command begins there.)
    """
    # Digits stay digits, so the places stay the same. Bytes are translated much faster than characters.
    is_ascii = source.isascii()
    alike = source.encode().translate(_SAME_BYTES).decode() if is_ascii else source.translate(_SAME_DIGITS)
    found = list(_DEFINITION.finditer(alike))
    texts = list(map(re.Match.group, found, repeat(2)))
    _VERDICTS.look_at(texts)
    are_known = list(map(_VERDICTS.__getitem__, texts))
    if not (all(are_known) and _RESERVED.keys().isdisjoint(map(re.Match.group, found, repeat(1)))):
        found = [match for match, known in zip(found, are_known, strict=True) if known]
        found = [match for match in found if match[1] not in _RESERVED]
    starts = list(map(re.Match.start, found))
    return Definitions(
        places=dict(zip(starts, range(len(starts)), strict=True)),
        names=list(map(source.__getitem__, map(slice, starts, map(re.Match.end, found, repeat(1))))),
        starts=starts,
        bodies=list(map(re.Match.start, found, repeat(2))),
        ends=list(map(re.Match.end, found, repeat(2))),
    )


def _are_well_formed(bodies: list[str]) -> list[bool]:
    """Which of the bodies are known to be well formed."""
    text = " \0 ".join(bodies).replace("\t", " ").replace("\n", " \n ")
    outline = "".join(map(_LETTERS.__getitem__, text.split(" ")))
    if any(letter in outline for letter in "#qQsS"):
        outline = _LEXED.sub(_quoted, outline)
    outline = _BODY.sub(r"(\1", outline)
    outline = _TARGET.sub("r", _CASE.sub("H", _FOR.sub("G", outline)))
    outline = _SIMPLE.sub("x", _CONDITION.sub("x", outline))
    outline = _NEWLINES.sub(r"\1", outline)
    for _ in range(_DEEPEST):
        before = outline
        if "P" in outline or "!" in outline:
            outline = _PIPELINE.sub("x", outline)
        if "A" in outline:
            outline = _AND_OR.sub("x", outline)
        outline = _COMPOUND.sub("x", _LIST.sub("L", outline))
        if outline == before:
            break
    return [reduced == "(L" for reduced in outline.split(_BETWEEN)]
