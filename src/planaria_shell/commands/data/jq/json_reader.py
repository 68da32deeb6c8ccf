"""Values from JSON text: any number of texts one after the other, read as they come.

Python's own scanner does the work where it agrees with jq; where it does not (literals such as `nan`, the
wording and place of errors, nesting of any depth) the scanner of this module reads the same text again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq.values import Literal

_SPACE = re.compile(r"[ \t\r\n]*")
_NEGATIVE_ZERO = re.compile(r"-0(?![0-9.eE])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DEPTH = 10000
_STRUCTURE = "[{:,]}"


#: What may not stand in a string by itself; jq lets U+0000 and U+001F through.
_CONTROL = re.compile("[\x01-\x1e]")


class JsonError(ValueError):
    """Text that is not JSON; the message is jq's, with line and column."""


def _constant(text: str) -> float:
    return float(text)


_fast = json.JSONDecoder(parse_float=Literal, parse_constant=_constant).scan_once  # type: ignore[attr-defined]
_careful = json.JSONDecoder(
    parse_float=Literal,
    parse_int=lambda text: Literal(text) if text == "-0" else int(text),
    parse_constant=_constant,
).scan_once  # type: ignore[attr-defined]


def _surrogates(value: Any) -> Any:
    """The value with lone surrogates, which JSON escapes can spell, replaced as jq does."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_surrogates(key): _surrogates(item) for key, item in value.items()}
    return value


class Scanner:
    """jq's own JSON parser as a machine that takes characters: exact errors, any text it accepts.

    With `events` it gives the `[path, leaf]` pairs of `--stream` instead of whole values.
    """

    def __init__(self, *, sequence: bool = False) -> None:
        self.line = 1
        self.column = 0
        self.sequence = sequence
        self._token: list[str] = []
        self._stack: list[Any] = []
        self._next: Any = _NOTHING
        self._in_string = False
        self._escaped = False
        self._bom = 0

    def fail(self, message: str, *, at_end: bool = False) -> JsonError:
        where = "at EOF at" if at_end else "at"
        return JsonError(f"{message} {where} line {self.line}, column {self.column}")

    def feed(self, text: str) -> Iterator[Any]:
        """The values that `text` completes."""
        for character in text:
            self.column += 1
            if character == "\n":
                self.line += 1
                self.column = 0
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                    self._token.append(character)
                elif character == '"':
                    self._in_string = False
                    self._string()
                else:
                    self._escaped = character == "\\"
                    self._token.append(character)
                continue
            if character == '"':
                yield from self._flush_token()
                self._in_string = True
                yield from self._top()
            elif character in " \t\r\n":
                yield from self._flush_token()
                yield from self._top()
            elif character in _STRUCTURE:
                yield from self._flush_token()
                yield from self._top()
                self._structure(character)
                yield from self._top()
            elif character == "\x1e" and self.sequence:
                if self._token or self._stack or self._next is not _NOTHING:
                    yield from self._flush_token()
                    yield from self._top()
                    if self._stack:
                        self._stack.clear()
                        raise self.fail("Unfinished abandoned text")
            else:
                self._token.append(character)

    def finish(self) -> Iterator[Any]:
        """The value that the end of the text completes."""
        if self._in_string:
            raise self.fail("Unfinished string", at_end=True)
        yield from self._flush_token(at_end=True)
        if self._stack:
            raise self.fail("Unfinished JSON term", at_end=True)
        yield from self._top()

    def _top(self) -> Iterator[Any]:
        if not self._stack and self._next is not _NOTHING:
            value, self._next = self._next, _NOTHING
            yield value

    def _flush_token(self, *, at_end: bool = False) -> Iterator[Any]:
        if not self._token:
            return
        text = "".join(self._token)
        self._token.clear()
        try:
            value = read_literal(text)
        except ValueError as error:
            raise self.fail(str(error), at_end=at_end) from None
        self._value(value)
        yield from self._top()

    def _value(self, value: Any) -> None:
        if self._next is not _NOTHING:
            raise self.fail("Expected separator between values")
        self._next = value

    def _string(self) -> None:
        text = "".join(self._token)
        self._token.clear()
        if _CONTROL.search(text):
            raise self.fail("Invalid string: control characters from U+0000 through U+001F must be escaped")
        try:
            value = _unescape(text)
        except ValueError as error:
            raise self.fail(str(error)) from None
        self._value(value)

    def _structure(self, character: str) -> None:
        stack = self._stack
        if character in "[{":
            if len(stack) >= _DEPTH:
                raise self.fail("Exceeds depth limit for parsing")
            if self._next is not _NOTHING:
                raise self.fail("Expected separator between values")
            stack.append([] if character == "[" else {})
        elif character == ":":
            if not stack:
                raise self.fail("':' not as part of an object")
            if self._next is _NOTHING:
                raise self.fail("Expected string key before ':'")
            if isinstance(stack[-1], list):
                raise self.fail("':' not as part of an object")
            if isinstance(stack[-1], _Key):
                raise self.fail("':' should follow a key")
            if not isinstance(self._next, str):
                raise self.fail("Object keys must be strings")
            stack.append(_Key(self._next))
            self._next = _NOTHING
        elif character == ",":
            if self._next is _NOTHING:
                raise self.fail("Expected value before ','")
            if not stack:
                raise self.fail("',' not as part of an object or array")
            self._store("Objects must consist of key:value pairs")
        elif character == "]":
            if not stack or not isinstance(stack[-1], list):
                raise self.fail("Unmatched ']'")
            if self._next is not _NOTHING:
                stack[-1].append(self._next)
            elif stack[-1]:
                raise self.fail("Expected another array element")
            self._next = stack.pop()
        else:
            if not stack or isinstance(stack[-1], list):
                raise self.fail("Unmatched '}'")
            if self._next is not _NOTHING:
                self._store("Objects must consist of key:value pairs")
            elif isinstance(stack[-1], _Key):
                raise self.fail("Objects must consist of key:value pairs")
            elif stack[-1]:
                raise self.fail("Expected another key-value pair")
            self._next = stack.pop()

    def _store(self, message: str) -> None:
        stack = self._stack
        top = stack[-1]
        if isinstance(top, list):
            top.append(self._next)
        elif isinstance(top, _Key):
            name = stack.pop().name
            stack[-1][name] = self._next
        else:
            raise self.fail(message)
        self._next = _NOTHING


class _Key:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


_NOTHING = object()


def read_literal(text: str) -> Any:
    """A word that stands outside of strings; raises ValueError with jq's message."""
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if text == "nan":
        return float("nan")
    if text[0] in "tfn" and not text.startswith("nan"):
        size = {"t": 4, "f": 5, "n": 4}[text[0]]
        raise ValueError("Invalid literal" if len(text) == size else "Invalid numeric literal")
    if _NUMBER.fullmatch(text):
        digits = text.lstrip("+-")
        return int(text) if digits.isdigit() and text != "-0" else Literal(text)
    if re.fullmatch(r"[+-]?(?:nan|inf(?:inity)?)", text, re.IGNORECASE):
        return float(text)
    raise ValueError("Invalid numeric literal")


