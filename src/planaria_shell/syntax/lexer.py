"""Words: from source text to parts, and the skipping of what stands between them.

`Lexer` knows quoting, expansions and here-documents; `parser.Parser` adds the grammar of commands on top.
Both work on one string and one position, since the shell's tokens depend on where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.syntax.expansion_lexer import ExpansionLexer, Grammar
from planaria_shell.syntax.nodes import DoubleQuoted, Literal, Parameter, Part, Quoted, Redirect, Word
from planaria_shell.syntax.quoting import without_quotes

__all__ = [
    "BRACED",
    "NAMED",
    "PLAIN_WORD",
    "RESERVED_WORD",
    "TOKEN",
    "WORD",
    "WORDS",
    "Lexer",
    "PlainTexts",
]

T = TypeVar("T")

RESERVED_WORD = re.compile(
    r"(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|time|coproc|\{|\}|!|\[\[|\]\])"
    r"(?=[\s;&|()<>]|$)"
)
#: Operators and words, to show what was not expected.
TOKEN = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)")
WORD = re.compile(r"[^\s;&|()<>]+")


_BLANK = re.compile(r"(?:[ \t]|\\\n)*+")
_GAP = re.compile(r"(?:[ \t\n]|\\\n|#[^\n]*+)*+")
#: What begins a stretch that means nothing: on a line, and between lines.
_BLANKS = frozenset(["", " ", "\t", "\\", "#"])
_BETWEEN = _BLANKS | {"\n"}
_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"`$]+")
_PLAIN_NESTED = re.compile(r"[^()\\'\"`$]+")

NAMED = r"\$(?:[A-Za-z_][A-Za-z0-9_]*+|[0-9@*#?$!-])"
BRACED = (
    r"\$\{[!#]?(?:[A-Za-z_][A-Za-z0-9_]*+|[0-9]++|[@*#?$!-])"
    + rf"(?:[^{{}}\[\]\\'\"`$()<>\n]|{NAMED}|\[(?:[^{{}}\[\]\\'\"`$()<>\n]|{NAMED})*+\])*+\}}"
)
#: A word that a regular expression can recognise: no command is in it, and it ends before a blank or the end
#: of a command. Most words are like this. (One that matches and means something else is found by the lexer.)
PLAIN_WORD = (
    r"(?:[^ \t\n;&|()<>\\'\"`$]++|'[^']*+'|" + NAMED + "|" + BRACED + r"|\\[^\n]"
    r"|\"(?:[^\"\\`$]++|\\[^\n]|" + NAMED + "|" + BRACED + r")*+\""
    r"|\$\(\((?:[^()'\"`\\$\n]|" + NAMED + r"|\([^()'\"`\\$\n]*+\))*+\)\))++(?=[ \t\n;|&)]|\Z)"
)
_PLAIN_WORD = re.compile(PLAIN_WORD)
#: How many words are kept, and how long they may be.
_MOST_KEPT = 4096
_LONGEST_KEPT = 256


#: What may stand for several values.
_LISTS = re.compile("[*@]")


def _joined_by_blanks(parts: list[Part]) -> list[Part]:
    """The parts of a here-document, where the positional parameters of `$*` are joined by blanks whatever IFS
    is, and so are the elements of an array that something is done to, unless that is replacing in them."""
    return [_joined_by_blank(part) for part in parts]


def _joined_by_blank(part: Part) -> Part:
    if isinstance(part, DoubleQuoted):
        return DoubleQuoted(_joined_by_blanks(part.parts))
    if not isinstance(part, Parameter):
        return part
    changed = replace(part)
    replaces = part.operator[:1] in ("/", "^", ",", "~") and bool(part.operator)
    if part.name == "*" and not replaces:
        changed.name = "@"
    elif (
        part.subscript is not None
        and part.subscript.source == "*"
        and (part.operator or part.keys)
        and not replaces
    ):
        changed.subscript = Word([Literal("@")], "@")
    subscript = changed.subscript
    changed.blanks = "@" in (changed.name, changed.prefix) or (
        subscript is not None and subscript.source == "@"
    )
    if part.argument is not None:
        changed.argument = Word(_joined_by_blanks(part.argument.parts), part.argument.source)
    return changed


class Lexer(ExpansionLexer):
    """Reads words from `source`; `line` is the number of its first line."""

    def __init__(
        self,
        source: str,
        *,
        line: int = 1,
        extglob: bool = False,
        grammar: Grammar | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(source, line=line, extglob=extglob, grammar=grammar, aliases=aliases)
        #: Here-documents whose bodies start after the next newline.
        self.pending: list[Redirect] = []
        #: Raise EOFError for a here-document that the source does not end.
        self.documents_must_end = False
        #: How many command substitutions the current position is in.
        self.enclosing = 0

    # -- between words -----------------------------------------------------------------------------

    def skip(self) -> str:
        """Skip blanks and a comment; return the character found ("" at the end)."""
        source = self.source
        position = self.position
        char = source[position : position + 1]
        if char == " ":
            # The most common: one blank.
            position += 1
            char = source[position : position + 1]
        if char not in _BLANKS:
            self.position = position
            if self.continued and char in "&|;<>":
                self.join_operator(position)
            return char
        match = _BLANK.match(source, position)
        assert match is not None
        position = match.end()
        if source.startswith("#", position):
            position = source.find("\n", position)
            if position < 0:
                position = len(source)
        self.position = position
        char = source[position : position + 1]
        if self.continued and char and char in "&|;<>":
            self.join_operator(position)
        return char

    def join_operator(self, place: int) -> None:
        """Have an operator that backslashes before newlines cut stand in one piece at `place`."""
        for behind in range(place + 1, place + 3):
            if self.source[behind - 1 : behind] not in ("&", "|", ";", "<", ">"):
                return
            self.unfold(behind)

    def newlines(self) -> str:
        """Skip newlines, blanks and comments, reading here-documents that wait."""
        source = self.source
        position = self.position
        char = source[position : position + 1]
        if char == " ":
            # The most common: one blank.
            position += 1
            char = source[position : position + 1]
        if char not in _BETWEEN:
            self.position = position
            return char
        if self.pending:
            char = self.skip()
            if char != "\n":
                return char
            self.newline()
        match = _GAP.match(source, self.position)
        assert match is not None
        self.position = position = match.end()
        return source[position : position + 1]

    def newline(self) -> None:
        """Step over a newline and read the here-documents announced before it."""
        self.position += 1
        if self.pending:
            pending, self.pending = self.pending, []
            for redirect in pending:
                self._here_document(redirect)

    def _here_document(self, redirect: Redirect) -> None:
        source = self.source
        strip = redirect.operator == "<<-"
        delimiter = redirect.target.constant()
        if delimiter is None:
            # Nothing in it is expanded, but quotes go.
            delimiter = without_quotes(redirect.target.source)
        lines: list[str] = []
        first = self.line()
        #: The line so far, when a backslash joins the next to it; and where it begins among the lines.
        logical = ""
        begin = 0
        while self.position < len(source):
            end = source.find("\n", self.position)
            stop = end if end >= 0 else len(source)
            text = source[self.position : stop]
            self.position = min(stop + 1, len(source))
            if strip and not logical:
                text = text.lstrip("\t")
            if logical + text == delimiter:
                del lines[begin:]
                break
            if self.enclosing and text.startswith(delimiter) and ")" in text[len(delimiter) :]:
                # `$(cat <<X … X)`: the rest of the line goes on behind the document.
                self.position = stop - len(text) + len(delimiter)
                self._document_cut_short(redirect, delimiter)
                break
            lines.append(text + ("\n" if end >= 0 else ""))
            # In an unquoted here-document a backslash before the newline joins two lines.
            if not redirect.quoted and (len(text) - len(text.rstrip("\\"))) % 2 == 1:
                logical += text[:-1]
            else:
                logical = ""
                begin = len(lines)
        else:
            if self.documents_must_end:
                raise EOFError
            self._document_cut_short(redirect, delimiter)
        body = "".join(lines)
        if body and not body.endswith("\n"):
            body += "\n"
        if redirect.quoted:
            redirect.target = Word([Quoted(body)], body)
        else:
            inner = self.inner(body, first)
            parts = inner.double_quoted(here_document=True)
            if _LISTS.search(body):
                parts = _joined_by_blanks(parts)
            redirect.target = Word([DoubleQuoted(parts)], body)

    def _document_cut_short(self, redirect: Redirect, delimiter: str) -> None:
        line = self.line() - self.source.endswith("\n", 0, self.position)
        self.warnings.append(
            (line, f"here-document at line {redirect.line} delimited by end-of-file (wanted `{delimiter}')")
        )

    def unexpected(self, *, on_line: bool = False) -> ShellSyntaxError:
        """The error for the token at the current position. `on_line`: what is missing here must stand on this
        line, so what is wrong at the end of the source is that a line ends there."""
        char = self.skip()
        if char == "" and not on_line:
            error = self.fail("syntax error: unexpected end of file", incomplete=True)
            if not self.source.endswith("\n"):
                error.line += 1
            return error
        if char in ("\n", ""):
            token = "newline"
        else:
            match = TOKEN.match(self.source, self.position) or WORD.match(self.source, self.position)
            token = match.group() if match is not None else char
        return self.fail(f"syntax error near unexpected token `{token}'")

    # -- words -------------------------------------------------------------------------------------

    def word(self) -> Word | None:
        """The word at the current position, or None when an operator or the end is there."""
        start = self.position
        match = _PLAIN_WORD.match(self.source, start)
        if match is not None:
            try:
                word = WORDS[match.group()]
            except KeyError:
                pass
            else:
                self.position = match.end()
                return word
        parts = self.unquoted()
        if self.position == start:
            return None
        return Word(parts, self.source[start : self.position])

    def unquoted(self) -> list[Part]:
        """Parts up to a metacharacter."""
        source = self.source
        parts: list[Part] = []
        while True:
            match = _PLAIN.match(source, self.position)
            if match is not None:
                text = match.group()
                self.position = match.end()
                if source.startswith("(", self.position) and text[-1] in "?*+@!" and self.extglob:
                    parts.append(Literal(text))
                    self.parenthesised(parts)
                    continue
                parts.append(Literal(text))
            char = source[self.position : self.position + 1]
            if char == "\\":
                self.backslash(parts)
            elif char in ("'", '"', "`", "$") and char:
                parts.append(self._quote_or_dollar(char))
                source = self.source  # which an alias in a command substitution changes
            elif char and char in "<>" and source.startswith("(", self.position + 1):
                parts.append(self.process_substitution(char))
                source = self.source
            else:
                return parts

    def _quote_or_dollar(self, char: str) -> Part:
        if char == "'":
            return self.single_quoted()
        if char == '"':
            self.position += 1
            return DoubleQuoted(self.double_quoted())
        if char == "`":
            return self.backquoted(in_double_quotes=False)
        return self.dollar(in_double_quotes=False)

    def parenthesised(self, parts: list[Part]) -> None:
        """Parentheses (of an extended pattern) and all that is in them, as parts of a word."""
        source = self.source
        start = self.position
        depth = 0
        while True:
            char = source[self.position : self.position + 1]
            if char == "(":
                depth += 1
                parts.append(Literal(char))
                self.position += 1
            elif char == ")":
                depth -= 1
                parts.append(Literal(char))
                self.position += 1
                if depth == 0:
                    return
            elif char == "\\":
                self.backslash(parts)
            elif char == "":
                raise self.unmatched(")", start)
            elif char in "'\"`$":
                parts.append(self._quote_or_dollar(char))
                source = self.source
            else:
                match = _PLAIN_NESTED.match(source, self.position)
                assert match is not None
                parts.append(Literal(match.group()))
                self.position = match.end()


class PlainTexts(dict[str, T]):
    """What was read from texts that mean the same wherever they stand, by these texts.

    The regular expression of plain words only proposes: a text of which the lexer reads less or more than all
    raises KeyError, and is read where it stands.
    """

    def __init__(self, read: Callable[[str], tuple[T, int]]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> T:
        try:
            made, end = self._read(text)
        except ShellSyntaxError:
            raise KeyError(text) from None
        if end != len(text):
            raise KeyError(text)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[text] = made
        return made


def _read_word(text: str) -> tuple[Word, int]:
    if _PLAIN.fullmatch(text) is not None:
        return Word([Literal(text)], text), len(text)
    lexer = Lexer(text)
    return Word(lexer.unquoted(), text), lexer.position


WORDS = PlainTexts(_read_word)
