"""POSIX and GNU regular expressions translated to Python's, for csplit, expr, find, nl and tac."""

from __future__ import annotations

import re

__all__ = ["basic_to_python", "emacs_to_python", "extended_to_python", "glob_to_python"]

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": " \\t\\n\\r\\f\\v",
    "blank": " \\t",
    "punct": "!-/:-@\\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": "\\x00-\\x1f\\x7f",
    "xdigit": "0-9A-Fa-f",
}
_GNU = {
    "w": "\\w",
    "W": "\\W",
    "s": "\\s",
    "S": "\\S",
    "b": "\\b",
    "B": "\\B",
    "<": "\\b(?=\\w)",
    ">": "\\b(?<=\\w)",
    "`": "\\A",
    "'": "\\Z",
}


def _bracket(pattern: str, at: int, escapes: bool = False) -> tuple[str, int]:
    """The bracket expression that starts after `[` at `at`, and the position after its `]`."""
    out = ["["]
    if at < len(pattern) and pattern[at] == "^":
        out.append("^")
        at += 1
    first = True
    while True:
        if at >= len(pattern):
            raise ValueError("Unmatched [, [^, [:, [., or [=")
        c = pattern[at]
        if c == "]" and not first:
            return "".join([*out, "]"]), at + 1
        first = False
        if c == "[" and pattern[at + 1 : at + 2] in (":", ".", "="):
            kind = pattern[at + 1]
            end = pattern.find(kind + "]", at + 2)
            if end < 0:
                raise ValueError("Unmatched [, [^, [:, [., or [=")
            name = pattern[at + 2 : end]
            at = end + 2
            if kind == ":":
                if name not in _CLASSES:
                    raise ValueError("Invalid character class name")
                out.append(_CLASSES[name])
            else:
                out.append("\\" + name if not name.isalnum() else name)
            continue
        if c in "\\[&~|^":
            out.append("\\")
        out.append(c)
        at += 1


def _translate(pattern: str, dialect: str) -> str:
    """`dialect`: "basic" escapes its operators, "extended" does not, "emacs" escapes `( ) |` only."""
    basic = dialect == "basic"
    emacs = dialect == "emacs"
    out: list[str] = []
    depth = 0
    at = 0
    start = True  # where `*` is an ordinary character and `^` an anchor
    size = len(pattern)
    while at < size:
        c = pattern[at]
        at += 1
        token = c
        operator = not basic
        if c == "\\":
            if at >= size:
                raise ValueError("Trailing backslash")
            token = pattern[at]
            at += 1
            operator = basic
            if emacs:
                operator = token in "()|"
            if token in _GNU:
                out.append(_GNU[token])
                start = False
                continue
            if token.isdigit() and token != "0":
                out.append(f"(?:\\{token})")
                start = False
                continue
            if not operator or token not in "(){}|+?":
                out.append("\\" + token if not token.isalnum() else token)
                start = False
                continue
        elif emacs and c in "(){}|":
            operator = False
        if token == "[" and c == "[":
            text, at = _bracket(pattern, at)
            out.append(text)
        elif token == "." and c == ".":
            out.append("(?s:.)")
        elif c == "*":
            if start and (basic or emacs):
                out.append("\\*")
            elif not start:
                at = _merge(pattern, at, out, "*")
        elif c == "^":
            if basic and not start:
                out.append("\\^")
            else:
                out.append("^")
                continue
        elif c == "$":
            last = at >= size or pattern[at:].startswith(("\\)", "\\|"))
            out.append("\\Z" if not basic or last else "\\$")
        elif operator and token == "(":
            depth += 1
            out.append("(")
            start = True
            continue
        elif operator and token == ")" and depth:
            depth -= 1
            out.append(")")
        elif operator and token == ")" and basic:
            raise ValueError("Unmatched ) or \\)")
        elif operator and token == "|":
            out.append("|")
            start = True
            continue
        elif operator and token in "+?" and (not emacs or c != "\\"):
            if start:
                out.append("\\" + token)
            else:
                at = _merge(pattern, at, out, token)
        elif operator and token == "{" and not start:
            close = "\\}" if basic else "}"
            end = pattern.find(close, at)
            bounds = pattern[at:end] if end >= 0 else ""
            low, comma, high = bounds.partition(",")
            if end < 0:
                if basic:
                    raise ValueError("Unmatched { or \\{")
                out.append("\\{")
            elif not all(part.isdigit() for part in (low, high) if part) or not (low or comma):
                if basic:
                    raise ValueError("Invalid content of \\{\\}")
                out.append("\\{")
            else:
                out[-1:] = [f"(?:{out[-1]})"] if out and out[-1][-1:] in "*+?}" else out[-1:]
                out.append("{" + (low or "0") + comma + high + "}")
                at = end + len(close)
        else:
            out.append(token if token.isalnum() or token in "_ /-" else "\\" + token)
        start = False
    if depth:
        raise ValueError("Unmatched ( or \\(")
    return "".join(out)


