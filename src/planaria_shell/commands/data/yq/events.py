"""The events of YAML: PyYAML's parser, with a scanner that takes spans where PyYAML's takes characters.

Calls of Python functions are expensive in the sandbox, and PyYAML makes several for each character. Here
regular expressions find plain scalars, blanks and comments, and whether a token may still be a key is looked
up once for each token. The lines that most documents consist of, `key: value`, are one match each, and their
tokens become events without being looked at one by one. Events, marks and errors are PyYAML's (a test
compares them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from yaml.error import Mark
from yaml.events import Event, ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner
from yaml.tokens import BlockMappingStartToken, KeyToken, ScalarToken, ValueToken

__all__ = ["events"]

_BREAKS = "\r\n\x85\u2028\u2029"
#: What can be between the words of a plain scalar.
_GAPS = f" {_BREAKS}"
#: What ends a word of a plain scalar.
_BLANKS = f"\0 \t{_BREAKS}"


def _words(*, stop: str, after_colon: str) -> str:
    """The words of a plain scalar on one line: `stop` ends it, and a colon before one of `after_colon`."""
    word = rf"(?:[^:{_BLANKS}{stop}]++|:(?![{after_colon}]))++"
    return rf"(?!#){word}(?: ++(?!#){word})*+"


_IN_BLOCK = _words(stop="", after_colon=_BLANKS)
_BLOCK_WORDS = re.compile(_IN_BLOCK)
_FLOW_WORDS = re.compile(_words(stop=r",?\[\]{}", after_colon=rf"{_BLANKS},\[\]{{}}"))

#: What a token does not begin with.
_BEFORE_TOKENS = f" #\ufeff{_BREAKS}"
#: Blanks and a comment before a token.
_SKIPPED = re.compile(rf" *+(?:#[^\0{_BREAKS}]*+)?")
#: The end of a line, and the blanks before what the next line has.
_NEXT_LINE = re.compile(rf" *+\n( *+)(?![ {_BREAKS}])")
#: A key, and its value when that ends the line and is a plain scalar or a quoted one without escapes; whether
#: a comment follows, and the blanks before what the next line has.
_ENTRY = re.compile(
    rf"([A-Za-z0-9_][A-Za-z0-9_./-]{{0,99}}+):(?=[ \n])( *+)"
    rf"(?:((?=[A-Za-z0-9_./~$(+]){_IN_BLOCK}|\"[^\"\\\0{_BREAKS}]*+\"|'[^'\0{_BREAKS}]*+')?"
    rf"(?: ++(#)[^\0{_BREAKS}]*+| *+)\n( *+)(?![ {_BREAKS}]))?"
)


def events(source: str) -> Iterator[Event]:
    """The events of all documents. Raises `yaml.YAMLError`."""
    parser = _Parser(source)
    while parser.state is not None:
        yield parser.state()


class _Parser(Reader, Scanner, Parser):
    def __init__(self, source: str) -> None:
        #: Whether the first token is known for what it is.
        self._is_ready = False
        #: Of the latest place that was asked for, since most are asked for again.
        self._mark: Mark | None = None
        Reader.__init__(self, source)
        Scanner.__init__(self)
        Parser.__init__(self)

    # -- characters ----------------------------------------------------------------------------------

    def forward(self, length: int = 1) -> None:
        text = self.buffer[self.pointer : self.pointer + length]
        if text.isprintable():  # so without a break or a byte order mark
            self.pointer += length
            self.index += length
            self.column += length
        else:
            super().forward(length)

    def get_mark(self) -> Mark:
        mark = self._mark
        if mark is None or mark.index != self.index:
            self._mark = mark = Mark(self.name, self.index, self.line, self.column, self.buffer, self.pointer)
        return mark

    # -- tokens --------------------------------------------------------------------------------------

    def need_more_tokens(self) -> bool:
        if self.tokens and not self.possible_simple_keys:
            return False
        return bool(super().need_more_tokens())

    def _make_ready(self) -> None:
        while self.need_more_tokens():
            self.fetch_more_tokens()
        self._is_ready = True

    def check_token(self, *choices: Any) -> bool:
        if not self._is_ready:
            self._make_ready()
        return bool(self.tokens) and (not choices or isinstance(self.tokens[0], choices))

    def peek_token(self) -> Any:
        if not self._is_ready:
            self._make_ready()
        return self.tokens[0] if self.tokens else None

    def get_token(self) -> Any:
        token = self.peek_token()
        if token is not None:
            self._is_ready = False
            self.tokens_taken += 1
            del self.tokens[0]
        return token

    def fetch_more_tokens(self) -> None:
        first = self.buffer[self.pointer]
        if first in _BEFORE_TOKENS:
            self.scan_to_next_token()
            first = self.buffer[self.pointer]
        if first.isalnum():  # nothing else than a plain scalar begins so
            self.stale_possible_simple_keys()
            self.unwind_indent(self.column)
            if self.flow_level or not self.allow_simple_key or not self._fetch_entry():
                self.fetch_plain()
        elif first == "-" and not self.flow_level and self.buffer[self.pointer + 1] == " ":
            self.stale_possible_simple_keys()
            self.unwind_indent(self.column)
            self.fetch_block_entry()
        else:
            super().fetch_more_tokens()

    def _fetch_entry(self) -> bool:
        """The tokens of a key and its colon, and of a simple value; False when no simple key is here."""
        found = _ENTRY.match(self.buffer, self.pointer)
        if found is None:
            return False
        key, blanks, value, comment, next_blanks = found.groups()
        name, line, buffer = self.name, self.line, self.buffer
        index, column, pointer = self.index, self.column, self.pointer
        start = self.get_mark()
        length = len(key)
        colon = Mark(name, index + length, line, column + length, buffer, pointer + length)
        length += 1
        after = Mark(name, index + length, line, column + length, buffer, pointer + length)
        self.remove_possible_simple_key()
        if self.add_indent(column):
            self.tokens.append(BlockMappingStartToken(start, start))
        self.tokens += (
            KeyToken(start, start),
            ScalarToken(key, True, start, colon),
            ValueToken(colon, after),
        )
        is_plain = not value or value[0] not in "'\""
        # A plain value goes on in the next line if that is further in.
        is_whole = next_blanks is not None and (
            not value
            or not is_plain
            or comment is not None
            or len(next_blanks) <= self.indent
            or buffer[found.end()] == "#"
        )
        if not is_whole:
            self.index, self.column, self.pointer = index + length, column + length, pointer + length
            self.allow_simple_key = False
            return True
        if value:
            length += len(blanks)
            begin = Mark(name, index + length, line, column + length, buffer, pointer + length)
            length += len(value)
            end = Mark(name, index + length, line, column + length, buffer, pointer + length)
            text, style = (value, None) if is_plain else (value[1:-1], value[0])
            self.tokens.append(ScalarToken(text, is_plain, begin, end, style))
        self.index = index + found.end() - pointer
        self.pointer = found.end()
        self.line += 1
        self.column = len(next_blanks)
        self.allow_simple_key = True
        return True

    def scan_to_next_token(self) -> None:
        if self.index == 0 and self.peek() == "\ufeff":
            self.forward()
        while True:
            skipped = _SKIPPED.match(self.buffer, self.pointer)
            assert skipped is not None  # it matches nothing at all
            if length := skipped.end() - self.pointer:
                self.forward(length)
            if self.buffer[self.pointer] not in _BREAKS:
                return
            self.scan_line_break()  # type: ignore[no-untyped-call]
            if not self.flow_level:
                self.allow_simple_key = True

    def scan_plain(self) -> ScalarToken:
        start = end = self.get_mark()
        indent = self.indent + 1
        words = _FLOW_WORDS if self.flow_level else _BLOCK_WORDS
        chunks: list[str] = []
        spaces: list[str] = []
        while found := words.match(self.buffer, self.pointer):
            self.allow_simple_key = False
            chunks += spaces
            chunks.append(found[0])
            self.forward(len(found[0]))
            end = self.get_mark()
            spaces = self.scan_plain_spaces(indent, start)
            if not spaces or (not self.flow_level and self.column < indent):
                break
        return ScalarToken("".join(chunks), True, start, end)

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> Any:
        if self.buffer[self.pointer] not in _GAPS:
            return []
        found = _NEXT_LINE.match(self.buffer, self.pointer)
        if found is None or (not found[1] and self.buffer.startswith(("---", "..."), found.end())):
            return super().scan_plain_spaces(indent, start_mark)
        self.index += found.end() - self.pointer
        self.pointer = found.end()
        self.line += 1
        self.column = len(found[1])
        self.allow_simple_key = True
        return [" "]

    # -- events --------------------------------------------------------------------------------------

    def parse_block_mapping_key(self) -> Event:
        if not self._is_ready:
            self._make_ready()
        tokens = self.tokens
        if len(tokens) > 2 and type(tokens[0]) is KeyToken and type(tokens[1]) is ScalarToken:
            return self._scalar_after_first(self.parse_block_mapping_value)
        event: Event = super().parse_block_mapping_key()  # type: ignore[no-untyped-call]
        return event

    def parse_block_mapping_value(self) -> Event:
        tokens = self.tokens
        if len(tokens) > 1 and type(tokens[0]) is ValueToken and type(tokens[1]) is ScalarToken:
            return self._scalar_after_first(self.parse_block_mapping_key)
        event: Event = super().parse_block_mapping_value()  # type: ignore[no-untyped-call]
        return event

    def _scalar_after_first(self, state: Callable[[], Event]) -> Event:
        """The event of the second token that is there; `state` is the next one of the parser."""
        token = self.tokens[1]
        del self.tokens[:2]
        self.tokens_taken += 2
        self._is_ready = False
        self.state = state
        return _scalar_event(token)

    def parse_node(self, block: bool = False, indentless_sequence: bool = False) -> Event:
        token = self.peek_token()
        if type(token) is not ScalarToken:
            event: Event = super().parse_node(block, indentless_sequence)
            return event
        self.get_token()
        self.state = self.states.pop()
        return _scalar_event(token)


def _scalar_event(token: ScalarToken) -> ScalarEvent:
    """The event of a scalar without anchor and tag."""
    implicit = (True, False) if token.plain else (False, True)
    return ScalarEvent(None, None, implicit, token.value, token.start_mark, token.end_mark, style=token.style)
