"""Shell patterns (globs and extended globs) as regular expressions, compiled once and kept.

A pattern is text in which a backslash makes the next character stand for itself; that is how quoted parts
of a word reach here. See the Bash Reference Manual, section 3.5.8.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

__all__ = [
    "compile_pattern",
    "escape",
    "has_magic",
    "is_literal",
    "matcher",
    "stars",
    "translate",
    "unescape",
]

_SPECIAL = re.compile(r"([*?\[\]\\()|+@!<>-])")
_MAGIC = re.compile(r"[*?\[\\]")
_MAGIC_EXTENDED = re.compile(r"[*?\[\\]|[+@!]\(")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_STARS = re.compile(r"(\*?)((?:[^*\\(]|\\.)*+)(\*?)\Z", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z",
    "space": " \\t\\n\\r\\f\\v", "blank": " \\t", "punct": "!-/:-@\\[-`{-~", "print": " -~", "graph": "!-~",
    "cntrl": "\\x00-\\x1f\\x7f", "xdigit": "0-9a-fA-F", "word": "a-zA-Z0-9_", "ascii": "\\x00-\\x7f",
}  # fmt: skip


def escape(text: str) -> str:
    """`text` as a pattern that matches just itself."""
    return _SPECIAL.sub(r"\\\1", text)


def unescape(pattern: str) -> str:
    """The text that a pattern without magic stands for."""
    return _ESCAPED.sub(r"\1", pattern) if "\\" in pattern else pattern


def has_magic(pattern: str, *, extglob: bool = False) -> bool:
    """Whether anything in `pattern` is special."""
    return (_MAGIC_EXTENDED if extglob else _MAGIC).search(pattern) is not None


def is_literal(pattern: str, *, extglob: bool = False) -> bool:
    """Whether `pattern`, its backslashes aside, matches only one text."""
    return not has_magic(_ESCAPED.sub("", pattern), extglob=extglob)


def stars(pattern: str) -> tuple[bool, str, bool] | None:
    """(anything before, a text, anything after) for a pattern that is a text between stars, or None."""
    match = _STARS.match(pattern)
    if match is None or not is_literal(match.group(2), extglob=True):
        return None
    before, text, after = match.groups()
    return bool(before), unescape(text), bool(after)


def _bracket(pattern: str, start: int, ignore_slash: bool) -> tuple[str, int]:
    """The class that begins at `start` (a bracket), and where it ends; "" when it is none."""
    position = start + 1
    negated = pattern[position : position + 1] in ("!", "^") and position < len(pattern)
    if negated:
        position += 1
    items: list[str] = []
    first = True
    while True:
        char = pattern[position : position + 1]
        if not char:
            return "", start
        if char == "]" and not first:
            break
        first = False
        if char == "[" and pattern[position + 1 : position + 2] in (":", "=", "."):
            kind = pattern[position + 1]
            end = pattern.find(kind + "]", position + 2)
            if end >= 0:
                name = pattern[position + 2 : end]
                if kind == ":":
                    if name not in _CLASSES:
                        items.append("")
                    else:
                        items.append(_CLASSES[name])
                    position = end + 2
                    continue
                if name:
                    items.append(re.escape(name[0]))
                    position = end + 2
                    continue
        if char == "\\" and position + 1 < len(pattern):
            position += 1
            char = pattern[position]
        low = char
        position += 1
        if pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in ("]", ""):
            high = pattern[position + 1]
            if high == "\\" and position + 2 < len(pattern):
                position += 1
                high = pattern[position + 1]
            if high == "[" and pattern[position + 2 : position + 3] == ".":
                end = pattern.find(".]", position + 3)
                if end >= 0:
                    high = pattern[position + 3]
                    position = end
            position += 2
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    body = "".join(items)
    if not body:
        return ("(?!)" if not negated else "."), position + 1
    slash = "/" if ignore_slash and negated else ""
    return f"[{'^' if negated else ''}{body}{slash}]", position + 1


def translate(pattern: str, *, extglob: bool = False, path: bool = False, shortest: bool = False) -> str:
    """The regular expression for `pattern`. With `path`, wildcards do not match slashes."""
    anything = "[^/]" if path else "."
    lazy = "?" if shortest else ""

    def alternatives(start: int) -> tuple[list[str], int] | None:
        """The texts between bars from just after an opening parenthesis, and where it closes."""
        depth = 0
        position = start
        pieces: list[str] = []
        begin = start
        while position < len(pattern):
            char = pattern[position]
            if char == "\\":
                position += 2
                continue
            if char == "[":
                _, end = _bracket(pattern, position, path)
                if end > position:
                    position = end
                    continue
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    pieces.append(pattern[begin:position])
                    return pieces, position + 1
                depth -= 1
            elif char == "|" and depth == 0:
                pieces.append(pattern[begin:position])
                begin = position + 1
            position += 1
        return None

    result: list[str] = []
    position = 0
    length = len(pattern)
    while position < length:
        char = pattern[position]
        if extglob and char in "?*+@!" and pattern.startswith("(", position + 1):
            found = alternatives(position + 2)
            if found is not None:
                pieces, end = found
                options = "|".join(
                    translate(piece, extglob=True, path=path, shortest=shortest) for piece in pieces
                )
                if char == "!":
                    rest = translate(pattern[end:], extglob=True, path=path, shortest=shortest)
                    # What the alternatives do not match, when all that follows is matched by the rest.
                    result.append(f"(?:(?!(?:{options}){rest}\\Z){anything}*{lazy}){rest}")
                    return "".join(result)
                suffix = {"?": "?", "*": "*", "+": "+", "@": ""}[char]
                result.append(f"(?:{options}){suffix}{lazy if suffix else ''}")
                position = end
                continue
        if char == "*":
            while pattern.startswith("*", position + 1) and not (
                extglob and pattern.startswith("(", position + 2)
            ):
                position += 1
            result.append(f"{anything}*{lazy}")
        elif char == "?":
            result.append(anything)
        elif char == "[":
            text, end = _bracket(pattern, position, path)
            if end == position:
                result.append("\\[")
            else:
                result.append(text)
                position = end
                continue
        elif char == "\\" and position + 1 < length:
            position += 1
            result.append(re.escape(pattern[position]))
        else:
            result.append(re.escape(char))
        position += 1
    return "".join(result)


@lru_cache(maxsize=2048)
def compile_pattern(
    pattern: str,
    extglob: bool = False,
    ignore_case: bool = False,
    path: bool = False,
    shortest: bool = False,
) -> re.Pattern[str]:
    """The compiled expression; use `fullmatch`, or `match` for the (shortest or longest) prefix."""
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        return re.compile(translate(pattern, extglob=extglob, path=path, shortest=shortest), flags)
    except re.error:
        return re.compile(re.escape(pattern), flags)


@lru_cache(maxsize=2048)
def matcher(pattern: str, extglob: bool = False, ignore_case: bool = False) -> Callable[[str], bool]:
    """Whether a text is what the pattern stands for, as a function; simple patterns need no expression."""
    simple = stars(pattern) if not ignore_case else None
    if simple is None:
        fullmatch = compile_pattern(pattern, extglob, ignore_case).fullmatch
        return lambda subject: fullmatch(subject) is not None
    before, text, after = simple
    if before and (after or not text):
        return lambda subject: text in subject
    if before:
        return lambda subject: subject.endswith(text)
    if after:
        return lambda subject: subject.startswith(text)
    return text.__eq__