def _merge(pattern: str, at: int, out: list[str], operator: str) -> int:
    """Append a repetition; a second one on the same atom (`a**`) means what it says, not laziness."""
    if out and out[-1] in ("*", "+", "?"):
        out[-1] = out[-1] if out[-1] == operator else "*"
    elif out and out[-1].startswith("{"):
        atom_end = len(out) - 1
        out[atom_end - 1 :] = [f"(?:{out[atom_end - 1]}{out[atom_end]})", operator]
    else:
        out.append(operator)
    return at


def basic_to_python(pattern: str) -> str:
    """A POSIX basic regular expression with GNU extensions; raises ValueError with GNU's message."""
    return _translate(pattern, "basic")


def extended_to_python(pattern: str) -> str:
    """A POSIX extended regular expression with GNU extensions; raises ValueError with GNU's message."""
    return _translate(pattern, "extended")


def emacs_to_python(pattern: str) -> str:
    """The syntax `find -regex` uses by default; raises ValueError with GNU's message."""
    return _translate(pattern, "emacs")


def glob_to_python(pattern: str) -> str:
    """A pattern of fnmatch(3), without flags: `*` and `?` match slashes and leading dots too."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c == "*":
            if not out or out[-1] != "(?s:.*)":
                out.append("(?s:.*)")
        elif c == "?":
            out.append("(?s:.)")
        elif c == "[":
            body = pattern[at:]
            if body.startswith("!"):
                body = "^" + body[1:]
            try:
                text, used = _bracket(_without_escapes(body), 0)
            except ValueError:
                out.append("\\[")
                continue
            consumed = _bracket_length(pattern, at)
            if consumed < 0 or used <= 0:
                out.append("\\[")
                continue
            out.append(text)
            at = consumed
        elif c == "\\" and at < len(pattern):
            out.append(re.escape(pattern[at]))
            at += 1
        else:
            out.append(re.escape(c))
    return "".join(out)


def _without_escapes(body: str) -> str:
    """A bracket expression of fnmatch, where a backslash takes away special meaning, as one without."""
    end = _bracket_length("[" + body, 1)
    if "\\" not in body[:end]:
        return body
    inside = re.sub(r"\\(.)", r"\1", body[: max(end - 2, 0)])
    return inside + body[max(end - 2, 0) :]


def _bracket_length(pattern: str, at: int) -> int:
    """Where the bracket expression that starts before `at` ends, -1 when it does not."""
    if pattern[at : at + 1] in ("!", "^"):
        at += 1
    first = True
    while at < len(pattern):
        c = pattern[at]
        if c == "]" and not first:
            return at + 1
        first = False
        if c == "\\":
            at += 2
            continue
        if c == "[" and pattern[at + 1 : at + 2] in (":", ".", "="):
            end = pattern.find(pattern[at + 1] + "]", at + 2)
            if end > 0:
                at = end + 2
                continue
        at += 1
    return -1
