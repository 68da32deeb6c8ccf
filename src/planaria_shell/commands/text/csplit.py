"""csplit: a file in pieces at lines that match patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote_always
from planaria_shell.toolkit.regex.posix import Pattern, RegexError, compile_basic
from planaria_shell.toolkit.streams import decode, reason

__all__: list[str] = []


@dataclass(slots=True)
class _Pattern:
    text: str
    number: int = 0
    regex: Pattern | None = None
    offset: int = 0
    skip: bool = False
    repeat: int = 0
    forever: bool = False


def _parse_patterns(words: list[str]) -> list[_Pattern]:
    patterns: list[_Pattern] = []
    last = 0
    for word in words:
        if word[:1] == "{" and patterns:
            if not word.endswith("}"):
                raise UsageError(f"{word}: '}}' is required in repeat count", hint=False)
            if word == "{*}":
                patterns[-1].forever = True
            elif word[1:-1].isdigit():
                patterns[-1].repeat = int(word[1:-1])
            else:
                raise UsageError(f"{word}}}: integer required between '{{' and '}}'", hint=False)
            continue
        if word[:1] in ("/", "%"):
            close = word.rfind(word[0])
            if close == 0:
                raise UsageError(f"{word}: closing delimiter '{word[0]}' missing", hint=False)
            offset = word[close + 1 :]
            if offset and not re.fullmatch(r"[+-]?\d+", offset):
                raise UsageError(f"{word}: integer expected after delimiter", hint=False)
            try:
                regex = compile_basic(word[1:close])
            except RegexError as error:
                raise UsageError(f"{word}: invalid regular expression: {error}", hint=False) from None
            patterns.append(_Pattern(word, regex=regex, offset=int(offset or 0), skip=word[0] == "%"))
            continue
        if not word.isdigit():
            raise UsageError(f"{quote(word)}: invalid pattern", hint=False)
        number = int(word)
        if not number:
            raise UsageError(f"{word}: line number must be greater than zero", hint=False)
        if number < last:
            raise UsageError(
                f"line number {quote(word)} is smaller than preceding line number, {last}", hint=False
            )
        last = number
        patterns.append(_Pattern(word, number=number))
    return patterns


class _Pieces:
    def __init__(self, call: Invocation) -> None:
        arguments = call.arguments
        self.call = call
        self.prefix = arguments.value("f") or "xx"
        digits = arguments.value("n") or "2"
        if not digits.isdigit():
            raise UsageError(f"invalid number: {quote(digits)}", hint=False)
        self.format = arguments.value("b") or f"%0{digits}d"
        if not re.fullmatch(r"(?:[^%]|%%)*%[-+ 0#']*\d*(?:\.\d+)?[diuoxX](?:[^%]|%%)*", self.format):
            raise UsageError("invalid suffix format: " + self.format, hint=False)
        self.quiet = arguments.has("s", "q")
        self.elide = arguments.has("z")
        self.names: list[str] = []

    def write(self, lines: list[bytes]) -> None:
        data = b"".join(lines)
        if self.elide and not data:
            return
        name = self.prefix + self.format.replace("u", "d") % len(self.names)
        try:
            file = self.call.create(name)
        except OSError as error:
            raise CommandError(f"{shell_quote_always(name)}: {reason(error)}") from None
        self.names.append(name)
        file.write(data)
        file.close()
        if not self.quiet:
            self.call.print(str(len(data)))

    def remove(self) -> None:
        for name in self.names:
            Path(self.call.path(name)).unlink(missing_ok=True)


@command(
    "csplit",
    short="b:f:kn:qsz",
    long="suffix-format=b: prefix=f: keep-files=k suppress-matched digits=n: quiet=s silent=s "
    "elide-empty-files=z",
    usage="[OPTION]... FILE PATTERN...",
)
def csplit(call: Invocation) -> Status:
    """Output pieces of FILE separated by PATTERN(s) to files 'xx00', 'xx01', ..., and their sizes."""
    words = call.operands
    if not words:
        raise UsageError("missing operand")
    if len(words) < 2:
        raise UsageError(f"missing operand after {quote(words[0])}")
    patterns = _parse_patterns(words[1:])
    pieces = _Pieces(call)
    try:
        with call.open(words[0]) as source:
            lines = list(source)
    except OSError as error:
        raise CommandError(
            f"cannot open {shell_quote_always(words[0])} for reading: {reason(error)}"
        ) from None
    try:
        _split(call, lines, patterns, pieces)
    except CommandError:
        if not call.arguments.has("k"):
            pieces.remove()
        raise
    return 0


def _split(call: Invocation, lines: list[bytes], patterns: list[_Pattern], pieces: _Pieces) -> None:
    at = 0  # first line not written yet
    suppress = call.arguments.has("suppress-matched")
    searched = 0  # where the next search for a pattern begins
    for pattern in patterns:
        turn = 0
        while pattern.forever or turn <= pattern.repeat:
            again = f" on repetition {turn}" if turn else ""
            if pattern.regex is None:
                goal = pattern.number * (turn + 1) - 1
                if goal > len(lines) or (goal == len(lines) and not suppress):
                    pieces.write(lines[at:])
                    raise CommandError(f"{quote(pattern.text)}: line number out of range{again}")
                pieces.write(lines[at:goal])
                at = searched = goal + suppress
            else:
                match = next(
                    (i for i in range(searched, len(lines)) if pattern.regex.find(_body(lines[i]))), -1
                )
                if match < 0:
                    if pattern.forever:
                        if pattern.skip:
                            return
                        break
                    if not pattern.skip:
                        pieces.write(lines[at:])
                    raise CommandError(f"{quote(pattern.text)}: match not found{again}")
                goal = match + pattern.offset
                if goal < at or goal > len(lines):
                    raise CommandError(f"{quote(pattern.text)}: line number out of range{again}")
                if not pattern.skip:
                    pieces.write(lines[at:goal])
                # What is left out is the line at the border, which an offset moves.
                at = goal + suppress
                searched = max(match + 1, at)
            turn += 1
    pieces.write(lines[at:])


def _body(line: bytes) -> str:
    return decode(line.removesuffix(b"\n"))
