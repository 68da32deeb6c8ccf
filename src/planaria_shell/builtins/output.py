"""`echo` and `printf`."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

from planaria_shell.builtins.extended_numbers import ExtendedNumber, extended, formatted
from planaria_shell.builtins.registry import BuiltinUsageError, OptionError, builtin, usage
from planaria_shell.errors import ShellError
from planaria_shell.expand.subscripts import is_reference
from planaria_shell.state.characters import by_bytes
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import EXPORT, is_name
from planaria_shell.syntax.quoting import printf_quoted

__all__ = ["escapes", "format_text"]

_ESCAPE = re.compile(
    r"\\(?:(c)|([abeEfnrtv\\\"'?])|0([0-7]{1,3})|([1-7][0-7]{0,2})|x([0-9a-fA-F]{0,2})|u([0-9a-fA-F]{1,4})"
    r"|U([0-9a-fA-F]{1,8})|(0))"
)
_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"', "'": "'", "?": "?",
}  # fmt: skip


def _byte(number: int) -> str:
    number &= 0xFF
    return chr(number) if number < 0x80 else chr(0xDC00 + number)


def escapes(text: str, *, kind: str, warn: Callable[[str], None] | None = None) -> tuple[str, bool]:
    """`text` with its escapes replaced, and whether `\\c` ended it. `kind` is "echo", "b" or "format"."""
    if "\\" not in text:
        return text, False
    pieces: list[str] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        pieces.append(text[position : match.start()])
        stop, letter, zero_octal, octal, hexadecimal, short, long, zero = match.groups()
        position = match.end()
        if stop is not None:
            if kind == "format":
                pieces.append(match.group())
                continue
            return "".join(pieces), True
        if letter is not None:
            if letter in "\"'?" and kind != "format":
                pieces.append(match.group())
            else:
                pieces.append(_LETTERS[letter])
        elif zero_octal is not None:
            if kind == "format" and len(zero_octal) == 3:
                # In a format an octal number has three digits at most, with the zero.
                pieces.append(_byte(int(zero_octal[:2], 8)) + zero_octal[2])
            else:
                pieces.append(_byte(int(zero_octal, 8)))
        elif octal is not None:
            pieces.append(_byte(int(octal, 8)) if kind != "echo" else match.group())
        elif hexadecimal == "":
            pieces.append("\\x")
            if warn is not None:
                warn("missing hex digit for \\x")
        elif hexadecimal is not None:
            pieces.append(_byte(int(hexadecimal, 16)))
        elif zero is not None:
            pieces.append("\0")
        else:
            code = int(short or long, 16)
            pieces.append(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "")
    pieces.append(text[position:])
    return "".join(pieces), False


@builtin("echo")
def echo(shell: Interpreter, argv: list[str]) -> int:
    newline = True
    interpret = "xpg_echo" in shell.shopts
    place = 1
    count = len(argv)
    while place < count:
        word = argv[place]
        if len(word) < 2 or word[0] != "-" or word.strip("neE") != "-":
            break
        for letter in word[1:]:
            if letter == "n":
                newline = False
            else:
                interpret = letter == "e"
        place += 1
    text = " ".join(argv[place:]) if place < count - 1 else (argv[place] if place < count else "")
    if interpret:
        text, stopped = escapes(text, kind="echo")
        newline = newline and not stopped
    if newline:
        text += "\n"
    stream = shell.fds.get(1)
    if stream is None:
        raise ShellError("write error: Bad file descriptor")
    stream.write(text.encode("utf-8", "surrogateescape"))
    return 0


# -- printf ----------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(
    r"%(?:(%)|([-+ #0']*)(\*|-?\d+)?(?:\.(\*|-?\d*))?(?:hh|h|ll|l|L|j|z|t)?"
    r"(?:([diouxXeEfFgGaAscbqQn])|\(((?:[^()]|\([^()]*\))*)\)T))"
)
_NUMBER = re.compile(r"[ \t\n]*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)")
_FLOAT = re.compile(
    r"[ \t\n]*[+-]?(?:0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"|inf(?:inity)?|nan)",
    re.I,
)


_NO_DIGITS = re.compile(r"(?<!\\)(?:\\\\)*\\x(?![0-9a-fA-F])")


class _Output:
    """One run of `printf`: arguments given out one by one, errors kept."""

    def __init__(self, shell: Interpreter, arguments: list[str], writes: bool) -> None:
        self.shell = shell
        self.arguments = arguments
        #: Whether lines go to standard output, where they stand before a message about what follows.
        self.writes = writes
        self.place = 0
        self.status = 0
        self.stopped = False
        #: What has been written.
        self.result: list[str] = []

    def next(self) -> str | None:
        if self.place < len(self.arguments):
            self.place += 1
            return self.arguments[self.place - 1]
        self.place += 1
        return None

    def complain(self, message: str) -> None:
        self.tell(message)
        self.status = 1

    def tell(self, message: str) -> None:
        """Write a message behind the lines that are complete."""
        if self.writes:
            lines, newline, rest = "".join(self.result).rpartition("\n")
            if newline:
                self.result[:] = [rest]
                self.shell.output((lines + newline).encode("utf-8", "surrogateescape"))
        self.shell.complain(f"printf: {message}")

    def integer(self, text: str | None, *, signed: bool = True) -> int:
        if not text:
            return 0
        if text[0] in "'\"":
            first = by_bytes(text[1:2]) if self.shell.bytewise else text[1:2]
            code = ord(first[0]) if first else 0
            return code & 0xFF if 0xDC80 <= code <= 0xDCFF else code
        match = _NUMBER.match(text)
        if match is None:
            self.complain(f"{text}: invalid number")
            return 0
        sign, digits = match.groups()
        if digits[:2] in ("0x", "0X"):
            value = int(digits, 16)
        elif digits[0] == "0" and len(digits) > 1:
            octal = re.match(r"[0-7]+", digits)
            assert octal is not None
            value = int(octal.group(), 8)
            if octal.end() < len(digits):
                self.complain(f"{text}: invalid octal number")
                return -value if sign == "-" else value
        else:
            value = int(digits)
        if match.end() < len(text):
            kind = "hex" if digits[:2] in ("0x", "0X") else ""
            self.complain(f"{text}: invalid {kind} number" if kind else f"{text}: invalid number")
        if sign == "-":
            value = -value
        most = 1 << 63 if signed else 1 << 64
        if not -(1 << 63) <= value < most:
            self.tell(f"warning: {text}: Numerical result out of range")
            value = max(-(1 << 63), min(value, most - 1))
        return value

    def real(self, text: str | None) -> ExtendedNumber:
        if not text:
            return extended("0")
        if text[0] in "'\"":
            return extended(str(self.integer(text)))
        match = _FLOAT.match(text)
        if match is None:
            self.complain(f"{text}: invalid number")
            return extended("0")
        if match.end() < len(text):
            self.complain(f"{text}: invalid number")
        number = extended(match.group().strip())
        if number.special == "inf" and "n" not in match.group().lower():
            self.tell(f"warning: {text}: Numerical result out of range")
        return number


Piece = Callable[[_Output], str]
#: The C library's greatest field. Bash writes nothing for a wider one, and does not say so.
_WIDEST = 0x7FFFFFFF


def _padded(text: str, width: int, left: bool) -> str:
    """Fill up to `width` bytes, as the C library counts them."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
    if size >= width:
        return text
    return text + " " * (width - size) if left else " " * (width - size) + text


