"""Shell patterns (globs and extended globs) as regular expressions, compiled once and kept.

A pattern is text in which a backslash makes the next character stand for itself; that is how quoted parts
of a word reach here. See the Bash Reference Manual, section 3.5.8.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from planaria_shell.expand.negated_patterns import NegatedPattern, Piece, anything, group, single

__all__ = [
    "MAGIC_EXTENDED",
    "MAY_BE_MAGIC",
    "compile_pattern",
    "escape",
    "escape_each",
    "has_magic",
    "is_literal",
    "matcher",
    "stars",
    "translate",
    "unescape",
]

#: What makes an unquoted text a pattern, without and with `extglob`.
_MAGIC_TEXT = re.compile(r"[*?]|\[[^/\]]*\]")
MAGIC_EXTENDED = re.compile(r"[*?]|\[[^/\]]*\]|[+@!]\(")
#: What may become one together with what stands beside it.
MAY_BE_MAGIC = re.compile(r"[*?\[\]]|[+@!]\(")
_SPECIAL = re.compile(r"([*?\[\]\\()|+@!<>-])")
_MAGIC = re.compile(r"[*?\[\\]")
_MAGIC_EXTENDED = re.compile(r"[*?\[\\]|[+@!]\(")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_STARS = re.compile(r"(\*?)((?:[^*\\(]|\\.)*+)(\*?)\Z", re.DOTALL)
#: All that is printed and no space, beyond ASCII.
_GRAPHIC = (
    "\\xa0-\\u167f\\u1681-\\u1fff\\u2007\\u200b-\\u2027\\u202a-\\u205e\\u2060-\\u2fff"
    "\\u3001-\\ud7ff\\ue000-\\U0010ffff"
)
_SPACES = "\\u1680\\u2000-\\u2006\\u2008-\\u200a\\u205f\\u3000"
_CLASSES = {
    "digit": "0-9", "xdigit": "0-9a-fA-F", "ascii": "\\x00-\\x7f",
    "space": f" \\t\\n\\r\\f\\v\\u2028\\u2029{_SPACES}", "blank": f" \\t{_SPACES}",
    "print": f" -~{_SPACES}{_GRAPHIC}", "graph": f"!-~{_GRAPHIC}",
    "cntrl": "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029",
}  # fmt: skip
#: Python's `\\w` has numbers other than digits, which are not letters here.
_NUMERALS = (
    "\\xb2\\xb3\\xb9\\xbc-\\xbe\\u2070\\u2074-\\u2079\\u2080-\\u2089"
    "\\u2150-\\u215f\\u2460-\\u24ff\\u2776-\\u2793"
)
#: Classes that cannot be written as ranges, as expressions of their own.
_WIDE_CLASSES = {
    "alpha": f"[^\\W0-9_{_NUMERALS}]", "alnum": f"[^\\W_{_NUMERALS}]", "word": f"[^\\W{_NUMERALS}]",
    "punct": f"[!-/:-@\\[-`{{-~]|(?![^\\W{_NUMERALS}])[{_GRAPHIC}]",
}  # fmt: skip
#: Where there are letters that have a case, beyond ASCII.
_CASED = (range(0x80, 0x590), range(0x10A0, 0x1100), range(0x1C80, 0x1CC0), range(0x1E00, 0x2000),
          range(0x2C00, 0x2D30), range(0xA640, 0xA800), range(0xFB00, 0xFB18),
          range(0xFF21, 0xFF5B))  # fmt: skip
#: Names of characters between `[.` and `.]`.
_SYMBOLS = {
    "space": " ", "exclamation-mark": "!", "quotation-mark": '"', "number-sign": "#", "dollar-sign": "$",
    "percent-sign": "%", "ampersand": "&", "apostrophe": "'", "left-parenthesis": "(", "tilde": "~",
    "right-parenthesis": ")", "asterisk": "*", "plus-sign": "+", "comma": ",", "hyphen": "-",
    "hyphen-minus": "-", "minus": "-", "dash": "-", "period": ".", "full-stop": ".", "slash": "/",
    "solidus": "/", "colon": ":", "semicolon": ";", "less-than-sign": "<", "equals-sign": "=",
    "greater-than-sign": ">", "question-mark": "?", "commercial-at": "@", "left-square-bracket": "[",
    "backslash": "\\", "reverse-solidus": "\\", "right-square-bracket": "]", "circumflex": "^",
    "underscore": "_", "grave-accent": "`", "left-brace": "{", "left-curly-bracket": "{",
    "vertical-line": "|", "right-brace": "}", "right-curly-bracket": "}", "zero": "0", "one": "1",
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "tab": "\t", "newline": "\n", "carriage-return": "\r", "NUL": "\0", "DEL": "\x7f",
}  # fmt: skip


@lru_cache(2)
def _cased(name: str) -> str:
    """`upper` or `lower`, as what stands between brackets."""
    if name == "upper":
        return "A-Z" + "".join(chr(code) for block in _CASED for code in block if chr(code).isupper())
    return "a-z" + "".join(chr(code) for block in _CASED for code in block if chr(code).islower())


def escape(text: str) -> str:
    """`text` as a pattern that matches just itself."""
    return _SPECIAL.sub(r"\\\1", text)


def escape_each(text: str) -> str:
    """The same with a backslash before each character."""
    return "".join([f"\\{char}" for char in text])


def unescape(pattern: str) -> str:
    """The text that a pattern without magic stands for."""
    return _ESCAPED.sub(r"\1", pattern) if "\\" in pattern else pattern


def has_magic(text: str, extglob: bool) -> bool:
    """Whether an unquoted text is a pattern of more than itself; what a backslash escapes makes none."""
    magic = MAGIC_EXTENDED if extglob else _MAGIC_TEXT
    return magic.search(text) is not None and (
        "\\" not in text or magic.search(_ESCAPED.sub("", text)) is not None
    )


def is_literal(pattern: str, *, extglob: bool = False) -> bool:
    """Whether `pattern`, its backslashes aside, matches only one text."""
    return (_MAGIC_EXTENDED if extglob else _MAGIC).search(_ESCAPED.sub("", pattern)) is None


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
    wide: list[str] = []
    first = True
    while True:
        char = pattern[position : position + 1]
        if not char:
            return "", start
        if char == "]" and not first:
            break
        first = False
        symbol = ""
        if char == "[" and pattern[position + 1 : position + 2] in (":", "=", "."):
            kind = pattern[position + 1]
            end = pattern.find(kind + "]", position + 2)
            if end >= 0:
                name = pattern[position + 2 : end]
                if kind == ":":
                    if name in ("upper", "lower"):
                        # They keep their meaning where case does not matter otherwise.
                        wide.append(f"(?-i:[{_cased(name)}])")
                    elif name in _WIDE_CLASSES:
                        wide.append(_WIDE_CLASSES[name])
                    elif name not in _CLASSES:
                        items.append("")
                    else:
                        items.append(_CLASSES[name])
                    position = end + 2
                    continue
                if name:
                    symbol = name if len(name) == 1 else _SYMBOLS.get(name, "") if kind == "." else ""
                    position = end + 1
                    if kind == "=" or not symbol:
                        items.append(re.escape(symbol))
                        position += 1
                        continue
                    char = symbol
        if char == "\\" and not symbol and position + 1 < len(pattern):
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
                    name = pattern[position + 3 : end]
                    high = name if len(name) == 1 else _SYMBOLS.get(name, "")
                    position = end
            position += 2
            if low <= high:
                items.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            items.append(re.escape(low))
    body = "".join(items)
    if wide:
        several = [*wide, f"[{body}]"] if body else wide
        found = several[0] if len(several) == 1 and "|" not in several[0] else f"(?:{'|'.join(several)})"
        if not negated:
            return found, position + 1
        return f"(?!{found}){'[^/]' if ignore_slash else '.'}", position + 1
    if not body:
        return ("(?!)" if not negated else "."), position + 1
    slash = "/" if ignore_slash and negated else ""
    return f"[{'^' if negated else ''}{body}{slash}]", position + 1


def _alternatives(pattern: str, start: int, path: bool) -> tuple[list[str], int] | None:
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
            if end == position:
                # Nothing closes it, and so nothing closes the parenthesis before it.
                return None
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


#: A token of a pattern: its kind (`*`, "" for one character, or that of a group), its regular expression, and
#: the alternatives of a group.
_Token = tuple[str, str, "list[str]"]


def _tokens(pattern: str, *, extglob: bool, path: bool, hidden: bool) -> Iterator[_Token]:
    anything = "[^/]" if path else "."
    # A dot at the beginning of a file's name is matched only by a dot.
    visible = "" if hidden else "(?!\\A\\.)"
    position = 0
    length = len(pattern)
    while position < length:
        char = pattern[position]
        if extglob and char in "?*+@!" and pattern.startswith("(", position + 1):
            found = _alternatives(pattern, position + 2, path)
            if found is not None:
                pieces, position = found
                yield char, visible + anything, pieces
                continue
        if char == "*":
            while pattern.startswith("*", position + 1) and not (
                extglob and pattern.startswith("(", position + 2)
            ):
                position += 1
            yield "*", f"{visible}{anything}", []
        elif char == "?":
            yield "", visible + anything, []
        elif char == "[":
            text, end = _bracket(pattern, position, path)
            if end == position:
                yield "", "\\[", []
            else:
                yield "", visible + text, []
                position = end
                continue
        elif char == "\\" and position + 1 < length:
            position += 1
            yield "", re.escape(pattern[position]), []
        else:
            yield "", re.escape(char), []
        position += 1


def translate(
    pattern: str, *, extglob: bool = False, path: bool = False, shortest: bool = False, hidden: bool = True
) -> str:
    """The regular expression for `pattern`. With `path`, wildcards do not match slashes; unless `hidden`, a
    dot at the beginning neither."""
    lazy = "?" if shortest else ""
    result: list[str] = []
    star = -1  # where a star stands that only single characters follow
    for kind, expression, pieces in _tokens(pattern, extglob=extglob, path=path, hidden=hidden):
        if pieces:
            options = "|".join(
                translate(one, extglob=True, path=path, shortest=shortest, hidden=hidden) for one in pieces
            )
            suffix = "" if kind == "@" else kind
            result.append(f"(?:{options}){suffix}{lazy if suffix else ''}")
            star = -1
        elif kind:
            if star >= 0:
                # What is between two stars is best found as early as can be: nothing is to be tried twice.
                result[star] = f"(?>{result[star].removesuffix('?')}?"
                result.append(")")
            star = len(result)
            result.append(f"{expression}*{lazy}")
        else:
            result.append(expression)
    return "".join(result)


def _pieces(
    pattern: str, flags: int, *, extglob: bool, path: bool, shortest: bool, hidden: bool
) -> NegatedPattern:
    """The pattern by its pieces."""
    made: list[Piece] = []
    for kind, expression, pieces in _tokens(pattern, extglob=extglob, path=path, hidden=hidden):
        if pieces:
            alternatives = [
                _pieces(piece, flags, extglob=True, path=path, shortest=shortest, hidden=hidden)
                for piece in pieces
            ]
            made.append(group(kind, alternatives, expression, flags))
        elif kind:
            made.append(anything(expression, flags))
        else:
            made.append(single(expression, flags))
    return NegatedPattern(made, shortest=shortest)


@lru_cache(maxsize=2048)
def compile_pattern(
    pattern: str,
    extglob: bool = False,
    ignore_case: bool = False,
    path: bool = False,
    shortest: bool = False,
    hidden: bool = True,
) -> re.Pattern[str] | NegatedPattern:
    """The compiled expression; use `fullmatch`, or `match` for the (shortest or longest) prefix."""
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        if extglob and "!(" in pattern:
            return _pieces(pattern, flags, extglob=True, path=path, shortest=shortest, hidden=hidden)
        return re.compile(
            translate(pattern, extglob=extglob, path=path, shortest=shortest, hidden=hidden), flags
        )
    except re.error:
        return re.compile(re.escape(pattern), flags)


@lru_cache(maxsize=2048)
def matcher(
    pattern: str, extglob: bool = False, ignore_case: bool = False, hidden: bool = True
) -> Callable[[str], bool]:
    """Whether a text is what the pattern stands for, as a function; simple patterns need no expression."""
    simple = stars(pattern) if not ignore_case else None
    if simple is None:
        fullmatch = compile_pattern(pattern, extglob, ignore_case, hidden=hidden).fullmatch
        return lambda subject: fullmatch(subject) is not None
    before, text, after = simple
    if before and not hidden:
        if after or not text:
            return lambda subject: text in subject and subject[:1] != "."
        return lambda subject: subject.endswith(text) and subject[:1] != "."
    if before and (after or not text):
        return lambda subject: text in subject
    if before:
        return lambda subject: subject.endswith(text)
    if after:
        return lambda subject: subject.startswith(text)
    return text.__eq__
