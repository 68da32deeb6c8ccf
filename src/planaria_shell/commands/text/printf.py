"""`printf`: print ARGUMENT(s) according to FORMAT."""

from __future__ import annotations

import re
from collections.abc import Generator
from decimal import Decimal, InvalidOperation

from planaria_shell.commands.text.backslash_escapes import Stop, escape, escaped
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.quoting import quote, shell_quote

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


@command("printf", usage="FORMAT [ARGUMENT]...", raw=True)
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
        except Stop:
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
            data, at = escape(template, at + 1, False)
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
                escaped(word, True, data)
            except Stop:
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
            raise Stop
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