def _cut(text: str, precision: int) -> str:
    if text.isascii():
        return text[:precision]
    return text.encode("utf-8", "surrogateescape")[:precision].decode("utf-8", "surrogateescape")


def _integer_text(value: int, flags: str, precision: int | None, conversion: str) -> str:
    if conversion in "di":
        value = min(value, (1 << 63) - 1)
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
        digits = str(abs(value))
    else:
        value &= (1 << 64) - 1
        sign = ""
        if conversion == "u":
            digits = str(value)
        elif conversion == "o":
            digits = f"{value:o}"
            if "#" in flags and digits[0] != "0":
                digits = "0" + digits
        else:
            digits = f"{value:{conversion}}"
            if "#" in flags and value:
                sign = "0" + conversion
    if precision is not None:
        if precision == 0 and value == 0 and not (conversion == "o" and "#" in flags):
            digits = ""
        digits = digits.rjust(precision, "0")
    return sign + "\0" + digits


def _float_text(value: ExtendedNumber, flags: str, precision: int | None, conversion: str) -> str:
    sign = "-" if value.negative else "+" if "+" in flags else " " if " " in flags else ""
    return sign + "\0" + formatted(value, conversion, precision, point="#" in flags)


def _numeric_padded(text: str, width: int, flags: str, zero: bool) -> str:
    sign, _, digits = text.partition("\0")
    if "'" in flags:
        pass
    missing = width - len(sign) - len(digits)
    if missing <= 0:
        return sign + digits
    if "-" in flags:
        return sign + digits + " " * missing
    if zero and "0" in flags:
        return sign + "0" * missing + digits
    return " " * missing + sign + digits


