"""Reading a sed script into a flat list of commands (POSIX sed with the GNU extensions)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from planaria_shell.commands.text.sed.replacement import Substitution, parse_replacement
from planaria_shell.toolkit.regex.posix import Pattern, compile_basic, compile_extended
from planaria_shell.toolkit.regex.syntax import RegexError, escaped_character
from planaria_shell.toolkit.streams import encode


class ScriptError(Exception):
    """A script that sed refuses; the text is sed's message."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Address:
    """`kind`: line, last, regex, step (first~step), zero, plus (+N) or multiple (~N)."""

    kind: str
    number: int = 0
    step: int = 0
    #: None with kind regex is the empty expression: the last one used.
    pattern: Pattern | None = None


@dataclass(slots=True)
class Command:
    name: str
    first: Address | None = None
    second: Address | None = None
    negated: bool = False
    text: str = ""
    number: int | None = None
    substitution: Substitution | None = None
    table: dict[int, str] = field(default_factory=dict)
    #: For `{`, b, t and T: the index of the command to go on with.
    target: int = 0


@dataclass
class Piece:
    """One -e or -f argument."""

    origin: str
    text: str


class ScriptParser:
    """Parses the pieces as one script; `commands` is the outcome."""

    def __init__(self, pieces: list[Piece], *, extended: bool, null_data: bool = False) -> None:
        self.pieces = pieces
        self.text = "\n".join(piece.text for piece in pieces)
        self.extended = extended
        self.null_data = null_data
        self.at = 0
        self.commands: list[Command] = []
        self.labels: dict[str, int] = {}
        self.quiet = self.text.startswith("#n") and self.text[2:3] in ("", "\n")
        self._parse()

    def error(self, message: str, at: int | None = None) -> ScriptError:
        """The error with the place in the piece that holds it."""
        at = self.at if at is None else at
        start = 0
        for piece in self.pieces:
            if at <= start + len(piece.text) + (piece is self.pieces[-1]):
                break
            start += len(piece.text) + 1
        if piece.origin.startswith("-e"):
            # Characters are bytes here.
            return ScriptError(f"{piece.origin}, char {len(encode(self.text[start:at]))}: {message}")
        line = self.text.count("\n", start, at) + 1
        return ScriptError(f"{piece.origin} line {line}: {message}")

    def _peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def _next(self) -> str:
        char = self._peek()
        self.at += 1
        return char

    def _skip(self, characters: str) -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def _parse(self) -> None:
        open_blocks: list[int] = []
        jumps: list[Command] = []
        while True:
            self._skip(" \t\n;\r\v\f")
            if self.at >= len(self.text):
                break
            if self._peek() == "#":
                self._line()
                continue
            command = self._addresses()
            self._skip(" \t")
            while self._peek() == "!":
                if command.negated:
                    self.at += 1
                    raise self.error("multiple `!'s")
                command.negated = True
                self.at += 1
                self._skip(" \t")
            name = self._next()
            if not name or name in "\n;":
                self.at = min(self.at, len(self.text))
                raise self.error("missing command")
            command.name = name
            if name == "{":
                open_blocks.append(len(self.commands))
            elif name == "}":
                if not open_blocks:
                    raise self.error("unexpected `}'")
                if command.first:
                    raise self.error("} doesn't want any addresses")
                self.commands[open_blocks.pop()].target = len(self.commands)
                self._end_of_command()
                continue
            elif name == "#":
                if command.first:
                    raise self.error("comments don't accept any addresses")
                self._line()
                continue
            elif name == ":":
                if command.first:
                    raise self.error(": doesn't want any addresses")
                self._skip(" \t")
                label = self._label()
                if not label:
                    raise self.error('":" lacks a label')
                self.labels[label] = len(self.commands)
                continue
            else:
                self._arguments(command)
                if name in "btT":
                    jumps.append(command)
            self.commands.append(command)
        if open_blocks:
            raise ScriptError(f"{self.pieces[0].origin}, char 0: unmatched `{{'")
        for command in jumps:
            if command.text and command.text not in self.labels:
                raise ScriptError(f"can't find label for jump to `{command.text}'", 4)
            command.target = self.labels.get(command.text, len(self.commands))

    def _line(self) -> str:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at : end]
        self.at = end
        return line

    def _label(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in "\n; \t}":
            self.at += 1
        return self.text[start : self.at]

    def _addresses(self) -> Command:
        command = Command("")
        command.first = self._address()
        if command.first is None:
            return command
        self._skip(" \t")
        if self._peek() == ",":
            self.at += 1
            self._skip(" \t")
            command.second = self._address(second=True)
            if command.second is None:
                self.at += 1
                raise self.error("unexpected `,'")
        first = command.first
        if first.kind == "line" and not first.number:
            if command.second is None or command.second.kind != "regex":
                self._skip(" \t")
                self.at += 1
                raise self.error("invalid usage of line address 0")
            first.kind = "zero"
        return command

    def _number(self) -> int | None:
        start = self.at
        while self._peek().isdigit():
            self.at += 1
        return int(self.text[start : self.at]) if self.at > start else None

    def _address(self, second: bool = False) -> Address | None:
        char = self._peek()
        if char.isdigit():
            number = self._number() or 0
            self._skip(" \t")
            if not second and self._peek() == "~":
                self.at += 1
                step = self._number() or 0
                return Address("step", number, step) if step else Address("line", number)
            return Address("line", number)
        if char == "$":
            self.at += 1
            return Address("last")
        if second and char and char in "+~":
            self.at += 1
            count = self._number()
            if count is None:
                self.at += 1
                raise self.error("expected number")
            return Address("plus" if char == "+" else "multiple", count)
        if char in ("/", "\\") and char:
            self.at += 1
            delimiter = char if char == "/" else self._next()
            source = self._delimited(delimiter, regex=True)
            if source is None:
                raise self.error("unterminated address regex")
            fold = multiline = False
            while self._peek() in ("I", "M") and self._peek():
                fold |= self._peek() == "I"
                multiline |= self._peek() == "M"
                self.at += 1
            return Address("regex", pattern=self._compile(source, fold, multiline))
        return None

    def _delimited(self, delimiter: str, regex: bool) -> str | None:
        """The text up to an unescaped delimiter; None when there is none on the line, where it stops."""
        parts: list[str] = []
        bracket = False
        while self.at < len(self.text):
            char = self._next()
            if char == "\n":
                self.at -= 1
                return None
            if bracket:
                parts.append(char)
                if char == "[" and self._peek() in (":", ".", "=") and self._peek():
                    end = self.text.find(self._peek() + "]", self.at + 1)
                    if end >= 0:
                        parts.append(self.text[self.at : end + 2])
                        self.at = end + 2
                elif char == "]":
                    bracket = False
                continue
            if char == delimiter:
                return "".join(parts)
            if char == "\\":
                following = self._next()
                if following == delimiter and following:
                    parts.append(following if delimiter not in "&" or regex else "\\" + following)
                elif following == "\n" and regex:
                    parts.append("\n")
                else:
                    parts.append(char + following)
            else:
                parts.append(char)
                if char == "[" and regex:
                    bracket = True
                    for optional in "^]":
                        if self._peek() == optional:
                            parts.append(self._next())
        return None

    def _compile(self, source: str, fold: bool, multiline: bool) -> Pattern | None:
        if not source:
            return None
        compiler = compile_extended if self.extended else compile_basic
        try:
            return compiler(
                source,
                ignore_case=fold,
                newline="multiline" if multiline and not self.null_data else "text",
                tool="sed",
            )
        except RegexError as problem:
            raise self.error(str(problem)) from None

    def _end_of_command(self) -> None:
        self._skip(" \t\r")
        char = self._peek()
        if char == "#" or char == "}" or not char:
            return
        self.at += 1
        if char not in ";\n":
            raise self.error("extra characters after command")

    def _file_name(self) -> str:
        self._skip(" \t")
        name = self._line()
        if not name:
            self.at = min(self.at + 1, len(self.text))
            raise self.error("missing filename in r/R/w/W commands")
        return name

    def _arguments(self, command: Command) -> None:
        match command.name:
            case "=" | "d" | "D" | "F" | "g" | "G" | "h" | "H" | "n" | "N" | "p" | "P" | "x" | "z":
                self._end_of_command()
            case "a" | "i" | "c":
                command.text = self._text_argument()
            case "b" | "t" | "T":
                self._skip(" \t")
                command.text = self._label()
                self._end_of_command()
            case "q" | "Q" | "l" | "L":
                if command.second and command.name in "qQ":
                    raise self.error("command only uses one address")
                self._skip(" \t")
                command.number = self._number()
                self._end_of_command()
            case "r" | "R" | "w" | "W":
                command.text = self._file_name()
            case "e":
                self._skip(" \t")
                command.text = self._line()
            case "v":
                self._skip(" \t")
                wanted = self._label()
                if [int(digits) for digits in re.findall(r"\d+", wanted)] > [4, 9]:
                    raise self.error("expected newer version of sed")
                self._end_of_command()
            case "s":
                command.substitution = self._substitution()
            case "y":
                command.table = self._transliteration()
                self._end_of_command()
            case _:
                raise self.error(f"unknown command: `{command.name}'")

    def _text_argument(self) -> str:
        """The text of a, i and c: one line after the command, or lines that end in a backslash."""
        self._skip(" \t")
        if self.at >= len(self.text):
            raise self.error("expected \\ after `a', `c' or `i'")
        if self._peek() == "\\":
            self.at += 1
            blank = self.at
            self._skip(" \t")
            if self._peek() == "\n":
                self.at += 1
            else:
                self.at = blank
        parts: list[str] = []
        while self.at < len(self.text):
            char = self._next()
            if char == "\n":
                break
            if char == "\\":
                if self.at >= len(self.text):
                    break
                named = escaped_character(self.text, self.at, "sed")
                if named and self._peek() != "\n":
                    parts.append(named[0])
                    self.at = named[1]
                else:
                    parts.append(self._next())
            else:
                parts.append(char)
        if self.text[self.at - 1] == "\n":
            return "".join(parts) + "\n"
        return "".join(parts) + ("\0" if self.null_data else "\n") if parts else ""

    def _substitution(self) -> Substitution:
        delimiter = self._next()
        unterminated = "unterminated `s' command"
        source = self._delimited(delimiter, regex=True) if delimiter not in ("", "\n") else None
        target = self._delimited(delimiter, regex=False) if source is not None else None
        if source is None or target is None:
            raise self.error(unterminated, min(self.at, len(self.text)))
        result = Substitution(None, parse_replacement(target))
        fold = multiline = numbered = False
        while True:
            char = self._peek()
            if char in ("", "\n", ";", "}", "#"):
                break
            self.at += 1
            if char in "iI":
                fold = True
            elif char in "mM":
                multiline = True
            elif char == "g":
                if result.every:
                    raise self.error("multiple `g' options to `s' command")
                result.every = True
            elif char == "p":
                if result.printed:
                    raise self.error("multiple `p' options to `s' command")
                # With e, p before it prints before the evaluation.
                result.printed = 1 if not result.evaluated else 2
            elif char == "e":
                result.evaluated = True
            elif char.isdigit():
                self.at -= 1
                if numbered:
                    self.at += 1
                    raise self.error("multiple number options to `s' command")
                result.number = self._number() or 0
                numbered = True
                if not result.number:
                    raise self.error("number option to `s' command may not be zero")
            elif char == "w":
                result.file = self._file_name()
                break
            elif char not in " \t\r":
                raise self.error("unknown option to `s'")
        if self._peek() in (";", "\n"):
            self.at += 1
        result.pattern = self._compile(source, fold, multiline)
        groups = result.pattern.groups if result.pattern else 9
        if result.replacement.groups > groups:
            raise self.error(f"invalid reference \\{result.replacement.groups} on `s' command's RHS")
        return result

    def _transliteration(self) -> dict[int, str]:
        delimiter = self._next()
        parts: list[list[str]] = []
        for _ in range(2):
            text = self._delimited(delimiter, regex=False)
            if text is None:
                raise self.error("unterminated `y' command")
            characters: list[str] = []
            at = 0
            while at < len(text):
                if text[at] == "\\" and at + 1 < len(text):
                    at += 1
                    named = escaped_character(text, at, "sed") if text[at] != "\n" else None
                    if named:
                        characters.append(named[0])
                        at = named[1]
                        continue
                characters.append(text[at])
                at += 1
            parts.append(characters)
        if len(parts[0]) != len(parts[1]):
            raise self.error("strings for `y' command are different lengths")
        table: dict[int, str] = {}
        for old, new in zip(*parts, strict=True):
            table.setdefault(ord(old), new)
        return table
