"""The grammar of simple commands, assignments and redirections."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planaria_shell.syntax.condition_parser import RESERVED_WORD, ConditionParser
from planaria_shell.syntax.lexer import PLAIN_WORD, WORDS, PlainTexts, ShellSyntaxError
from planaria_shell.syntax.nodes import (
    ArrayElement,
    Assignment,
    Command,
    Function,
    Literal,
    Parameter,
    Redirect,
    Simple,
    Word,
)

__all__ = ["PLAIN_COMMAND", "SimpleParser"]

_REDIRECT = re.compile(
    r"(?:([0-9]+)|\{([A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?)\})?(<<<|<<-|<<|<&|<>|>>|>\||>&|&>>|&>|<(?!\()|>(?!\())"
)
_NUMBERED = re.compile(r"[0-9]+[<>]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?=)|(?=\[))")
_ALIAS = re.compile(r"[^\s;&|()<>\\'\"`$]+")
_FUNCTION_NAME = re.compile(r"[^\s;&|()<>$`'\"\\]+")
_ARRAY_DECLARATIONS = frozenset(["declare", "typeset", "local", "export", "readonly"])
#: Builtins before which `name=(…)` is one word.
_TAKING_TEXT = frozenset(["eval", "let", "alias"])
_TEXT_OF_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
#: The words of a command that begins with no reserved word, as far as they are plain, and the blanks behind.
PLAIN_COMMAND = re.compile(rf"(?!{RESERVED_WORD.pattern}){PLAIN_WORD}(?:[ \t]++(?!#){PLAIN_WORD})*+[ \t]*+")
#: `name()`, but for what could be an empty array or an extended pattern.
_FUNCTION_HEAD = re.compile(r"([^\s;&|()<>$`'\"\\=]*[^\s;&|()<>$`'\"\\=?*+@!])[ \t]*\([ \t]*\)")
_PLAIN_WORDS = re.compile(PLAIN_WORD)


class SimpleParser(ConditionParser):
    """The part of the parser that knows simple commands."""

    aliases: Mapping[str, str] | None
    _expanding: list[tuple[str, int]]
    _alias_next: int

    def unexpected(self) -> ShellSyntaxError:
        """The error for the token at the current position."""
        raise NotImplementedError

    def function_body(self, name: str, line: int) -> Function:
        """What follows a function's name."""
        raise NotImplementedError

    def redirects(self) -> list[Redirect]:
        """All redirections that stand here, and the blanks behind them."""
        redirects: list[Redirect] = []
        while (char := self.skip()) and char in "<>&0123456789{":
            redirect = self.redirect()
            if redirect is None:
                break
            redirects.append(redirect)
        return redirects

    def redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self.source, self.position)
        if match is None:
            return None
        number, variable, operator = match.groups()
        line = self.line()
        self.position = match.end()
        self.skip()
        target = None if _NUMBERED.match(self.source, self.position) else self.word()
        if target is None:
            if self.position >= len(self.source):
                raise self.fail("syntax error near unexpected token `newline'")
            raise self.unexpected()
        redirect = Redirect(operator, target, int(number) if number else None, variable or "", line=line)
        if operator in ("<<", "<<-"):
            redirect.delimiter = target.source
            redirect.quoted = any(not isinstance(part, Literal | Parameter) for part in target.parts)
            self.pending.append(redirect)
        return redirect

    def expand_alias(self) -> None:
        """Put an alias's text in the place of the word here, again and again as bash does."""
        if not self.aliases:
            return
        while True:
            self.skip()
            match = _ALIAS.match(self.source, self.position)
            if match is None:
                return
            name = match.group()
            behind = len(self.source) - match.end()
            self._expanding = [item for item in self._expanding if item[1] < len(self.source) - self.position]
            if name not in self.aliases or any(item[0] == name for item in self._expanding):
                return
            following = self.source[match.end() : match.end() + 1]
            if following and following in "\\'\"`$":
                return
            text = self.aliases[name]
            self.replace(match.end(), text)
            self._expanding.append((name, behind))
            if text.endswith((" ", "\t")):
                self._alias_next = behind

    def simple(self, plain: re.Match[str] | None) -> Command:
        """A command that begins with no reserved word, or a function's definition, and the blanks behind it.

        `plain` is what PLAIN_COMMAND found here.
        """
        command = Simple([], [], [], self.line())
        words = command.words
        declaration = False
        if plain is not None and "\n" not in plain.group():
            declaration = self._plain_words(plain, command)
            end = self.position
            following = self.source[end : end + 1]
            if following == ";" or following == "\n":
                return command
        else:
            function = _FUNCTION_HEAD.match(self.source, self.position)
            if function is not None and not self.aliases:
                self.position = function.end()
                return self.function_body(function.group(1), command.line)
        while True:
            if len(words) + len(command.assignments) + len(command.redirects) == 2:
                # The line of a command is where its second word or redirection ends.
                command.line = self.line()
            char = self.skip()
            if self.aliases and self._may_be_alias(command):
                self._alias_next = -1
                self.expand_alias()
                char = self.source[self.position : self.position + 1]
            if not char or char in ";|\n)":
                break
            if char in "<>&0123456789{":
                redirect = self.redirect()
                if redirect is not None:
                    command.redirects.append(redirect)
                    continue
                if char == "&":
                    break
            if char == "(":
                if len(words) == 1 and not command.assignments and not command.redirects:
                    return self._function_after_name(command)
                raise self.unexpected()
            if not words or declaration:
                assignment = self._assignment(arrays=True, declaration=declaration)
                if assignment is not None:
                    if words:
                        words.append(assignment)
                    else:
                        command.assignments.append(assignment)
                    continue
            word = self.word()
            if word is None:
                raise self.unexpected()
            if not words:
                declaration = word.literal() in _ARRAY_DECLARATIONS
            elif _TEXT_OF_ARRAY.match(word.source) and _literal(words[0]) in _TAKING_TEXT:
                word = self._with_array(word)
            words.append(word)
        if not words and not command.assignments and not command.redirects:
            raise self.unexpected()
        return command

    def _may_be_alias(self, command: Simple) -> bool:
        """Whether the next word is the command's name, or stands behind an alias that ends in a blank."""
        if not command.words:
            return bool(command.assignments)
        return self._alias_next >= 0 and len(self.source) - self.position <= self._alias_next

    def _with_array(self, word: Word) -> Word:
        """The word `name=` and the parentheses behind it, which are text to `eval` and its like."""
        if not self.source.startswith("(", self.position):
            return word
        start = self.position - len(word.source)
        parts = word.parts.copy()
        self.parenthesised(parts)
        parts += self.unquoted()
        return Word(parts, self.source[start : self.position])

    def _plain_words(self, match: re.Match[str], command: Simple) -> bool:
        """Take the plain words that a command begins with; whether they are a declaration's."""
        texts = _PLAIN_WORDS.findall(match.group())
        head: str = texts[0]
        try:
            if "=" not in head and head not in _ARRAY_DECLARATIONS and "[" not in head:
                command.words.extend(map(WORDS.__getitem__, texts))
                self.position = match.end()
                return False
            assignments: list[Assignment] = []
            words: list[Word | Assignment] = []
            declaration = False
            for text in texts:
                if not words:
                    argument = ARGUMENTS[text]
                    if type(argument) is Assignment:
                        assignments.append(argument)
                    else:
                        words.append(argument)
                        declaration = text in _ARRAY_DECLARATIONS
                elif declaration:
                    words.append(ARGUMENTS[text])
                else:
                    words.append(WORDS[text])
        except KeyError:
            return False
        command.assignments.extend(assignments)
        command.words.extend(words)
        self.position = match.end()
        return declaration

    def _function_after_name(self, command: Simple) -> Command:
        head = command.words[0]
        assert isinstance(head, Word)
        name = head.source
        start = self.position
        self.position += 1
        if self.skip() != ")" or not _FUNCTION_NAME.fullmatch(name):
            if self.skip() == ")":
                raise self.fail(f"`{name}': not a valid identifier")
            self.position = start
            if self.source.startswith("(", start):
                self.position = start + 1
                self.skip()
            raise self.unexpected()
        self.position += 1
        return self.function_body(name, command.line)

    def _assignment(self, *, arrays: bool, declaration: bool = False) -> Assignment | None:
        match = _ASSIGNMENT.match(self.source, self.position)
        if match is None:
            return None
        start = self.position
        name, operator = match.groups()
        subscript: Word | None = None
        self.position = match.end()
        if operator is None:
            self.position += 1
            try:
                subscript = self.subscript()
            except ShellSyntaxError:
                if not declaration:
                    raise
                self.position = start
                return None
            if self.source.startswith("=", self.position):
                operator = "="
            elif self.source.startswith("+=", self.position):
                operator = "+="
            else:
                self.position = start
                return None
            self.position += len(operator)
        assignment = Assignment(name, None, subscript, operator == "+=")
        if self.source.startswith("(", self.position) and arrays:
            self.position += 1
            assignment.elements = self._elements()
        else:
            value_start = self.position
            parts = self.unquoted()
            assignment.value = Word(parts, self.source[value_start : self.position])
        assignment.source = self.source[start : self.position]
        return assignment

    def _elements(self) -> list[ArrayElement]:
        try:
            return self._elements_up_to(self.position)
        except ShellSyntaxError as error:
            error.discards_line = True
            raise

    def _elements_up_to(self, start: int) -> list[ArrayElement]:
        elements: list[ArrayElement] = []
        while True:
            char = self.newlines()
            if char == ")":
                self.position += 1
                return elements
            if char == "":
                raise self.unmatched(")", start)
            if char == "[":
                element = self._subscripted_element()
                if element is not None:
                    elements.append(element)
                    continue
            word = self.word()
            if word is None:
                raise self.unexpected()
            elements.append(ArrayElement(word))

    def _subscripted_element(self) -> ArrayElement | None:
        start = self.position
        self.position += 1
        subscript = self.subscript()
        append = self.source.startswith("+=", self.position)
        if not append and not self.source.startswith("=", self.position):
            self.position = start
            return None
        self.position += 2 if append else 1
        value_start = self.position
        parts = self.unquoted()
        return ArrayElement(Word(parts, self.source[value_start : self.position]), subscript, append)


def _literal(word: Word | Assignment) -> str | None:
    return word.literal() if type(word) is Word else None


def _read_argument(text: str) -> tuple[Assignment | Word, int]:
    match = _ASSIGNMENT.match(text)
    if match is None:
        return WORDS[text], len(text)
    name, operator = match.groups()
    if operator is not None:
        return Assignment(name, WORDS[text[match.end() :]], None, operator == "+=", None, text), len(text)
    parser = SimpleParser(text)
    found = parser._assignment(arrays=False)
    if found is None:
        # A subscript with blanks goes on behind this text.
        raise KeyError(text)
    return found, parser.position


#: Where assignments can be: each of them, or a word.
ARGUMENTS: PlainTexts[Assignment | Word] = PlainTexts(_read_argument)
