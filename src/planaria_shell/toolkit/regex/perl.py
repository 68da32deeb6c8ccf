"""Perl-compatible regular expressions (pcre2pattern(3)) in the syntax of Python's engine."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from planaria_shell.toolkit.regex.syntax import CLASS_NAMES, RegexError

#: Names of the empty groups that mark where `\K` stood.
KEEP = "keep__"

_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": r"\s", "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f", "xdigit": "0-9a-fA-F", "word": r"\w",
}  # fmt: skip
_NOT_CLASSES = {
    "alpha": r"\x00-@\[-`{-\U0010ffff", "digit": r"\D", "alnum": r"\x00-/:-@\[-`{-\U0010ffff",
    "upper": r"\x00-@\[-\U0010ffff", "lower": r"\x00-`{-\U0010ffff", "space": r"\S", "word": r"\W",
}  # fmt: skip
_SIMPLE = {
    "h": r"[ \t\xa0]",
    "H": r"[^ \t\xa0]",
    "R": r"(?:\r\n|[\n\v\f\r\x85])",
    "N": r"[^\n]",
    "A": r"\A",
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "e": r"\x1b",
    "X": r"(?s:.)",
    "G": "",
    "v": r"[\n\v\f\r\x85]",
    "V": r"[^\n\v\f\r\x85]",
}
_IN_BRACKET = {"h": r" \t\xa0", "v": r"\n\v\f\r\x85", "e": r"\x1b", "b": r"\x08", "R": "R", "N": "N"}


def translate(pattern: str) -> str:
    """The pattern for Python's `re`; raises RegexError for what cannot be said there."""
    return _Translator(pattern).translate()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.text = re.sub(r"\A(?:\(\*(?:UTF8?|UCP|ANYCRLF|LF)\))+", "", pattern)
        self.at = 0
        self.groups = 0
        self.keeps = 0

    def translate(self) -> str:
        result = self._alternatives()
        if self.at < len(self.text):
            raise RegexError("unmatched closing parenthesis")
        return "|".join(result)

    def _alternatives(self) -> list[str]:
        """The alternatives up to the closing parenthesis or the end."""
        options: list[str] = []
        parts: list[str] = []
        #: Options set inside this group, `(?i)`, reach to its end and over its alternatives.
        opened: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == ")":
                break
            if char == "|":
                self.at += 1
                options.append("".join(parts) + ")" * len(opened))
                parts = list(opened)
                continue
            flags = re.compile(r"\(\?([imsxn]*(?:-[imsx]+)?)\)").match(self.text, self.at)
            if flags:
                self.at = flags.end()
                if flags[1]:
                    opened.append(f"(?{flags[1]}:")
                    parts.append(opened[-1])
                continue
            parts.append(self._atom())
        options.append("".join(parts) + ")" * len(opened))
        return options

    def _atom(self) -> str:
        char = self.text[self.at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._bracket()
        if char == "(":
            return self._group()
        self.at += 1
        return char

    def _group(self) -> str:
        text, at = self.text, self.at
        if text.startswith("(?#", at):
            end = text.find(")", at)
            if end < 0:
                raise RegexError("missing ) after (?# comment")
            self.at = end + 1
            return ""
        if text.startswith("(*", at):
            raise RegexError("(*VERB) not recognized or malformed")
        lookbehind = re.compile(r"\(\?<([=!])").match(text, at)
        if lookbehind:
            self.at = lookbehind.end()
            options = self._alternatives()
            self._close()
            # Python wants one width per assertion: each alternative gets its own.
            each = [f"(?<{lookbehind[1]}{option})" for option in options]
            return f"(?:{'|'.join(each)})" if lookbehind[1] == "=" else "".join(each)
        named = re.compile(r"\(\?(?:P?<|')(\w+)[>']").match(text, at)
        if named:
            self.at = named.end()
            self.groups += 1
            opening = f"(?P<{named[1]}>"
        elif text.startswith("(?", at):
            same = re.compile(r"\(\?P=(\w+)\)").match(text, at)
            if same:
                self.at = same.end()
                return f"(?P={same[1]})"
            head = re.compile(r"\(\?(?::|=|!|>|[imsx]*(?:-[imsx]+)?:|\(\w+\)|\(<\w+>\))").match(text, at)
            if not head:
                if re.compile(r"\(\?(?:R|[-+]?\d+|&|P>|\|)").match(text, at):
                    raise RegexError("recursion and branch reset are not supported")
                raise RegexError("unrecognized character after (? or (?-")
            self.at = head.end()
            opening = head[0].replace("(<", "(").replace(">)", ")") if "(<" in head[0] else head[0]
        else:
            self.at += 1
            self.groups += 1
            opening = "("
        options = self._alternatives()
        self._close()
        return f"{opening}{'|'.join(options)})"

    def _close(self) -> None:
        if not self.text.startswith(")", self.at):
            raise RegexError("missing closing parenthesis")
        self.at += 1

    def _escape(self) -> str:
        text = self.text
        if self.at + 1 >= len(text):
            raise RegexError("\\ at end of pattern")
        char = text[self.at + 1]
        code = self._code()
        if code is not None:
            return re.escape(code)
        if char == "Q":
            end = text.find("\\E", self.at)
            quoted = text[self.at + 2 : end if end >= 0 else len(text)]
            self.at = end + 2 if end >= 0 else len(text)
            return re.escape(quoted)
        if char in "pP":
            return f"[{'^' if char == 'P' else ''}{self._property()}]"
        reference = re.compile(r"\\(?:g\{?(-?\d+)\}?|[gk](?:\{(\w+)\}|<(\w+)>|'(\w+)'))").match(text, self.at)
        if reference:
            self.at = reference.end()
            if reference[1]:
                index = int(reference[1])
                return f"(?:\\{index if index > 0 else self.groups + 1 + index})"
            return f"(?P={reference[2] or reference[3] or reference[4]})"
        self.at += 2
        if char == "K":
            self.keeps += 1
            self.groups += 1
            return f"(?P<{KEEP}{self.keeps}>)"
        if char == "E":
            return ""
        if char in _SIMPLE:
            return _SIMPLE[char]
        if char.isdigit():
            more = re.compile(r"\d*").match(text, self.at)
            digits = char + (more[0] if more else "")
            self.at += len(digits) - 1
            return f"(?:\\{digits})"
        if char.isalpha() and char not in "dDwWsSbBnrtfa":
            raise RegexError("unrecognized character follows \\")
        return "\\" + char

    def _code(self) -> str | None:
        """The character of a numeric escape (`\\x41`, `\\x{e9}`, `\\o{101}`, `\\cA`, `\\0`) here."""
        number = re.compile(
            r"\\x\{([0-9a-fA-F]+)\}|\\x([0-9a-fA-F]{0,2})|\\o\{([0-7]+)\}|\\(0[0-7]{0,2})|\\c(.)"
        )
        found = number.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        if found[5]:
            return chr(ord(found[5].upper()) ^ 64)
        octal = found[3] or found[4]
        return chr(int(octal, 8) if octal else int(found[1] or found[2] or "0", 16))

    def _property(self) -> str:
        found = re.compile(r"\\[pP](?:\{(\^?)([\w& ]+)\}|(\w))").match(self.text, self.at)
        if not found:
            raise RegexError("malformed \\P or \\p sequence")
        self.at = found.end()
        return _property_ranges(found[2] or found[3], bool(found[1]))

    def _bracket(self) -> str:
        text = self.text
        if re.compile(r"\[([:.=])[^\]\\]*\1\]").match(text, self.at):
            kind = "named classes are" if text[self.at + 1] == ":" else "collating elements are not"
            where = " only within a class" if text[self.at + 1] == ":" else ""
            raise RegexError(f"POSIX {kind} supported{where}")
        self.at += 1
        parts = ["["]
        if text.startswith("^", self.at):
            parts.append("^")
            self.at += 1
        first = True
        while True:
            if self.at >= len(text):
                raise RegexError("missing terminating ] for character class")
            char = text[self.at]
            if char == "]" and not first:
                self.at += 1
                break
            first = False
            named = re.compile(r"\[:(\^?)(\w+):\]").match(text, self.at)
            if named:
                if named[2] not in CLASS_NAMES | {"word"}:
                    raise RegexError("unknown POSIX class name")
                table = _NOT_CLASSES if named[1] else _CLASSES
                if named[2] not in table:
                    raise RegexError(f"[:^{named[2]}:] is not supported")
                parts.append(table[named[2]])
                self.at = named.end()
            elif char == "\\":
                parts.append(self._bracket_escape())
            else:
                # Python warns about characters that may get a meaning in sets.
                parts.append("\\" + char if char in "[]&~|^" else char)
                self.at += 1
        return "".join(parts) + "]"

    def _bracket_escape(self) -> str:
        if self.at + 1 >= len(self.text):
            raise RegexError("missing terminating ] for character class")
        char = self.text[self.at + 1]
        code = self._code()
        if code is not None:
            return (
                "\\" + code
                if not code.isalnum() and code.isascii() and code.isprintable()
                else re.escape(code)
            )
        if char in "pP":
            if char == "P":
                raise RegexError("\\P in a character class is not supported")
            return self._property()
        self.at += 2
        if char in _IN_BRACKET:
            return _IN_BRACKET[char]
        if char in "QE":
            return ""
        return "\\" + char if char in "dDwWsSnrtfa" or not char.isalnum() else char


@cache
def _property_ranges(name: str, negated: bool) -> str:
    """The inside of a bracket with the characters of a Unicode general category."""
    wanted = {"L&": ("Lu", "Ll", "Lt"), "Any": ("",), "Xan": ("L", "N"), "Xwd": ("L", "N", "Pc")}.get(
        name, (name,)
    )
    if not all(part == "" or (part[0] in "LMNPSZC" and len(part) <= 2) for part in wanted):
        return _script_ranges(name, negated)
    ranges: list[list[int]] = []
    for code in range(0x32400):
        if unicodedata.category(chr(code)).startswith(wanted) is not negated:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


@cache
def _script_ranges(name: str, negated: bool) -> str:
    """Scripts, recognised by how the names of their characters begin."""
    prefix = {"Han": "CJK UNIFIED"}.get(name, name.upper())
    codes = [c for c in range(0x32400) if unicodedata.name(chr(c), "").startswith(prefix) is not negated]
    if not codes:
        raise RegexError("unknown property name after \\P or \\p")
    return "".join(re.escape(chr(code)) for code in codes)
