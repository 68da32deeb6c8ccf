"""The events of YAML: PyYAML's parser, with a scanner that takes spans where PyYAML's takes characters.

Calls of Python functions are expensive in the sandbox, and PyYAML makes several for each character. Here
regular expressions find plain scalars, blanks and comments, and whether a token may still be a key is looked
up once for each token. Events, marks and errors are PyYAML's (a test compares them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from yaml.error import Mark
from yaml.events import Event, ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner
from yaml.tokens import ScalarToken

__all__ = ["events"]

_BREAKS = "\r\n\x85\u2028\u2029"
#: What can be between the words of a plain scalar.
_GAPS = f" {_BREAKS}"
#: What ends a word of a plain scalar.
_BLANKS = f"\0 \t{_BREAKS}"


def _words(*, stop: str, after_colon: str) -> re.Pattern[str]:
    """The words of a plain scalar on one line: `stop` ends it, and a colon before one of `after_colon`."""
    word = rf"(?:[^:{_BLANKS}{stop}]++|:(?![{after_colon}]))++"
    return re.compile(rf"(?!#){word}(?: ++(?!#){word})*+")


_BLOCK_WORDS = _words(stop="", after_colon=_BLANKS)
_FLOW_WORDS = _words(stop=r",?\[\]{}", after_colon=rf"{_BLANKS},\[\]{{}}")

#: Blanks and a comment before a token.
_SKIPPED = re.compile(rf" *+(?:#[^\0{_BREAKS}]*+)?")
#: The end of a line, and the blanks before what the next line has.
_NEXT_LINE = re.compile(rf" *+\n( *+)(?![ {_BREAKS}])")


def events(source: str) -> Iterator[Event]:
    """The events of all documents. Raises `yaml.YAMLError`."""
    parser = _Parser(source)
    while parser.check_event():
        yield parser.get_event()  # type: ignore[no-untyped-call]


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
        self.scan_to_next_token()
        if self.buffer[self.pointer].isalnum():  # nothing else than a plain scalar begins so
            self.stale_possible_simple_keys()
            self.unwind_indent(self.column)
            self.fetch_plain()
        else:
            super().fetch_more_tokens()

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

    def parse_node(self, block: bool = False, indentless_sequence: bool = False) -> Event:
        token = self.peek_token()
        if type(token) is not ScalarToken:
            event: Event = super().parse_node(block, indentless_sequence)
            return event
        self.get_token()
        self.state = self.states.pop()
        implicit = (True, False) if token.plain else (False, True)
        return ScalarEvent(
            None, None, implicit, token.value, token.start_mark, token.end_mark, style=token.style
        )
