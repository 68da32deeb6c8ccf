"""echo, printf, yes, true, false, tee: commands that just write."""

from __future__ import annotations

import re
from collections.abc import Generator
from decimal import Decimal, InvalidOperation

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.streams import BLOCK, Sink

__all__: list[str] = []

_ESCAPES = {
    "a": b"\a",
    "b": b"\b",
    "e": b"\x1b",
    "f": b"\f",
    "n": b"\n",
    "r": b"\r",
    "t": b"\t",
    "v": b"\v",
    "\\": b"\\",
}


class _Stop(Exception):
    """`\\c`: no more output."""


def _escape(text: str, at: int, zero_octal: bool) -> tuple[bytes, int]:
    """The bytes of the escape after the backslash at `at - 1`, and the position after it."""
    if at >= len(text):
        return b"\\", at
    letter = text[at]
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 1
    if letter == "c":
        raise _Stop
    if letter == "x":
        match = re.compile(r"[0-9a-fA-F]{1,2}").match(text, at + 1)
        if match:
            return bytes([int(match[0], 16)]), match.end()
        return b"\\x", at + 1
    if not zero_octal and letter == '"':
        return b'"', at + 1
    if letter in "01234567":
        if zero_octal and letter != "0":
            match = None
        else:
            match = re.compile(r"[0-7]{1,3}").match(text, at + (letter == "0" and zero_octal))
        if match:
            return bytes([int(match[0], 8) & 255]), match.end()
        if zero_octal and letter == "0":
            return b"\0", at + 1
    if not zero_octal and letter in "uU":
        match = re.compile(r"[0-9a-fA-F]{4}" if letter == "u" else r"[0-9a-fA-F]{8}").match(text, at + 1)
        if match:
            return chr(int(match[0], 16)).encode(), match.end()
        raise CommandError("missing hexadecimal number in escape")
    return b"\\" + letter.encode("utf-8", "surrogateescape"), at + 1


def _escaped(text: str, zero_octal: bool, out: bytearray) -> None:
    """Append a text with its escapes replaced; raises _Stop at `\\c`, what came before is there."""
    at = 0
    while (found := text.find("\\", at)) >= 0:
        out += text[at:found].encode("utf-8", "surrogateescape")
        data, at = _escape(text, found + 1, zero_octal)
        out += data
    out += text[at:].encode("utf-8", "surrogateescape")


@utility("echo", usage="[SHORT-OPTION]... [STRING]...", parse=False)
def echo(call: Invocation) -> Status:
    """Echo the STRING(s) to standard output."""
    words = call.operands
    newline, escapes = b"\n", False
    at = 0
    while at < len(words) and re.fullmatch(r"-[neE]+", words[at]):
        for letter in words[at][1:]:
            if letter == "n":
                newline = b""
            else:
                escapes = letter == "e"
        at += 1
    text = " ".join(words[at:])
    if not escapes:
        call.stdout.write(text.encode("utf-8", "surrogateescape") + newline)
        return 0
    out = bytearray()
    try:
        _escaped(text, True, out)
        out += newline
    except _Stop:
        pass
    call.stdout.write(bytes(out))
    return 0


_DIRECTIVE = re.compile(r"%(%|([-+ 0#']*)(\*|\d*)(?:\.(\*|-?\d*))?([hlLjzt]*)([a-zA-Z]))")


class _Words:
    """The arguments of printf, taken one by one; missing ones are empty."""

    def __init__(self, call: Invocation, words: list[str]) -> None:
        self.call = call
        self.words = words
        self.at = 0

    def next(self) -> str | None:
        if self.at >= len(self.words):
            return None
        self.at += 1
        return self.words[self.at - 1]

    def number(self, real: bool) -> int | Decimal:
        word = self.next()
        if word is None:
            return 0
        if word[:1] in ("'", '"') and len(word) > 1:
            return ord(word[1])
        match = re.match(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*(?![.\d])|\d+)", word)
        text = word.lstrip()
        if real:
            found = re.match(
                r"\s*[-+]?(?:0[xX][0-9a-fA-F.]+(?:[pP][-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)",
                word,
                re.IGNORECASE,
            )
            value: int | Decimal = 0
            if found:
                try:
                    value = Decimal(found[0].strip())
                except InvalidOperation:
                    value = Decimal(float.fromhex(found[0].strip()))
            return self._checked(word, value, found.end() if found else 0)
        if match is None:
            return self._checked(word, 0, 0 if text else len(word) and 0)
        digits = match[2]
        base = 16 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" and len(digits) > 1 else 10
        number = int(digits, base)
        return self._checked(word, -number if match[1] == "-" else number, match.end())

    def _checked(self, word: str, value: int | Decimal, end: int) -> int | Decimal:
        if end < len(word) or not word:
            self.call.complain(
                f"{quote(word)}: value not completely converted"
                if end
                else f"{quote(word)}: expected a numeric value"
            )
        return value