def _directive(match: re.Match[str]) -> Piece:
    percent, flags, width_text, precision_text, conversion, when = match.groups()
    if percent:
        return lambda out: "%"
    flags = flags or ""
    fixed_width = 0 if width_text in (None, "*") else int(width_text)
    fixed_precision = None if precision_text in (None, "*") else int(precision_text or 0)
    if fixed_precision is not None and fixed_precision < 0:
        fixed_precision = None
    star_width = width_text == "*"
    star_precision = precision_text == "*"

    def piece(out: _Output) -> str:
        width, precision, own = fixed_width, fixed_precision, flags
        if star_width:
            width = out.integer(out.next())
        if star_precision:
            precision = out.integer(out.next())
            if precision < 0:
                precision = None
        left = "-" in own
        if width < 0:
            left, width, own = True, -width, own + "-"
        if width > _WIDEST or (precision or 0) > _WIDEST:
            out.complain(os.strerror(errno.EOVERFLOW))
            out.stopped = True
            return ""
        if when is not None:
            moment = _time(out, when)
            return _padded(moment if precision is None else _cut(moment, precision), width, left)
        argument = out.next()
        if conversion == "s":
            text = argument or ""
            return _padded(text if precision is None else _cut(text, precision), width, left)
        if conversion in "diouxX":
            number = _integer_text(
                out.integer(argument, signed=conversion in "di"), own, precision, conversion
            )
            return _numeric_padded(number, width, own, precision is None)
        if conversion in "eEfFgGaA":
            return _numeric_padded(
                _float_text(out.real(argument), own, precision, conversion), width, own, True
            )
        if conversion == "b":
            text, out.stopped = escapes(argument or "", kind="b", warn=out.complain)
            return _padded(text if precision is None else _cut(text, precision), width, left)
        if conversion == "c":
            return _padded(_cut(argument or "", 1), width, left) if argument else _padded("\0", width, left)
        if conversion == "q":
            text = argument or ""
            text = printf_quoted(by_bytes(text) if out.shell.bytewise else text)
            return _padded(text if precision is None else _cut(text, precision), width, left)
        if conversion == "Q":
            text = argument or ""
            return _padded(printf_quoted(text if precision is None else _cut(text, precision)), width, left)
        if argument and is_name(argument):
            written = "".join(out.result).encode("utf-8", "surrogateescape")
            out.shell.variables.set(argument, str(len(written)))
        return ""

    return piece


def _time(out: _Output, form: str) -> str:
    argument = out.next()
    seconds = (
        time.time() if argument in (None, "-1") else out.shell.seconds_since if argument == "-2" else None
    )
    if seconds is None:
        seconds = out.integer(argument)
    form, seconds = _within_calendar(form, int(seconds))
    variable = out.shell.variables.find("TZ")
    zone = variable.value if variable is not None and variable.flags & EXPORT else None
    if zone:
        form = re.sub(r"%(%|s)", lambda match: str(int(seconds)) if match.group(1) == "s" else "%%", form)
        from zoneinfo import ZoneInfo

        try:
            there = datetime.fromtimestamp(seconds, ZoneInfo(zone))
        except (KeyError, ValueError, OSError):
            there = datetime.fromtimestamp(seconds, UTC)
        text = there.strftime(form or "%X")
    else:
        text = time.strftime(form or "%X", time.localtime(seconds))
    return text if len(text.encode("utf-8", "surrogateescape")) < _LONGEST_TIME else ""


def _within_calendar(form: str, seconds: int) -> tuple[str, int]:
    """A time of a year that Python knows, and the form with the real year in it."""
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        # The year would be too large for an int.
        return form, 0
    cycles = (seconds - _CALENDAR_START) // _CYCLE
    if abs(cycles) < _CYCLES_KNOWN:
        return form, seconds
    moved = seconds - cycles * _CYCLE
    year = time.gmtime(moved).tm_year + 400 * cycles
    form = re.sub(r"%[FYGs%]", lambda match: {
        "%F": f"{year}-%m-%d", "%Y": str(year), "%G": str(year), "%s": str(seconds), "%%": "%%",
    }[match[0]], form)  # fmt: skip
    return form, moved