_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        code = match.group(1)
        if len(code) == 5:
            return chr(int(code[1:], 16))
        try:
            return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "\\": "\\"}[
                code
            ]
        except KeyError:
            raise ValueError("Invalid escape") from None

    return str(_surrogates(_ESCAPE.sub(replace, text)))


def parse(text: str) -> Any:
    """The one value of a text (`fromjson`); raises JsonError."""
    scan = _careful if "-0" in text and _NEGATIVE_ZERO.search(text) else _fast
    start = _space_end(text, 0)
    if start < len(text):
        try:
            value, end = scan(text, start)
        except (ValueError, StopIteration, RecursionError):
            pass
        else:
            if _space_end(text, end) == len(text) and "\\u" not in text:
                return value
    scanner = Scanner()
    values = [*scanner.feed(text), *scanner.finish()]
    if not values:
        raise JsonError("Expected JSON value")
    if len(values) > 1:
        raise JsonError("Unexpected extra JSON values")
    return values[0]


def _space_end(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


class Reader:
    """Values from chunks of bytes, each as soon as it is complete; what follows is not read before."""

    def __init__(self, *, sequence: bool = False, line_read: Callable[[int], None] | None = None) -> None:
        self.sequence = sequence
        self._line_read = line_read

    def values(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        """All values; raises JsonError at the first text that is not JSON."""
        if self.sequence:
            yield from self._scan(chunks)
            return
        buffer = ""
        position = 0
        lines = 1  # of what stands before the buffer, for messages
        column = 0
        wanted = 0
        first = True
        decode = Decoder()
        for chunk in chunks:
            text = decode.feed(chunk)
            if first and text:
                text = text.removeprefix("\ufeff")
                first = False
            if self._line_read is not None:
                self._line_read(text.count("\n"))
            passed = buffer.count("\n", 0, position)
            lines += passed
            column = position - buffer.rfind("\n", 0, position) - 1 if passed else column + position
            buffer = buffer[position:] + text
            position = 0
            if len(buffer) < wanted:
                continue
            wanted = 0
            scan = _careful if "-0" in buffer and _NEGATIVE_ZERO.search(buffer) else _fast
            escapes = "\\ud" in buffer or "\\uD" in buffer
            size = len(buffer)
            while True:
                position = _space_end(buffer, position)
                if position == size:
                    break
                try:
                    value, end = scan(buffer, position)
                except (ValueError, StopIteration, RecursionError) as error:
                    if _incomplete(error, size):
                        wanted = 2 * (size - position)
                        break
                    yield from self._fallback(
                        buffer[position:], chunks, decode, lines, column, buffer[:position]
                    )
                    return
                if end < size and buffer[end] not in ' \t\r\n"[{' and buffer[end - 1] not in '"]}':
                    # `1x` is one bad word, not a number and something else.
                    yield from self._fallback(
                        buffer[position:], chunks, decode, lines, column, buffer[:position]
                    )
                    return
                if end == size and buffer[end - 1] not in '"]}':
                    break  # more digits may follow
                position = end
                yield _surrogates(value) if escapes else value
        rest = buffer[position:] + decode.finish()
        if rest.strip(" \t\r\n"):
            yield from self._fallback(rest, iter(()), decode, lines, column, buffer[:position])

    def _fallback(
        self, text: str, chunks: Iterator[bytes], decode: Decoder, lines: int, column: int, before: str
    ) -> Iterator[Any]:
        scanner = Scanner()
        passed = before.count("\n")
        scanner.line = lines + passed
        scanner.column = len(before) - before.rfind("\n") - 1 if passed else column + len(before)
        yield from scanner.feed(text)
        for chunk in chunks:
            more = decode.feed(chunk)
            if self._line_read is not None:
                self._line_read(more.count("\n"))
            yield from scanner.feed(more)
        yield from scanner.finish()

    def _scan(self, chunks: Iterator[bytes]) -> Iterator[Any]:
        scanner = Scanner(sequence=True)
        decode = Decoder()
        for chunk in chunks:
            yield from scanner.feed(decode.feed(chunk))
        yield from scanner.finish()


def _incomplete(error: Exception, size: int) -> bool:
    """Whether a failure may only mean that the rest of the text has not come yet."""
    if isinstance(error, StopIteration):
        return isinstance(error.value, int) and error.value >= size - 10
    if isinstance(error, json.JSONDecodeError):
        return error.msg.startswith("Unterminated string") or error.pos >= size - 12
    return False


class Decoder:
    """UTF-8 to text with U+FFFD where bytes are malformed, over chunks cut anywhere."""

    def __init__(self) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        return self._decoder.decode(data)

    def finish(self) -> str:
        return self._decoder.decode(b"", True)


def stream_events(value: Any, path: tuple[Any, ...] = (), *, top: bool = True) -> Iterator[list[Any]]:
    """The events of `tostream` for one value: `[path, leaf]` and closing `[path]`."""
    if isinstance(value, (list, dict)) and value:
        items = enumerate(value) if isinstance(value, list) else value.items()
        key: Any = None
        for key, item in items:
            yield from stream_events(item, (*path, key), top=False)
        yield [[*path, key]]
    else:
        yield [list(path), value]
