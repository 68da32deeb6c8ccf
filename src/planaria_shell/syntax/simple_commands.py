"""The grammar of simple commands, assignments and redirections."""

from __future__ import annotations

import re

from planaria_shell.errors import ShellSyntaxError
from planaria_shell.syntax.lexer import PLAIN_WORD, RESERVED_WORD, WORDS, Lexer, PlainTexts
from planaria_shell.syntax.nodes import (
    ArrayElement,
    Assignment,
    Command,
    Literal,
    Parameter,
    Quoted,
    Redirect,
    Simple,
    Word,
)

__all__ = [
    "PLAIN_COMMAND",
    "expand_alias",
    "expand_next_alias",
    "parse_assignment",
    "parse_redirects",
    "parse_simple",
]

_REDIRECT = re.compile(
    r"(?:([0-9]+)|\{([A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?)\})?(<<<|<<-|<<|<&|<>|>>|>\||>&|&>>|&>|<(?!\()|>(?!\())"
)
#: What stands before the operator of a redirection.
_BEFORE_REDIRECT = re.compile(r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\})(?=[<>])")
_DIGITS = re.compile(r"[0-9]+")
_NUMBERED = re.compile(r"[0-9]+[<>]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?=)|(?=\[))")
_ALIAS = re.compile(r"[^\s;&|()<>\\'\"`$]+")
_UNQUOTED_EXPANSION = re.compile(r"`|\$(?!['\"])")
_ARRAY_DECLARATIONS = frozenset(["declare", "typeset", "local", "export", "readonly"])
#: Builtins before which `name=(…)` is one word.
_TAKING_TEXT = frozenset(["eval", "let", "alias"])
_TEXT_OF_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=\Z")
#: The words of a command that begins with no reserved word, as far as they are plain, and the blanks behind.
PLAIN_COMMAND = re.compile(rf"(?!{RESERVED_WORD.pattern}){PLAIN_WORD}(?:[ \t]++(?!#){PLAIN_WORD})*+[ \t]*+")
#: `name()`, but for what could be an empty array or an extended pattern.
_FUNCTION_HEAD = re.compile(r"([^\s;&|()<>$`'\"\\=]*[^\s;&|()<>$`'\"\\=?*+@!])[ \t]*\([ \t]*\)")
_PLAIN_WORDS = re.compile(PLAIN_WORD)


def parse_redirects(lexer: Lexer) -> list[Redirect]:
    """All redirections that stand here, and the blanks behind them."""
    redirects: list[Redirect] = []
    while (char := lexer.skip()) and char in "<>&0123456789{":
        redirect = parse_redirect(lexer)
        if redirect is None:
            break
        redirects.append(redirect)
    return redirects


def parse_redirect(lexer: Lexer) -> Redirect | None:
    if lexer.continued:
        lexer.unfold_around(_DIGITS)
        prefix = _BEFORE_REDIRECT.match(lexer.source, lexer.position)
        if prefix is not None:
            lexer.join_operator(prefix.end())
    match = _REDIRECT.match(lexer.source, lexer.position)
    if match is None:
        return None
    number, variable, operator = match.groups()
    line = lexer.line()
    lexer.position = match.end()
    lexer.skip()
    numbered = operator not in ("<&", ">&") and _NUMBERED.match(lexer.source, lexer.position)
    target = None if numbered else lexer.word()
    if target is None:
        if lexer.position >= len(lexer.source):
            raise lexer.fail("syntax error near unexpected token `newline'")
        raise lexer.unexpected()
    redirect = Redirect(operator, target, int(number) if number else None, variable or "", line=line)
    if operator in ("<<", "<<-"):
        redirect.delimiter = target.source
        redirect.quoted = any(not isinstance(part, Literal | Parameter) for part in target.parts)
        lexer.pending.append(redirect)
    return redirect