#: The Gregorian calendar comes round in so many seconds (400 years); 2000 began at the second one.
_CYCLE = 12_622_780_800
_CALENDAR_START = 946_684_800
#: So many cycles before and after are years of four digits.
_CYCLES_KNOWN = 5
#: What localtime(3) knows.
_FIRST_SECOND, _LAST_SECOND = -67_768_040_609_740_800, 67_768_036_191_676_799

#: A time that takes so many bytes is shown as nothing.
_LONGEST_TIME = 128


#: What begins like a time and is none, with the character where there should be a T.
_WRONG_TIME = re.compile(
    r"%[-+ #0']*(?:\*|-?\d+)?(?:\.(?:\*|-?\d*))?\((?:[^()]|\([^()]*\))*(?:\)(.)?)?", re.DOTALL
)


def _unfinished_time(char: str) -> Piece:
    def piece(out: _Output) -> str:
        out.tell(f"warning: `{char}': invalid time format specification")
        return "%"

    return piece


@lru_cache(maxsize=256)
def _compiled(template: str) -> list[str | Piece | None]:
    """Texts and directives; None where the format is wrong, followed by the character."""
    pieces: list[str | Piece | None] = []
    position = 0
    while True:
        found = template.find("%", position)
        if found < 0:
            break
        pieces.append(escapes(template[position:found], kind="format")[0])
        match = _DIRECTIVE.match(template, found)
        if match is None:
            if wrong_time := _WRONG_TIME.match(template, found):
                pieces.append(_unfinished_time(wrong_time.group(1) or " "))
                position = found + 1
                continue
            wrong = re.compile(r"%[-+ #0']*(?:\*|\d+)?(?:\.(?:\*|\d*))?[hlLjzt]*(.)?", re.DOTALL).match(
                template, found
            )
            char = wrong.group(1) if wrong is not None else None
            wrong_text = f"`{char}': invalid" if char else f"`{template[found:]}': missing"
            pieces.extend((None, f"{wrong_text} format character"))
            return pieces
        pieces.append(_directive(match))
        position = match.end()
    pieces.append(escapes(template[position:], kind="format")[0])
    return pieces


def format_text(
    shell: Interpreter, template: str, arguments: list[str], *, writes: bool = False
) -> tuple[str, int]:
    """What `printf` writes, and its status; with `writes` only what stands behind its last message."""
    pieces = _compiled(template)
    out = _Output(shell, arguments, writes)
    if "\\x" in template:
        for _ in _NO_DIGITS.finditer(template):
            shell.complain("printf: missing hex digit for \\x")
    result = out.result
    while True:
        before = out.place
        wrong = False
        for piece in pieces:
            if wrong:
                out.complain(str(piece))
                return "".join(result), 1
            if piece is None:
                wrong = True
            elif isinstance(piece, str):
                result.append(piece)
            else:
                result.append(piece(out))
                if out.stopped:
                    return "".join(result), out.status
        if out.place >= len(arguments) or out.place == before:
            return "".join(result), out.status


@builtin("printf")
def printf(shell: Interpreter, argv: list[str]) -> int:
    place = 1
    variable = ""
    while place < len(argv) and argv[place].startswith("-") and len(argv[place]) > 1:
        word = argv[place]
        place += 1
        if word == "--":
            break
        if word.startswith("-v"):
            if word == "-v":
                if place >= len(argv):
                    raise OptionError("-v: option requires an argument")
                variable = argv[place]
                place += 1
            else:
                variable = word[2:]
            if not is_reference(shell, variable):
                raise BuiltinUsageError(f"`{variable}': not a valid identifier")
        else:
            raise OptionError(f"{word[:2]}: invalid option")
    if place >= len(argv):
        return usage(shell, "printf")
    text, status = format_text(shell, argv[place], argv[place + 1 :], writes=not variable)
    if variable:
        if not text.isascii():
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        shell.assign(variable, text.partition("\0")[0])
        return status
    shell.output(text.encode("utf-8", "surrogateescape"))
    return status