@utility("printf", usage="FORMAT [ARGUMENT]...", parse=False)
def printf(call: Invocation) -> Generator[None, None, Status]:
    """Print ARGUMENT(s) according to FORMAT."""
    operands = call.operands[1:] if call.operands[:1] == ["--"] else call.operands
    if not operands:
        call.error("missing operand")
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        return 1
    template = operands[0]
    words = _Words(call, operands[1:])
    while True:
        before = words.at
        out = bytearray()
        try:
            _format(template, words, out)
        except _Stop:
            call.stdout.write(bytes(out))
            return call.status
        except CommandError:
            call.stdout.write(bytes(out))
            raise
        call.stdout.write(bytes(out))
        if words.at >= len(words.words):
            return call.status
        if words.at == before:
            call.error(f"warning: ignoring excess arguments, starting with {quote(words.words[before])}")
            return call.status
        if call.stdout.full:
            yield


def _format(template: str, words: _Words, out: bytearray) -> None:
    at = 0
    while at < len(template):
        c = template[at]
        if c == "\\":
            data, at = _escape(template, at + 1, False)
            out += data
        elif c == "%":
            match = _DIRECTIVE.match(template, at)
            if match is None:
                bad = re.compile(r"%[-+ 0#']*[*\d]*(?:\.[*\d]*)?[hlLjzt]*.?", re.DOTALL).match(template, at)
                raise CommandError(f"{bad[0] if bad else '%'}: invalid conversion specification")
            at = match.end()
            out += b"%" if match[1] == "%" else _directive(match, words)
        else:
            out += c.encode("utf-8", "surrogateescape")
            at += 1


def _directive(match: re.Match[str], words: _Words) -> bytes:
    flags, width_text, precision_text, letter = match[2].replace("'", ""), match[3], match[4], match[6]
    width = int(words.number(False)) if width_text == "*" else int(width_text or 0)
    if width < 0:
        flags, width = flags + "-", -width
    precision: int | None = None
    if precision_text is not None:
        precision = int(words.number(False)) if precision_text == "*" else int(precision_text or 0)
        if precision < 0:
            precision = None
    if letter in "sbqc":
        word = words.next() or ""
        data = bytearray()
        stop = False
        if letter == "b":
            try:
                _escaped(word, True, data)
            except _Stop:
                stop = True
        elif letter == "q":
            data += shell_quote(word, "").encode("utf-8", "surrogateescape")
        else:
            data += word.encode("utf-8", "surrogateescape")
            if letter == "c":
                del data[1:]
        if precision is not None and letter != "c":
            del data[precision:]
        padded = bytes(data).ljust(width) if "-" in flags else bytes(data).rjust(width)
        if stop:
            raise _Stop
        return padded
    if letter in "diouxX":
        number = int(words.number(False))
        if letter in "ouxX" and number < 0:
            number += 1 << 64
        text = "%" + flags + (str(width) if width else "")
        if precision is not None:
            text = text.replace("0", "", 1) if "0" in flags else text
            text += f".{precision}"
        if letter == "o" and "#" in flags:
            shown = "0" + f"{number:o}" if number else "0"
            return (shown.ljust(width) if "-" in flags else shown.rjust(width)).encode()
        if "#" in flags and not number:
            text = text.replace("#", "")
        return (text + ("d" if letter in "diu" else letter)).encode() % number
    if letter in "eEfFgGaA":
        value = words.number(True)
        text = "%" + flags + (str(width) if width else "") + f".{6 if precision is None else precision}"
        if letter in "fF" and isinstance(value, Decimal) and value.is_finite():
            shown = f"{abs(value):.{6 if precision is None else precision}f}"
            sign = "-" if value.is_signed() else "+" if "+" in flags else " " if " " in flags else ""
            if "-" in flags:
                return (sign + shown).ljust(width).encode()
            if "0" in flags:
                return (sign + shown.rjust(width - len(sign), "0")).encode()
            return (sign + shown).rjust(width).encode()
        if letter in "aA":
            return float(value).hex().encode()
        return ((text + letter) % float(value)).encode()
    raise CommandError(f"{match[0]}: invalid conversion specification")


@utility("true", ":", parse=False)
def true(call: Invocation) -> Status:
    """Exit with a status code indicating success."""
    return 0


@utility("false", parse=False)
def false(call: Invocation) -> Status:
    """Exit with a status code indicating failure."""
    return 1


@utility("yes", usage="[STRING]...", order="options first")
def yes(call: Invocation) -> Generator[None, None, Status]:
    """Repeatedly output a line with all specified STRING(s), or 'y'."""
    line = (" ".join(call.operands) if call.operands else "y").encode("utf-8", "surrogateescape") + b"\n"
    block = line * max(1, BLOCK // 4 // len(line))
    while True:
        call.stdout.write(block)
        call.stdout.pass_on()
        yield


@utility("tee", short="aip", long="append=a ignore-interrupts=i output-error::")
def tee(call: Invocation) -> Generator[None, None, Status]:
    """Copy standard input to each FILE, and also to standard output."""
    mode = "ab" if call.arguments.has("a") else "wb"
    files = []
    targets: list[Sink] = [call.stdout]
    for name in call.operands:
        try:
            file = call.create(name, mode)
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        files.append(file)
        targets.append(file)
    try:
        for chunk in call.stdin.chunks():
            for target in targets:
                target.write(chunk)
            call.stdout.pass_on()
            if call.stdout.full:
                yield
    finally:
        for file in files:
            file.close()
    return call.status