def expand_alias(lexer: Lexer) -> None:
    """Put an alias's text in the place of the word here, again and again as bash does."""
    if not lexer.aliases:
        return
    while True:
        lexer.skip()
        match = _ALIAS.match(lexer.source, lexer.position)
        if match is None:
            if _UNQUOTED_EXPANSION.match(lexer.source, lexer.position):
                _leave_alias(lexer)
            return
        name = match.group()
        behind = len(lexer.source) - match.end()
        lexer.expanding_aliases = [
            item for item in lexer.expanding_aliases if item[1] < len(lexer.source) - lexer.position
        ]
        following = lexer.source[match.end() : match.end() + 1]
        if following and following in "\\'\"`$":
            # Behind an alias that ends in a blank, it is the next word without quotes that may be one.
            return
        _leave_alias(lexer)
        if name not in lexer.aliases or any(item[0] == name for item in lexer.expanding_aliases):
            return
        text = lexer.aliases[name]
        lexer.replace(match.end(), text)
        lexer.expanding_aliases.append((name, behind))
        if text.endswith((" ", "\t")):
            lexer.alias_next = behind


def expand_next_alias(lexer: Lexer) -> None:
    """The same for a word that may only be an alias because the one before it ended in a blank."""
    if lexer.aliases and lexer.alias_next >= 0:
        lexer.skip()
        if len(lexer.source) - lexer.position <= lexer.alias_next:
            expand_alias(lexer)


def _leave_alias(lexer: Lexer) -> None:
    """No word behind this one may be an alias because of the one that ended in a blank before it."""
    if len(lexer.source) - lexer.position <= lexer.alias_next:
        lexer.alias_next = -1


def parse_simple(lexer: Lexer, plain: re.Match[str] | None) -> Command:
    """A command that begins with no reserved word, or a function's definition, and the blanks behind it.

    `plain` is what PLAIN_COMMAND found here.
    """
    command = Simple([], [], [], lexer.line())
    words = command.words
    declaration = False
    if plain is not None and "\n" not in plain.group():
        declaration = _plain_words(lexer, plain, command)
        end = lexer.position
        following = lexer.source[end : end + 1]
        if following == "\n" or (following == ";" and not lexer.continued):
            return command
    else:
        function = _FUNCTION_HEAD.match(lexer.source, lexer.position)
        if function is not None and not lexer.aliases:
            lexer.position = function.end()
            return lexer.grammar.function_body(lexer, function.group(1), command.line)
    while True:
        if len(words) + len(command.assignments) + len(command.redirects) == 2:
            # The line of a command is where its second word or redirection ends.
            command.line = lexer.line()
        char = lexer.skip()
        if lexer.aliases and _may_be_alias(lexer, command):
            expand_alias(lexer)
            char = lexer.source[lexer.position : lexer.position + 1]
        if not char or char in ";|\n)":
            break
        if char in "<>&0123456789{":
            redirect = parse_redirect(lexer)
            if redirect is not None:
                command.redirects.append(redirect)
                continue
            if char == "&":
                break
        if char == "(":
            if len(words) == 1 and not command.assignments and not command.redirects:
                return _function_after_name(lexer, command)
            raise lexer.unexpected()
        if not words or declaration:
            assignment = parse_assignment(lexer, arrays=True, declaration=declaration)
            if assignment is not None:
                if words:
                    words.append(assignment)
                else:
                    command.assignments.append(assignment)
                continue
        word = lexer.word()
        if word is None:
            raise lexer.unexpected()
        if not words:
            declaration = word.literal() in _ARRAY_DECLARATIONS
        elif _TEXT_OF_ARRAY.match(word.source) and _literal(words[0]) in _TAKING_TEXT:
            word = _with_array(lexer, word)
        words.append(word)
    if not words and not command.assignments and not command.redirects:
        raise lexer.unexpected()
    return command


def _may_be_alias(lexer: Lexer, command: Simple) -> bool:
    """Whether the next word is the command's name, or stands behind an alias that ends in a blank."""
    if not command.words:
        return bool(command.assignments or command.redirects)
    return lexer.alias_next >= 0 and len(lexer.source) - lexer.position <= lexer.alias_next


def _with_array(lexer: Lexer, word: Word) -> Word:
    """The word `name=` and the parentheses behind it, which are text to `eval` and its like."""
    if not lexer.source.startswith("(", lexer.position):
        return word
    start = lexer.position - len(word.source)
    parts = word.parts.copy()
    lexer.parenthesised(parts)
    parts += lexer.unquoted()
    return Word(parts, lexer.source[start : lexer.position])


