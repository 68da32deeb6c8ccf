"""xargs: command lines built from standard input."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, cannot_run, command
from planaria_shell.toolkit.lines import whole_lines
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import Source, reason

__all__: list[str] = []

_MOST_BYTES = 131072
_EXCLUSIVE = "warning: options {} and {} are mutually exclusive, ignoring previous {} value"
_BLANKS = re.compile(rb"[ \t\v\f\r]+")
#: A word: parts that are plain, quoted, or after a backslash.
_WORD = re.compile(rb"(?:[^ \t\n\v\f\r'\"\\]+|'[^'\n]*'|\"[^\"\n]*\"|\\[\s\S])+")
#: Lines of plain words, none of which goes on with the next one.
_SIMPLE_LINES = re.compile(rb"(?:(?:[ \t]*+[^ \t\n\v\f\r'\"\\\0]++)++\n)++")
_LINE = re.compile(rb"[^\n]*+\n|[^\n]++")
_PART = re.compile(rb"'([^'\n]*)'|\"([^\"\n]*)\"|\\([\s\S])")


def _unquoted(word: bytes) -> bytes:
    if b"'" not in word and b'"' not in word and b"\\" not in word:
        return word
    return _PART.sub(lambda match: match[1] or match[2] or match[3] or b"", word)


class _Items:
    """The items of the input, with the number of the line each is on (for `-L`)."""

    def __init__(self, call: Invocation, source: Source) -> None:
        arguments = call.arguments
        self.call = call
        self.source = source
        self.end = arguments.value("E", "e")
        delimiter = arguments.value("d")
        self.delimiter: bytes | None = None
        for key, _ in arguments:
            if key == "0":
                self.delimiter = b"\0"
            elif key == "d":
                self.delimiter = _delimiter(delimiter or "")
        self.whole_lines = arguments.has("I", "i")
        self.counts_lines = arguments.has("L", "l")

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        if self.delimiter is not None:
            return self._delimited(self.delimiter)
        return self._lines() if self.whole_lines else self._words()

    def _delimited(self, end: bytes) -> Iterator[tuple[int, bytes]]:
        rest = b""
        number = 0
        for chunk in self.source.chunks():
            pieces = (rest + chunk).split(end)
            rest = pieces.pop()
            for piece in pieces:
                number += 1
                yield number, piece
        if rest:
            yield number + 1, rest

    def _mismatched(self, line: bytes, at: int) -> CommandError:
        kind = "single" if line[at : at + 1] == b"'" else "double"
        return CommandError(
            f"unmatched {kind} quote; by default quotes are special to xargs unless you use the -0 option"
        )

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """One item a line, blanks at its start left out (`-I`)."""
        for number, line in enumerate(self.source, 1):
            body = line.rstrip(b"\n").lstrip(b" \t\v\f\r")
            if not body:
                continue
            out = bytearray()
            at = 0
            while at < len(body):
                c = body[at : at + 1]
                if c in (b"'", b'"'):
                    close = body.find(c, at + 1)
                    if close < 0:
                        raise self._mismatched(body, at)
                    out += body[at + 1 : close]
                    at = close + 1
                elif c == b"\\" and at + 1 < len(body):
                    out += body[at + 1 : at + 2]
                    at += 2
                else:
                    out += c
                    at += 1
            item = bytes(out)
            if self.end is not None and item == self.end.encode():
                return
            yield number, item

    def _words(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        pending = b""
        for line in self.source if self.counts_lines or self.end is not None else self._blocks():
            if not pending and self.end is None and _SIMPLE_LINES.fullmatch(line):
                number += 1
                for item in line.split():
                    yield number, item
                continue
            text = pending + line
            pending = b""
            if text.endswith(b"\\\n"):
                # An escaped newline is part of the item.
                pending = text
                continue
            if not text.rstrip(b"\n").endswith((b" ", b"\t")) or not text.strip():
                number += 1
                current = number
            else:
                # A line that ends with a blank goes on with the next one.
                current = number + 1
            yield from self._split(text, current)
            if self._ended:
                return
        if pending:
            yield from self._split(pending, number + 1)

    def _blocks(self) -> Iterator[bytes]:
        """Many lines at once where they are plain, else one after the other."""
        for block in whole_lines(self.source.chunks(), b"\n"):
            if _SIMPLE_LINES.fullmatch(block):
                yield block
            else:
                yield from _LINE.findall(block)

    _ended = False

    def _split(self, line: bytes, number: int) -> Iterator[tuple[int, bytes]]:
        at = 0
        body = line[:-1] if line.endswith(b"\n") and not line.endswith(b"\\\n") else line
        while at < len(body):
            blank = _BLANKS.match(body, at)
            if blank:
                at = blank.end()
                continue
            match = _WORD.match(body, at)
            if match is None:
                if body[at : at + 1] in (b"'", b'"'):
                    raise self._mismatched(body, at)
                at += 1
                continue
            at = match.end()
            if body[at : at + 1] in (b"'", b'"'):
                raise self._mismatched(body, at)
            item = _unquoted(match[0])
            if self.end is not None and item == self.end.encode():
                self._ended = True
                return
            yield number, item


def _delimiter(text: str) -> bytes:
    escapes = {
        "\\0": b"\0",
        "\\n": b"\n",
        "\\t": b"\t",
        "\\r": b"\r",
        "\\a": b"\a",
        "\\b": b"\b",
        "\\f": b"\f",
        "\\v": b"\v",
        "\\\\": b"\\",
    }
    if text in escapes:
        return escapes[text]
    if match := re.fullmatch(r"\\x([0-9a-fA-F]{1,2})", text):
        return bytes([int(match[1], 16)])
    if match := re.fullmatch(r"\\([0-7]{1,3})", text):
        return bytes([int(match[1], 8) & 255])
    data = text.encode("utf-8", "surrogateescape")
    if len(data) != 1:
        raise UsageError(
            f"Invalid input delimiter specification {text}: the delimiter must be either a single "
            f"character or "
            "an escape sequence starting with \\.",
            hint=False,
        )
    return data


class _Runner:
    """Runs the commands and remembers how they ended."""

    def __init__(self, call: Invocation, standard_input: bytes | None) -> None:
        self.call = call
        self.trace = call.arguments.has("t", "p")
        self.asks = call.arguments.has("p")
        self.status = 0
        self.standard_input = standard_input

    def run(self, argv: list[str]) -> bool:
        """Run one command; False when xargs must stop."""
        call = self.call
        if self.trace:
            shown = " ".join(shell_quote(word, "") for word in argv)
            if self.asks:
                raise CommandError("cannot ask before a command: there is no terminal")
            call.warn(shown)
        try:
            status = call.run(argv, stdin=b"" if self.standard_input is None else self.standard_input)
        except OSError as error:
            raise cannot_run(argv[0], error, "{}", str) from None
        if status == 255:
            call.error(f"{argv[0]}: exited with status 255; aborting")
            self.status = 124
            return False
        if status in (126, 127):
            self.status = status
            return False
        if status > 128 and status - 128 < 65 and status - 128 in (9, 15, 2, 6, 11):
            call.error(f"{argv[0]}: terminated by signal {status - 128}")
            self.status = 125
            return False
        if status:
            self.status = 123
        return True


def _positive(call: Invocation, key: str, default: int | None = None, least: int = 1) -> int | None:
    text = call.arguments.value(key)
    if text is None:
        return default
    if not re.fullmatch(r"-?\d+", text):
        raise UsageError(f'invalid number "{text}" for -{key} option')
    if int(text) < least:
        raise UsageError(f"value {text} for -{key} option should be >= {least}")
    return int(text)


@command(
    "xargs",
    short="0a:E:e::i::I:l::L:n:oprs:txP:d:",
    long="null=0 arg-file=a: delimiter=d: eof=e:: replace=i:: max-lines=l:: max-args=n: open-tty=o "
    "interactive=p "
    "no-run-if-empty=r max-chars=s: show-limits verbose=t exit=x max-procs=P: process-slot-var:",
    usage="[OPTION]... COMMAND [INITIAL-ARGS]...",
    order="options first",
)
def xargs(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND with arguments INITIAL-ARGS and more arguments read from input."""
    arguments = call.arguments
    command = call.operands or ["echo"]
    _positive(call, "P", least=0)
    most = _positive(call, "n")
    limit = _positive(call, "s", _MOST_BYTES) or _MOST_BYTES
    lines: int | None = None
    replace: str | None = None
    # The last of -n, -L and -I counts, except that `-n 1` goes along with -I.
    for key, value in arguments:
        if key in ("L", "l"):
            text = value or "1"
            if not text.isdigit() or not int(text):
                raise UsageError(f"value {text} for -{key} option should be >= 1")
            lines, replace, most = int(text), None, None
        elif key in ("I", "i"):
            if most is not None:
                call.error(_EXCLUSIVE.format("--max-args", "--replace/-I/-i", "--max-args"))
            replace, lines, most = value or "{}", None, None
        elif key == "n":
            most = _positive(call, "n")
            if replace is not None and most != 1:
                call.error(_EXCLUSIVE.format("--replace", "--max-args/-n", "--replace"))
                replace = None
            elif replace is not None:
                most = None
            lines = None
    name = arguments.value("a")
    try:
        source = call.open(name or "-")
    except OSError as error:
        raise CommandError(f"Cannot open input file {quote(name or '-')}: {reason(error)}") from None
    runner = _Runner(call, None)
    items = _Items(call, source)
    if replace is None:
        items.whole_lines = False
    base = sum(len(word) + 1 for word in command)
    with source:
        if replace is not None:
            for _, item in items:
                text = item.decode("utf-8", "surrogateescape")
                argv = [word.replace(replace, text) for word in command]
                if sum(len(word) + 1 for word in argv) > limit:
                    raise CommandError("argument list too long" if arguments.has("x") else "command too long")
                if not runner.run(argv):
                    return runner.status
                yield
            return runner.status
        batch: list[str] = []
        size = base
        seen_lines: list[int] = []
        ran = False
        reader = iter(items)
        problem: CommandError | None = None
        while True:
            try:
                number, item = next(reader)
            except StopIteration:
                break
            except CommandError as failure:
                # What was read before the bad quote still runs.
                problem = failure
                break
            text = item.decode("utf-8", "surrogateescape")
            length = len(item) + 1
            if base + length > limit:
                raise CommandError("argument line too long")
            over_lines = lines is not None and number not in seen_lines and len(seen_lines) >= lines
            too_big = size + length > limit
            if batch and (too_big or over_lines or (most is not None and len(batch) >= most)):
                if too_big and arguments.has("x") and (most or lines):
                    raise CommandError("argument list too long")
                ran = True
                if not runner.run([*command, *batch]):
                    return runner.status
                yield
                batch, size, seen_lines = [], base, []
            batch.append(text)
            size += length
            if lines is not None and number not in seen_lines:
                seen_lines.append(number)
        if batch or not (ran or problem or arguments.has("r")):
            runner.run([*command, *batch])
        if problem is not None:
            raise problem
    return runner.status
