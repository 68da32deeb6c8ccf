"""Words: from source text to parts, and the skipping of what stands between them.

`Lexer` knows quoting, expansions and here-documents; `parser.Parser` adds the grammar of commands on top.
Both work on one string and one position, since the shell's tokens depend on where they stand.
"""

from __future__ import annotations

import re

from .syntax import (
    Arithmetic,
    DoubleQuoted,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Quoted,
    Redirect,
    Sequence,
    Substitution,
    Word,
)

__all__ = ["Lexer", "ShellSyntaxError", "ansi_c"]


class ShellSyntaxError(Exception):
    """The source is not well formed; `incomplete` when more input could complete it."""

    def __init__(self, message: str, line: int, *, incomplete: bool = False, source_line: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.incomplete = incomplete
        #: The offending line, which bash shows on a line of its own.
        self.source_line = source_line


_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"`$]+")
_PLAIN_NESTED = re.compile(r"[^()\\'\"`$]+")
_PLAIN_DOUBLE = re.compile(r"[^\\\"`$]+")
_PLAIN_HEREDOC = re.compile(r"[^\\`$]+")
#: What means nothing anywhere in an argument of `${…}` or in a subscript.
_ARGUMENT = re.compile(r"[A-Za-z0-9_.,=+@*%^ \t-]+")
_NEVER_SPECIAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,=+@*%^ \t-")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_LENGTH = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?=[}\[])")
_INDIRECT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|#|[@*?$!](?=[^}])")
_PREFIX = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)([*@])\}")
_OPERATOR = re.compile(r":[-=+?]|[-=+?]|##?|%%?|/[/#%]?|\^\^?|,,?|~~?|@|:")
_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})"
    r"|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def ansi_c(text: str) -> str:
    """Replace the escapes of `$'…'`; bytes become characters as UTF-8 has them, text ends at a NUL."""
    if "\\" not in text:
        return text
    raw = False

    def replace(match: re.Match[str]) -> str:
        nonlocal raw
        letter, octal, braced, hexadecimal, short, long, control = match.groups()
        if letter is not None:
            return _ANSI_LETTERS[letter]
        if control is not None:
            return chr(ord(control.upper()) & 0x1F) if control != "?" else "\x7f"
        if short is not None or long is not None:
            code = int(short or long, 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        number = int(octal, 8) & 0xFF if octal is not None else int(braced or hexadecimal, 16) & 0xFF
        if number < 0x80:
            return chr(number)
        raw = True
        return chr(0xDC00 + number)

    result = _ANSI.sub(replace, text)
    if raw:
        result = result.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return result.partition("\0")[0]


class Lexer:
    """Reads words from `source`; `line` is the number of its first line."""

    def __init__(self, source: str, *, line: int = 1, extglob: bool = False) -> None:
        self.source = source
        self.position = 0
        self.extglob = extglob
        self._counted = 0
        self._line = line
        #: Here-documents whose bodies start after the next newline.
        self.pending: list[Redirect] = []
        #: Raise EOFError for a here-document that the source does not end.
        self.documents_must_end = False

    # -- places and errors -------------------------------------------------------------------------

    def line(self) -> int:
        """The number of the line at the current position."""
        if self.position >= self._counted:
            self._line += self.source.count("\n", self._counted, self.position)
        else:
            self._line -= self.source.count("\n", self.position, self._counted)
        self._counted = self.position
        return self._line

    def fail(self, message: str, *, incomplete: bool = False, show: bool = True) -> ShellSyntaxError:
        """An error at the current position."""
        number = self.line()
        start = self.source.rfind("\n", 0, self.position) + 1
        end = self.source.find("\n", self.position)
        text = self.source[start : end if end >= 0 else len(self.source)]
        return ShellSyntaxError(
            message, number, incomplete=incomplete, source_line=text if show and not incomplete else ""
        )

    def unmatched(self, closer: str) -> ShellSyntaxError:
        """The error for a quote or bracket that is never closed."""
        self.position = len(self.source)
        return self.fail(f"unexpected EOF while looking for matching `{closer}'", incomplete=True)

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
        if char and char not in " \t\\#":
            self.position = position
            return char
        match = _BLANK.match(source, position)
        assert match is not None
        position = match.end()
        if source.startswith("#", position):
            position = source.find("\n", position)
            if position < 0:
                position = len(source)
        self.position = position
        return source[position : position + 1]

    def newlines(self) -> str:
        """Skip newlines, blanks and comments, reading here-documents that wait."""
        char = self.skip()
        while char == "\n":
            self.newline()
            char = self.skip()
        return char

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
            delimiter = redirect.target.source
        lines: list[str] = []
        first = self.line()
        continued = False
        while self.position < len(source):
            end = source.find("\n", self.position)
            stop = end if end >= 0 else len(source)
            text = source[self.position : stop]
            self.position = min(stop + 1, len(source))
            if strip and not continued:
                text = text.lstrip("\t")
            if text == delimiter and not continued:
                break
            if stop == len(source) and self.closes_here_document(text, delimiter, stop):
                break
            # In an unquoted here-document a backslash before the newline joins two lines.
            continued = not redirect.quoted and (len(text) - len(text.rstrip("\\"))) % 2 == 1
            lines.append(text + ("\n" if end >= 0 else ""))
        else:
            if self.documents_must_end:
                raise EOFError
        body = "".join(lines)
        if redirect.quoted:
            redirect.target = Word([Quoted(body)], body)
        else:
            inner = self.inner(body, first)
            redirect.target = Word([DoubleQuoted(inner.double_quoted(here_document=True))], body)

    def closes_here_document(self, text: str, delimiter: str, stop: int) -> bool:
        """Whether a last line without newline is `DELIMITER)` as in `$(cat <<X … X)`; then step back."""
        if text.startswith(delimiter) and text[len(delimiter) :].lstrip().startswith(")"):
            self.position = stop - len(text) + len(delimiter)
            return True
        return False

    def inner(self, source: str, line: int) -> Lexer:
        """A lexer of the same kind over other text (a here-document, backquotes)."""
        return type(self)(source, line=line, extglob=self.extglob)

    # -- words -------------------------------------------------------------------------------------

    def word(self) -> Word | None:
        """The word at the current position, or None when an operator or the end is there."""
        start = self.position
        source = self.source
        match = _PLAIN.match(source, start)
        if match is not None:
            # The most common: nothing in it is special.
            end = match.end()
            following = source[end : end + 1]
            if following and following in " \n;":
                self.position = end
                text = match.group()
                return Word([Literal(text)], text)
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
                    self._nested_pattern(parts)
                    continue
                parts.append(Literal(text))
            char = source[self.position : self.position + 1]
            if char == "\\":
                self._backslash(parts)
            elif char in ("'", '"', "`", "$") and char:
                parts.append(self._quote_or_dollar(char))
            elif char and char in "<>" and source.startswith("(", self.position + 1):
                parts.append(self._process_substitution(char))
            else:
                return parts

    def _backslash(self, parts: list[Part]) -> None:
        following = self.source[self.position + 1 : self.position + 2]
        self.position += 2
        if following == "\n":
            return
        if not following:
            self.position = len(self.source)
            parts.append(Quoted("\\"))
        else:
            parts.append(Quoted(following))

    def _quote_or_dollar(self, char: str) -> Part:
        if char == "'":
            return self._single_quoted()
        if char == '"':
            self.position += 1
            return DoubleQuoted(self.double_quoted())
        if char == "`":
            return self._backquoted(in_double_quotes=False)
        return self._dollar(in_double_quotes=False)

    def _single_quoted(self) -> Quoted:
        end = self.source.find("'", self.position + 1)
        if end < 0:
            raise self.unmatched("'")
        text = self.source[self.position + 1 : end]
        self.position = end + 1
        return Quoted(text)

    def _nested_pattern(self, parts: list[Part]) -> None:
        """The parenthesised alternatives of an extended pattern; all in it belongs to the word."""
        source = self.source
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
                self._backslash(parts)
            elif char == "":
                raise self.unmatched(")")
            elif char in "'\"`$":
                parts.append(self._quote_or_dollar(char))
            else:
                match = _PLAIN_NESTED.match(source, self.position)
                assert match is not None
                parts.append(Literal(match.group()))
                self.position = match.end()

    def double_quoted(self, *, here_document: bool = False) -> list[Part]:
        """Parts up to the closing double quote (or the end of a here-document)."""
        source = self.source
        parts: list[Part] = []
        plain = _PLAIN_HEREDOC if here_document else _PLAIN_DOUBLE
        escapable = "$`\\" if here_document else '$`"\\'
        while True:
            match = plain.match(source, self.position)
            if match is not None:
                parts.append(Quoted(match.group()))
                self.position = match.end()
            char = source[self.position : self.position + 1]
            if char == '"':
                self.position += 1
                return parts
            if char == "\\":
                following = source[self.position + 1 : self.position + 2]
                self.position += 2
                if following == "\n":
                    continue
                parts.append(Quoted(following if following and following in escapable else "\\" + following))
            elif char == "`":
                parts.append(self._backquoted(in_double_quotes=not here_document))
            elif char == "$":
                parts.append(self._dollar(in_double_quotes=True))
            else:
                if here_document:
                    return parts
                raise self.unmatched('"')

    # -- dollars -----------------------------------------------------------------------------------

    def _dollar(self, *, in_double_quotes: bool) -> Part:
        source = self.source
        start = self.position
        following = source[start + 1 : start + 2]
        if following == "{":
            self.position = start + 2
            return self._braced(in_double_quotes, start)
        if following == "(":
            if source.startswith("((", start + 1):
                self.position = start + 3
                expression = self.arithmetic("))")
                if expression is not None:
                    return Arithmetic(expression)
            self.position = start + 2
            return Substitution(self.enclosed())
        if following == "[":
            self.position = start + 2
            expression = self.arithmetic("]")
            if expression is None:
                raise self.unmatched("]")
            return Arithmetic(expression)
        if not in_double_quotes:
            if following == "'":
                return self._ansi_quoted()
            if following == '"':
                self.position = start + 2
                return DoubleQuoted(self.double_quoted())
        match = _PARAMETER.match(source, start + 1)
        if match is None:
            self.position = start + 1
            return Quoted("$") if in_double_quotes else Literal("$")
        name = match.group()
        if name.isdigit():
            name = name[0]
            self.position = start + 2
        else:
            self.position = match.end()
        return Parameter(name)

    def _ansi_quoted(self) -> Quoted:
        position = self.position + 2
        source = self.source
        while True:
            end = source.find("'", position)
            if end < 0:
                raise self.unmatched("'")
            backslashes = end - 1
            while backslashes >= self.position + 2 and source[backslashes] == "\\":
                backslashes -= 1
            if (end - 1 - backslashes) % 2 == 0:
                break
            position = end + 1
        text = source[self.position + 2 : end]
        self.position = end + 1
        return Quoted(ansi_c(text))

    def enclosed(self) -> Sequence:
        """The program up to a closing parenthesis, which is stepped over."""
        raise NotImplementedError

    def program(self) -> Sequence:
        """All of the source as one program."""
        raise NotImplementedError

    def _backquoted(self, *, in_double_quotes: bool) -> Substitution:
        line = self.line()
        source = self.source
        position = self.position + 1
        text: list[str] = []
        escapable = '$`\\"' if in_double_quotes else "$`\\"
        while True:
            char = source[position : position + 1]
            if char == "":
                raise self.unmatched("`")
            if char == "`":
                break
            if char == "\\" and position + 1 < len(source):
                following = source[position + 1]
                text.append(following if following in escapable else "\\" + following)
                position += 2
            else:
                text.append(char)
                position += 1
        self.position = position + 1
        return Substitution(self.inner("".join(text), line).program())

    def _process_substitution(self, direction: str) -> ProcessSubstitution:
        self.position += 2
        return ProcessSubstitution(direction, self.enclosed())

    def arithmetic(self, closer: str) -> Word | None:
        """The parts of an expression up to `closer`; None (and no sense of place) when it is not there."""
        source = self.source
        parts: list[Part] = []
        start = self.position
        depth = 0
        opening, closing = ("[", "]") if closer == "]" else ("(", ")")
        plain_start = start
        position = start

        def flush() -> None:
            if position > plain_start:
                parts.append(Literal(source[plain_start:position]))

        while True:
            char = source[position : position + 1]
            if char == "":
                return None
            if char == opening:
                depth += 1
            elif char == closing:
                if depth == 0:
                    if not source.startswith(closer, position):
                        return None
                    flush()
                    self.position = position + len(closer)
                    return Word(parts, source[start:position])
                depth -= 1
            elif char in '$`\\"':
                flush()
                self.position = position
                if char == "\\":
                    if source.startswith("\n", position + 1):
                        self.position = position + 2
                    else:
                        self._backslash(parts)
                elif char == '"':
                    self.position += 1
                    parts.extend(self.double_quoted())
                elif char == "`":
                    parts.append(self._backquoted(in_double_quotes=True))
                else:
                    try:
                        parts.append(self._dollar(in_double_quotes=True))
                    except ShellSyntaxError:
                        if closer == "))":
                            return None
                        raise
                position = plain_start = self.position
                continue
            position += 1

    # -- ${…} --------------------------------------------------------------------------------------

    def _braced(self, in_double_quotes: bool, start: int) -> Parameter:
        source = self.source
        position = self.position
        parameter = Parameter("")
        if source.startswith("#", position) and _LENGTH.match(source, position + 1):
            parameter.length = True
            position += 1
        elif source.startswith("!", position):
            prefix = _PREFIX.match(source, position + 1)
            if prefix is not None:
                self.position = prefix.end()
                return Parameter(prefix.group(1), prefix=prefix.group(2))
            if _INDIRECT.match(source, position + 1):
                parameter.indirect = True
                position += 1
        match = _PARAMETER.match(source, position)
        if match is None:
            return self._bad(start)
        parameter.name = match.group()
        self.position = match.end()
        if source.startswith("[", self.position) and _NAME.match(parameter.name):
            self.position += 1
            parameter.subscript = self.subscript()
            if (
                parameter.indirect
                and source.startswith("}", self.position)
                and parameter.subscript.source in ("@", "*")
            ):
                parameter.indirect = False
                parameter.keys = True
        if source.startswith("}", self.position):
            self.position += 1
            return parameter
        if parameter.length:
            return self._bad(start)
        operator = _OPERATOR.match(source, self.position)
        if operator is None:
            if self.position >= len(source):
                raise self.unmatched("}")
            return self._bad(start)
        parameter.operator = operator.group()
        self.position = operator.end()
        self._operand(parameter, in_double_quotes)
        if parameter.operator == "@" and parameter.argument is not None:
            letter = parameter.argument.source
            if len(letter) != 1 or letter not in "QEPAaKkUuL":
                parameter.bad = source[start : self.position]
        return parameter

    def _operand(self, parameter: Parameter, in_double_quotes: bool) -> None:
        operator = parameter.operator
        if operator == ":":
            parameter.argument = self.argument(":}", quoted=True, arithmetic=True)
            if self.source[self.position - 1] == ":":
                parameter.second = self.argument("}", quoted=True, arithmetic=True)
        elif operator[0] == "/":
            # A slash right after the operator belongs to the pattern, except in ${x//y/z} itself.
            parameter.argument = self.argument(
                "/}",
                quoted=False,
                in_double_quotes=in_double_quotes,
                first=operator in ("/", "//"),
            )
            if self.source[self.position - 1] == "/":
                parameter.second = self.argument("}", quoted=False, in_double_quotes=in_double_quotes)
        elif operator[0] in "#%^,~":
            parameter.argument = self.argument("}", quoted=False, in_double_quotes=in_double_quotes)
        else:
            parameter.argument = self.argument(
                "}", quoted=in_double_quotes, in_double_quotes=in_double_quotes
            )

    def _bad(self, start: int) -> Parameter:
        """A parameter that cannot be: bash tells only when it is expanded."""
        self.position = start + 2
        self.argument("}", quoted=False)
        return Parameter("", bad=self.source[start : self.position])

    def subscript(self) -> Word:
        """What stands between `[` and its `]`, which is stepped over."""
        return self.argument("]", quoted=False, brackets=True)

    def argument(
        self,
        closers: str,
        *,
        quoted: bool,
        in_double_quotes: bool = False,
        arithmetic: bool = False,
        brackets: bool = False,
        first: bool = False,
    ) -> Word:
        """Parts up to one of `closers` (stepped over). `quoted`: single quotes are not special."""
        source = self.source
        start = self.position
        parts: list[Part] = []
        plain: list[str] = []
        make: type[Quoted] | type[Literal] = Quoted if quoted and not arithmetic else Literal
        depth = 0
        questions = 0

        def flush() -> None:
            if plain:
                parts.append(make("".join(plain)))
                plain.clear()

        while True:
            char = source[self.position : self.position + 1]
            if char in _NEVER_SPECIAL:
                match = _ARGUMENT.match(source, self.position)
                assert match is not None
                plain.append(match.group())
                self.position = match.end()
                continue
            if char == "":
                raise self.unmatched("]" if brackets else "}")
            if char in closers and depth == 0 and not (first and char == "/" and self.position == start):
                if char == ":" and questions > 0:
                    questions -= 1
                else:
                    break
            if char == "\\":
                flush()
                following = source[self.position + 1 : self.position + 2]
                if quoted and not arithmetic and following not in ("$", "`", '"', "\\", "}", "\n", ""):
                    plain.append("\\")
                    self.position += 1
                else:
                    self._backslash(parts)
                continue
            if char == '"':
                flush()
                self.position += 1
                parts.append(DoubleQuoted(self.double_quoted()))
                continue
            if char == "'" and not quoted:
                flush()
                parts.append(self._single_quoted())
                continue
            if char == "`":
                flush()
                parts.append(self._backquoted(in_double_quotes=in_double_quotes))
                continue
            if char == "$":
                flush()
                if not arithmetic and source.startswith("$'", self.position):
                    parts.append(self._ansi_quoted())
                else:
                    parts.append(self._dollar(in_double_quotes=quoted))
                continue
            if char in "<>" and not quoted and source.startswith("(", self.position + 1):
                flush()
                parts.append(self._process_substitution(char))
                continue
            if arithmetic:
                if char == "(":
                    depth += 1
                elif char == ")":
                    depth -= 1
                elif char == "?":
                    questions += 1
            elif brackets:
                if char == "[":
                    depth += 1
                elif char == "]":
                    depth -= 1
            plain.append(char)
            self.position += 1
        flush()
        text = source[start : self.position]
        self.position += 1
        return Word(parts, text)