def _plain_words(lexer: Lexer, match: re.Match[str], command: Simple) -> bool:
    """Take the plain words that a command begins with; whether they are a declaration's."""
    texts = _PLAIN_WORDS.findall(match.group())
    head: str = texts[0]
    try:
        if "=" not in head and head not in _ARRAY_DECLARATIONS and "[" not in head:
            command.words.extend(map(WORDS.__getitem__, texts))
            lexer.position = match.end()
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
    lexer.position = match.end()
    return declaration


def _function_after_name(lexer: Lexer, command: Simple) -> Command:
    head = command.words[0]
    assert isinstance(head, Word)
    name = head.source
    start = lexer.position
    lexer.position += 1
    if lexer.skip() != ")":
        lexer.position = start
        if lexer.source.startswith("(", start):
            lexer.position = start + 1
            lexer.skip()
        raise lexer.unexpected()
    lexer.position += 1
    return lexer.grammar.function_body(lexer, name, command.line)


def parse_assignment(lexer: Lexer, *, arrays: bool, declaration: bool = False) -> Assignment | None:
    match = _ASSIGNMENT.match(lexer.source, lexer.position)
    if match is None:
        return None
    start = lexer.position
    name, operator = match.groups()
    subscript: Word | None = None
    lexer.position = match.end()
    if operator is None:
        lexer.position += 1
        try:
            subscript = lexer.subscript()
        except ShellSyntaxError:
            if not declaration:
                raise
            lexer.position = start
            return None
        if lexer.source.startswith("=", lexer.position):
            operator = "="
        elif lexer.source.startswith("+=", lexer.position):
            operator = "+="
        else:
            lexer.position = start
            return None
        lexer.position += len(operator)
    assignment = Assignment(name, None, subscript, operator == "+=")
    if lexer.source.startswith("(", lexer.position) and arrays:
        lexer.position += 1
        assignment.elements = _elements(lexer)
    else:
        value_start = lexer.position
        parts = lexer.unquoted()
        assignment.value = Word(parts, lexer.source[value_start : lexer.position])
    assignment.source = lexer.source[start : lexer.position]
    return assignment


def _elements(lexer: Lexer) -> list[ArrayElement]:
    try:
        return _elements_up_to(lexer, lexer.position)
    except ShellSyntaxError as error:
        error.discards_line = True
        raise


def _elements_up_to(lexer: Lexer, start: int) -> list[ArrayElement]:
    elements: list[ArrayElement] = []
    while True:
        char = lexer.newlines()
        if char == ")":
            lexer.position += 1
            return elements
        if char == "":
            raise lexer.unmatched(")", start)
        if char == "[":
            element = _subscripted_element(lexer)
            if element is not None:
                elements.append(element)
                continue
        word = lexer.word()
        if word is None:
            raise lexer.unexpected()
        if "~" in word.source and _ASSIGNMENT.match(word.source):
            # Its tildes do not count as in assignments.
            word = Word([Quoted(""), *word.parts], word.source)
        elements.append(ArrayElement(word))


def _subscripted_element(lexer: Lexer) -> ArrayElement | None:
    start = lexer.position
    lexer.position += 1
    subscript = lexer.subscript()
    append = lexer.source.startswith("+=", lexer.position)
    if not append and not lexer.source.startswith("=", lexer.position):
        lexer.position = start
        return None
    lexer.position += 2 if append else 1
    value_start = lexer.position
    parts = lexer.unquoted()
    return ArrayElement(Word(parts, lexer.source[value_start : lexer.position]), subscript, append)


def _literal(word: Word | Assignment) -> str | None:
    return word.literal() if type(word) is Word else None


def _read_argument(text: str) -> tuple[Assignment | Word, int]:
    match = _ASSIGNMENT.match(text)
    if match is None:
        return WORDS[text], len(text)
    name, operator = match.groups()
    if operator is not None:
        return Assignment(name, WORDS[text[match.end() :]], None, operator == "+=", None, text), len(text)
    lexer = Lexer(text)
    found = parse_assignment(lexer, arrays=False)
    if found is None:
        # A subscript with blanks goes on behind this text.
        raise KeyError(text)
    return found, lexer.position


#: Where assignments can be: each of them, or a word.
ARGUMENTS: PlainTexts[Assignment | Word] = PlainTexts(_read_argument)
