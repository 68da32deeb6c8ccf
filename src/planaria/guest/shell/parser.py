"""The grammar of commands: a recursive descent parser on top of `lexer`.

A script is read one line at a time (`unit`), as bash does: what stands before a syntax error on earlier
lines runs, and an alias or an option that changes parsing takes effect from the next line on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lexer import Lexer, ShellSyntaxError
from .syntax import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    ArrayElement,
    Assignment,
    Case,
    CaseItem,
    Command,
    Condition,
    Coprocess,
    For,
    Function,
    Group,
    If,
    Literal,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Select,
    Sequence,
    Simple,
    Subshell,
    Test,
    While,
    Word,
)

__all__ = ["Parser", "ShellSyntaxError", "parse"]

RESERVED = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "case",
        "esac",
        "for",
        "select",
        "while",
        "until",
        "do",
        "done",
        "in",
        "function",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "]]",
    ]
)
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|coproc|\{|\}|!|\[\[)"
    r"(?=[\s;&|()<>]|$)"
)
#: What reserved words begin with.
_RESERVED_FIRST = frozenset("{}![icdefstuw")
_REDIRECT = re.compile(
    r"(?:([0-9]+)|\{([A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?)\})?(<<<|<<-|<<|<&|<>|>>|>\||>&|&>>|&>|<(?!\()|>(?!\())"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?=)|(?=\[))")
_TOKEN = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)")
_WORD = re.compile(r"[^\s;&|()<>]+")
_ALIAS = re.compile(r"[^\s;&|()<>\\'\"`$]+")
_FUNCTION_NAME = re.compile(r"[^\s;&|()<>$`'\"\\]+")
_DECLARATIONS = frozenset(["declare", "typeset", "local", "export", "readonly", "eval", "alias"])
_ARRAY_DECLARATIONS = frozenset(["declare", "typeset", "local", "export", "readonly"])
_EMPTY: frozenset[str] = frozenset()
#: Words at which a list ends.
_DO = frozenset(["do"])
_DONE = frozenset(["done"])
_BRACE = frozenset(["}"])
_THEN = frozenset(["then"])
_BRANCH = frozenset(["elif", "else", "fi"])
_FI = frozenset(["fi"])
_ELIF = frozenset(["elif"])
_ELSE = frozenset(["else"])
_ESAC = frozenset(["esac"])
_OPEN = frozenset(["{"])
_TEST_BINARY = re.compile(r"(==|=~|=|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)(?=[\s()]|$|[^\s=])")
_TEST_UNARY = re.compile(r"-[abcdefghkprstuwxGLNOSzRvno](?=\s)")
_REGEX_PLAIN = re.compile(r"[^\s\\'\"`$()|&;<>]+")


class Parser(Lexer):
    """Parses `source`; `aliases` are expanded when given."""

    def __init__(
        self, source: str, *, line: int = 1, extglob: bool = False, aliases: Mapping[str, str] | None = None
    ) -> None:
        # A shell has no NUL in its texts: bash drops them from what it reads.
        super().__init__(source.replace("\0", ""), line=line, extglob=extglob)
        self.aliases = aliases
        #: Aliases being expanded: name and how many characters stand behind the text it gave.
        self._expanding: list[tuple[str, int]] = []
        #: Where an alias that ends in a blank ends, counted from the source's end: after it, the next word
        #: is tried too.
        self._alias_next = -1

    def inner(self, source: str, line: int) -> Parser:
        return Parser(source, line=line, extglob=self.extglob, aliases=self.aliases)

    # -- entry points ------------------------------------------------------------------------------

    def unit(self) -> Sequence | None:
        """The next line's commands (with everything that belongs to them), or None at the end."""
        if self.newlines() == "":
            return None
        sequence = Sequence([], self.line())
        while True:
            char = self.skip()
            if char in ("\n", ""):
                break
            command = self.and_or()
            char = self.source[self.position : self.position + 1]
            background = False
            if char == "&" or char == ";":
                if self.source.startswith((";;", ";&"), self.position):
                    raise self.unexpected()
                background = char == "&"
                self.position += 1
            elif char not in ("\n", ""):
                raise self.unexpected()
            sequence.items.append((command, background))
        if char == "\n":
            self.newline()
        elif self.pending:
            self._unfinished_documents()
        return sequence

    def program(self) -> Sequence:
        sequence = self.sequence(_EMPTY)
        if self.position < len(self.source):
            raise self.unexpected()
        if self.pending:
            self._unfinished_documents()
        return sequence

    def _unfinished_documents(self) -> None:
        """Here-documents announced on the last line: they end with the source."""
        self.source += "\n"
        self.position = len(self.source) - 1
        self.newline()

    def enclosed(self) -> Sequence:
        outer, self.pending = self.pending, []
        sequence = self.sequence(_EMPTY)
        if not self.source.startswith(")", self.position):
            if self.position >= len(self.source):
                raise self.unmatched(")")
            raise self.unexpected()
        self.position += 1
        self.pending = outer + self.pending
        return sequence

    # -- errors ------------------------------------------------------------------------------------

    def unexpected(self) -> ShellSyntaxError:
        """The error for the token at the current position."""
        char = self.skip()
        if char == "":
            return self.fail("syntax error: unexpected end of file", incomplete=True)
        if char == "\n":
            token = "newline"
        else:
            match = _TOKEN.match(self.source, self.position) or _WORD.match(self.source, self.position)
            token = match.group() if match is not None else char
        return self.fail(f"syntax error near unexpected token `{token}'")

    # -- lists -------------------------------------------------------------------------------------

    def sequence(self, closers: frozenset[str]) -> Sequence:
        """Commands up to a reserved word of `closers`, a closing parenthesis, `;;`, or the end."""
        char = self.newlines()
        sequence = Sequence([], self.line())
        items = sequence.items
        while char and char != ")":
            if closers and self.at_reserved(closers):
                break
            if char == ";" and self.source.startswith((";;", ";&"), self.position):
                break
            command = self.and_or()
            char = self.source[self.position : self.position + 1]
            if char == ";":
                if self.source.startswith((";;", ";&"), self.position):
                    items.append((command, False))
                    break
                self.position += 1
                items.append((command, False))
            elif char == "&":
                self.position += 1
                items.append((command, True))
            else:
                items.append((command, False))
                if char != "\n":
                    break
            char = self.newlines()
        return sequence

    def at_reserved(self, words: frozenset[str]) -> bool:
        """Whether one of `words` stands here as a word of its own."""
        source, position = self.source, self.position
        if source[position : position + 1] not in _RESERVED_FIRST:
            return False
        match = _RESERVED.match(source, position)
        return match is not None and match.group() in words

    def expect(self, word: str) -> None:
        """Step over the reserved word."""
        self.skip()
        match = _RESERVED.match(self.source, self.position)
        if match is None or match.group() != word:
            raise self.unexpected()
        self.position = match.end()

    def body(self, closers: frozenset[str]) -> Sequence:
        """A list that must not be empty."""
        sequence = self.sequence(closers)
        if not sequence.items:
            raise self.unexpected()
        return sequence

    def and_or(self) -> Command:
        """Pipelines joined by `&&` and `||`. No blank stands behind it that is not stepped over."""
        first = self.pipeline()
        if self.source[self.position : self.position + 1] not in ("&", "|"):
            return first
        source = self.source
        rest: list[tuple[str, Command]] = []
        while self.skip() in ("&", "|") and self.source.startswith(("&&", "||"), self.position):
            source = self.source
            operator = source[self.position : self.position + 2]
            self.position += 2
            self.newlines()
            rest.append((operator, self.pipeline()))
        return AndOr(first, rest) if rest else first

    def pipeline(self) -> Command:
        line = 0
        negated = False
        timed = ""
        marked = False
        while True:
            if self.aliases:
                self._expand_alias()
            if self.source[self.position : self.position + 1] not in ("!", "t"):
                break
            match = _RESERVED.match(self.source, self.position)
            word = match.group() if match is not None else ""
            if word == "!":
                negated = not negated
            elif word == "time":
                timed = "time"
            else:
                break
            assert match is not None
            marked = True
            self.position = match.end()
            self.skip()
            if word == "time":
                option = re.compile(r"-p(?=\s|$)").match(self.source, self.position)
                if option is not None:
                    timed = "time -p"
                    self.position = option.end()
                    self.skip()
                option = re.compile(r"--(?=\s|$)").match(self.source, self.position)
                if option is not None:
                    self.position = option.end()
                    self.skip()
        if marked and self.skip() in ("\n", ";", "", ")", "&"):
            line = self.line()
            return Pipeline([], [], negated, timed, line)
        first = self.command()
        char = self.source[self.position : self.position + 1]
        if char != "|" or self.source.startswith("||", self.position):
            if marked:
                return Pipeline([first], [], negated, timed, self.line())
            return first
        line = self.line()
        stages = [first]
        merged: list[bool] = []
        while self.skip() == "|" and not self.source.startswith("||", self.position):
            self.position += 1
            both = self.source.startswith("&", self.position)
            if both:
                self.position += 1
            merged.append(both)
            self.newlines()
            stages.append(self.command())
        return Pipeline(stages, merged, negated, timed, line)

    # -- commands ----------------------------------------------------------------------------------

    def command(self) -> Command:
        """One command with its redirections, and the blanks behind it."""
        char = self.skip()
        if self.aliases:
            self._expand_alias()
        source = self.source
        char = source[self.position : self.position + 1]
        if char == "(":
            return self._parenthesis()
        if char not in _RESERVED_FIRST:
            return self._simple()
        match = _RESERVED.match(source, self.position)
        if match is None:
            return self._simple()
        word = match.group()
        compound = self._compound(word, match.end())
        if compound is None:
            raise self.unexpected()
        return compound

    def _compound(self, word: str, end: int) -> Command | None:
        line = self.line()
        start = self.position
        self.position = end
        command: If | While | For | ArithmeticFor | Select | Case | Group | Condition
        if word == "if":
            command = self._if(line)
        elif word in ("while", "until"):
            condition = self.body(_DO)
            self.expect("do")
            body = self.body(_DONE)
            self.expect("done")
            command = While(condition, body, word == "until", [], line)
        elif word in ("for", "select"):
            command = self._for(word, line)
        elif word == "case":
            command = self._case(line)
        elif word == "{":
            group = self.body(_BRACE)
            self.expect("}")
            command = Group(group, [], line)
        elif word == "[[":
            command = self._condition(line)
        elif word == "function":
            return self._function(line)
        elif word == "coproc":
            return self._coprocess(line)
        else:
            self.position = start
            return None
        command.redirects = self._redirects()
        return command

    def _redirects(self) -> list[Redirect]:
        redirects: list[Redirect] = []
        while (self.skip() or " ") in "<>&0123456789{":
            redirect = self._redirect()
            if redirect is None:
                break
            redirects.append(redirect)
        return redirects

    def _redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self.source, self.position)
        if match is None:
            return None
        number, variable, operator = match.groups()
        line = self.line()
        self.position = match.end()
        self.skip()
        target = self.word()
        if target is None:
            raise self.unexpected()
        redirect = Redirect(operator, target, int(number) if number else None, variable or "", line=line)
        if operator in ("<<", "<<-"):
            redirect.delimiter = target.source
            redirect.quoted = any(not isinstance(part, Literal | Parameter) for part in target.parts)
            self.pending.append(redirect)
        return redirect

    def _parenthesis(self) -> Command:
        line = self.line()
        start = self.position
        if self.source.startswith("((", start):
            self.position = start + 2
            expression = self.arithmetic("))")
            if expression is not None:
                command = ArithmeticCommand(expression, [], line)
                command.redirects = self._redirects()
                return command
            self.position = start
        self.position = start + 1
        body = self.sequence(_EMPTY)
        if not self.source.startswith(")", self.position) or not body.items:
            raise self.unexpected()
        self.position += 1
        subshell = Subshell(body, [], line)
        subshell.redirects = self._redirects()
        return subshell

    def _if(self, line: int) -> If:
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise: Sequence | None = None
        while True:
            condition = self.body(_THEN)
            self.expect("then")
            branches.append((condition, self.body(_BRANCH)))
            if self.at_reserved(_ELIF):
                self.position += 4
                continue
            if self.at_reserved(_ELSE):
                self.position += 4
                otherwise = self.body(_FI)
            self.expect("fi")
            return If(branches, otherwise, [], line)

    def _for(self, word: str, line: int) -> For | ArithmeticFor | Select:
        self.skip()
        if word == "for" and self.source.startswith("((", self.position):
            return self._arithmetic_for(line)
        match = _WORD.match(self.source, self.position)
        if match is None:
            raise self.unexpected()
        name = match.group()
        self.position = match.end()
        words: list[Word] | None = None
        char = self.newlines()
        if re.compile(r"in(?=[\s;]|$)").match(self.source, self.position):
            self.position += 2
            words = []
            while True:
                char = self.skip()
                item = self.word()
                if item is None:
                    break
                words.append(item)
            if char not in (";", "\n"):
                raise self.unexpected()
            if char == ";":
                self.position += 1
        elif char == ";":
            self.position += 1
        self.newlines()
        body = self._loop_body()
        if word == "for":
            return For(name, words, body, [], line)
        return Select(name, words, body, [], line)

    def _loop_body(self) -> Sequence:
        """`do … done`, or the braces that bash also takes."""
        if self.at_reserved(_OPEN):
            self.position += 1
            body = self.body(_BRACE)
            self.expect("}")
        else:
            self.expect("do")
            body = self.body(_DONE)
            self.expect("done")
        return body

    def _arithmetic_for(self, line: int) -> ArithmeticFor:
        self.position += 2
        words: list[Word] = []
        for closer in (";", ";", "))"):
            self.skip()
            word = self._arithmetic_until(closer)
            if word is None:
                raise self.fail("syntax error: arithmetic expression required", incomplete=False)
            words.append(word)
        if self.skip() == ";":
            self.position += 1
        self.newlines()
        return ArithmeticFor(words[0], words[1], words[2], self._loop_body(), [], line)

    def _arithmetic_until(self, closer: str) -> Word | None:
        if closer == "))":
            return self.arithmetic("))")
        start = self.position
        depth = 0
        position = start
        while position < len(self.source):
            char = self.source[position]
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            elif char == ";" and depth <= 0:
                inner = Parser(self.source[start:position] + "))", extglob=self.extglob)
                word = inner.arithmetic("))")
                self.position = position + 1
                return word
            position += 1
        return None

    def _case(self, line: int) -> Case:
        self.skip()
        word = self.word()
        if word is None:
            raise self.unexpected()
        self.newlines()
        if not re.compile(r"in(?=\s|$)").match(self.source, self.position):
            raise self.unexpected()
        self.position += 2
        items: list[CaseItem] = []
        while True:
            char = self.newlines()
            if self.at_reserved(_ESAC):
                self.position += 4
                return Case(word, items, [], line)
            if char == "(":
                self.position += 1
                self.skip()
            patterns: list[Word] = []
            while True:
                pattern = self.word()
                if pattern is None:
                    raise self.unexpected()
                patterns.append(pattern)
                char = self.skip()
                if char == "|":
                    self.position += 1
                    self.skip()
                    continue
                if char == ")":
                    self.position += 1
                    break
                raise self.unexpected()
            body = self.sequence(_ESAC)
            end = ";;"
            self.skip()
            for operator in (";;&", ";&", ";;"):
                if self.source.startswith(operator, self.position):
                    end = operator
                    self.position += len(operator)
                    break
            else:
                if not self.at_reserved(_ESAC):
                    raise self.unexpected()
            items.append(CaseItem(patterns, body, end))

    def _function(self, line: int) -> Function:
        self.skip()
        match = _WORD.match(self.source, self.position)
        if match is None:
            raise self.unexpected()
        name = match.group()
        self.position = match.end()
        if self.skip() == "(" and self.source[self.position + 1 :].lstrip(" \t").startswith(")"):
            self.position = self.source.index(")", self.position) + 1
        self.newlines()
        return self._function_body(name, line)

    def _function_body(self, name: str, line: int) -> Function:
        self.newlines()
        char = self.source[self.position : self.position + 1]
        match = _RESERVED.match(self.source, self.position)
        if char == "(":
            body = self._parenthesis()
        elif match is not None and match.group() in (
            "{",
            "if",
            "for",
            "while",
            "until",
            "case",
            "select",
            "[[",
        ):
            compound = self._compound(match.group(), match.end())
            assert compound is not None
            body = compound
        else:
            raise self.unexpected()
        return Function(name, body, line)

    def _coprocess(self, line: int) -> Coprocess:
        self.skip()
        match = re.compile(
            r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+(?=[({]|(?:while|until|for|if|case|select)\s)"
        ).match(self.source, self.position)
        name = "COPROC"
        if match is not None and not _RESERVED.match(self.source, self.position):
            name = match.group(1)
            self.position = match.end()
        return Coprocess(name, self.command(), [], line)

    # -- simple commands ---------------------------------------------------------------------------

    def _expand_alias(self) -> None:
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
            self.line()
            self.source = self.source[: self.position] + text + self.source[match.end() :]
            self._expanding.append((name, behind))
            if text.endswith((" ", "\t")):
                self._alias_next = behind

    def _simple(self) -> Command:
        source = self.source
        command = Simple([], [], [], self.line())
        words = command.words
        declaration = False
        while True:
            char = self.skip()
            if words and len(self.source) - self.position <= self._alias_next:
                self._alias_next = -1
                self._expand_alias()
            source = self.source
            char = source[self.position : self.position + 1]
            if not char or char in ";|\n)":
                break
            if char in "<>&0123456789{":
                redirect = self._redirect()
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
            if len(words) == 1 and not declaration:
                head = words[0]
                if isinstance(head, Word) and head.literal() in ("command", "builtin"):
                    declaration = word.literal() in _ARRAY_DECLARATIONS
            words.append(word)
        if not words and not command.assignments and not command.redirects:
            raise self.unexpected()
        return command

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
        return self._function_body(name, command.line)

    def _assignment(self, *, arrays: bool, declaration: bool) -> Assignment | None:
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
        elements: list[ArrayElement] = []
        while True:
            char = self.newlines()
            if char == ")":
                self.position += 1
                return elements
            if char == "":
                raise self.unmatched(")")
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
        try:
            subscript = self.subscript()
        except ShellSyntaxError:
            self.position = start
            return None
        append = self.source.startswith("+=", self.position)
        if not append and not self.source.startswith("=", self.position):
            self.position = start
            return None
        self.position += 2 if append else 1
        value_start = self.position
        parts = self.unquoted()
        return ArrayElement(Word(parts, self.source[value_start : self.position]), subscript, append)

    # -- [[ … ]] -----------------------------------------------------------------------------------

    def _condition(self, line: int) -> Condition:
        extglob, self.extglob = self.extglob, True
        try:
            test = self._test_or()
            self.newlines()
            if not re.compile(r"\]\](?=[\s;&|()<>]|$)").match(self.source, self.position):
                raise self._test_error()
        finally:
            self.extglob = extglob
        self.position += 2
        return Condition(test, [], line)

    def _test_error(self) -> ShellSyntaxError:
        if self.skip() == "":
            return self.fail("unexpected EOF while looking for `]]'", incomplete=True)
        match = _TOKEN.match(self.source, self.position) or _WORD.match(self.source, self.position)
        token = match.group() if match is not None else "newline"
        return self.fail(f"syntax error in conditional expression: unexpected token `{token}'")

    def _test_or(self) -> Test:
        left = self._test_and()
        while self.newlines() == "|" and self.source.startswith("||", self.position):
            self.position += 2
            left = Test("||", left, self._test_and())
        return left

    def _test_and(self) -> Test:
        left = self._test_primary()
        while self.newlines() == "&" and self.source.startswith("&&", self.position):
            self.position += 2
            left = Test("&&", left, self._test_primary())
        return left

    def _test_primary(self) -> Test:
        char = self.newlines()
        source = self.source
        if char == "(":
            self.position += 1
            inner = self._test_or()
            if self.newlines() != ")":
                raise self._test_error()
            self.position += 1
            return Test("(", inner)
        if char == "!" and source[self.position + 1 : self.position + 2] in (" ", "\t", "\n", "("):
            self.position += 1
            return Test("!", self._test_primary())
        unary = _TEST_UNARY.match(source, self.position)
        if unary is not None:
            start = self.position
            self.position = unary.end()
            self.newlines()
            binary = _TEST_BINARY.match(source, self.position)
            closes = source.startswith("]]", self.position)
            if not closes and (binary is None or not source[binary.end() : binary.end() + 1].isspace()):
                operand = self.word()
                if operand is not None:
                    return Test(unary.group(), operand)
            self.position = start
        if source.startswith("]]", self.position):
            raise self._test_error()
        left = self.word()
        if left is None:
            raise self._test_error()
        char = self.skip()
        binary = _TEST_BINARY.match(source, self.position)
        if binary is None:
            if char not in ("]", "&", "|", ")", "\n", ""):
                raise self.fail("syntax error in conditional expression")
            return Test("-n", left)
        operator = binary.group(1)
        self.position = binary.end()
        self.skip()
        right = self._regex_word() if operator == "=~" else self._test_word()
        if right is None:
            raise self._test_error()
        return Test(operator, left, right)

    def _test_word(self) -> Word | None:
        return self.word()

    def _regex_word(self) -> Word | None:
        """The right side of `=~`, where parentheses and bars belong to the expression."""
        source = self.source
        start = self.position
        collected: list[Part] = []
        depth = 0
        while True:
            match = _REGEX_PLAIN.match(source, self.position)
            if match is not None:
                collected.append(Literal(match.group()))
                self.position = match.end()
            char = source[self.position : self.position + 1]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            elif char == "|":
                if depth == 0 and source.startswith("||", self.position):
                    break
            elif char in (" ", "\t", "\n") or char in ("<", ">", ";") or char == "&":
                if depth == 0:
                    break
            elif char == "":
                break
            elif char == "\\":
                self._backslash(collected)
                continue
            else:
                collected.append(self._quote_or_dollar(char))
                continue
            collected.append(Literal(char))
            self.position += 1
        if self.position == start:
            return None
        return Word(collected, source[start : self.position])


def parse(source: str, *, extglob: bool = False) -> list[Sequence]:
    """All lines of a script; raises `ShellSyntaxError`."""
    parser = Parser(source, extglob=extglob)
    units: list[Sequence] = []
    while (unit := parser.unit()) is not None:
        units.append(unit)
    return units
