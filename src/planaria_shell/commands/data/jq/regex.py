"""Regular expressions of jq (Oniguruma, Perl syntax) by way of Python's `re`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.values import JqError, kind

_POSIX = {
    "alpha": "^\\W\\d_",
    "digit": "\\d",
    "alnum": "^\\W_",
    "upper": "A-Z",
    "lower": "a-z",
    "space": "\\s",
    "blank": " \\t",
    "punct": "!-/:-@\\[-`{-~",
    "cntrl": "\\x00-\\x1f\\x7f",
    "graph": "!-~",
    "print": " -~",
    "xdigit": "0-9A-Fa-f",
    "word": "\\w",
}
_PROPERTIES = {
    "l": "[^\\W\\d_]",
    "letter": "[^\\W\\d_]",
    "alpha": "[^\\W\\d_]",
    "n": "\\d",
    "nd": "\\d",
    "digit": "\\d",
    "alnum": "[^\\W_]",
    "lu": "[A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚΑ-ΡΣ-ΫЀ-Я]",
    "upper": "[A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚΑ-ΡΣ-ΫЀ-Я]",
    "ll": "[a-zß-öø-ÿāăąćĉċčďđēĕėęěα-ωа-џ]",
    "lower": "[a-zß-öø-ÿāăąćĉċčďđēĕėęěα-ωа-џ]",
    "p": "[!-#%-*,-/:;?@\\[-\\]_{}¡§«¶·»¿‐-‧‰-⁞、-】]",
    "punct": "[!-#%-*,-/:;?@\\[-\\]_{}¡§«¶·»¿‐-‧‰-⁞、-】]",
    "s": "[$+<=>^`|~¢-©¬®-±´×÷€-⃀←-⯿]",
    "z": "[ \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]",
    "zs": "[ \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]",
    "space": "\\s",
    "word": "\\w",
    "xdigit": "[0-9A-Fa-f]",
    "cntrl": "[\\x00-\\x1f\\x7f]",
    "any": "[\\s\\S]",
}


def _translate(pattern: str) -> str:
    """An Oniguruma pattern in the spelling of Python."""
    out: list[str] = []
    open_flags = [0]  # how many `(?i:` groups were opened inside each group, to close with it
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            position = _escape(pattern, position, out)
        elif character == "[":
            position = _class(pattern, position, out)
        elif character == "(":
            flags = re.compile(r"\(\?([imsx]+(?:-[imsx]+)?|-[imsx]+)\)").match(pattern, position)
            name = re.compile(r"\(\?<([A-Za-z_]\w*)>").match(pattern, position)
            if flags:
                # From here to the end of the group; Oniguruma's m is Python's s.
                out.append("(?" + flags.group(1).replace("m", "s") + ":")
                open_flags[-1] += 1
                position = flags.end()
            else:
                open_flags.append(0)
                if name:
                    out.append(f"(?P<{name.group(1)}>")
                    position = name.end()
                else:
                    out.append("(")
                    position += 1
        elif character == ")":
            out.append(")" * open_flags.pop() + ")" if len(open_flags) > 1 else ")")
            position += 1
        else:
            out.append(character)
            position += 1
    out.append(")" * open_flags[0])
    return "".join(out)


def _escape(pattern: str, position: int, out: list[str], *, inside: bool = False) -> int:
    following = pattern[position + 1 : position + 2]
    if following == "h":
        out.append("0-9a-fA-F" if inside else "[0-9a-fA-F]")
    elif following == "H":
        out.append("[^0-9a-fA-F]")
    elif following == "z" and not inside:
        out.append(r"\Z")
    elif following == "Z" and not inside:
        out.append(r"(?=\n?\Z)")
    elif following == "R" and not inside:
        out.append(r"(?:\r\n|[\n-\r\u0085\u2028\u2029])")
    elif following == "K":
        raise JqError("Regex failure: undefined operator")
    elif following == "e":
        out.append(r"\x1b")
    elif following == "k":
        match = re.compile(r"\\k<(\w+)>").match(pattern, position)
        if match:
            out.append(f"(?P={match.group(1)})" if not match.group(1).isdigit() else f"\\{match.group(1)}")
            return match.end()
        out.append("k")
    elif following in ("p", "P"):
        match = re.compile(r"\\[pP]\{(\^?)(\w+)\}").match(pattern, position)
        if match is None or match.group(2).lower() not in _PROPERTIES:
            name = match.group(2) if match else ""
            raise JqError(f"Regex failure: invalid character property name {{{name}}}")
        body = _PROPERTIES[match.group(2).lower()]
        if (following == "P") != (match.group(1) == "^"):
            out.append(f"(?!{body})[\\s\\S]" if not inside else body)
        else:
            out.append(body[1:-1] if inside and body[0] == "[" and body[1] != "^" else body)
        return match.end()
    elif following == "x" and pattern[position + 2 : position + 3] == "{":
        end = pattern.find("}", position)
        out.append(re.escape(chr(int(pattern[position + 3 : end], 16))))
        return end + 1
    elif following.isalpha() and following not in "abBdDfnrsStuUvwWxAZ":
        out.append(following)
    else:
        out.append(pattern[position : position + 2])
    return position + 2


def _class(pattern: str, position: int, out: list[str]) -> int:
    """A bracket expression, POSIX classes included."""
    pieces = ["["]
    position += 1
    if pattern[position : position + 1] == "^":
        pieces.append("^")
        position += 1
    if pattern[position : position + 1] == "]":
        pieces.append("\\]")
        position += 1
    alternatives: list[str] = []
    while position < len(pattern) and pattern[position] != "]":
        if pattern.startswith("[:", position):
            match = re.compile(r"\[:(\^?)(\w+):\]").match(pattern, position)
            if match and match.group(2) in _POSIX:
                body = _POSIX[match.group(2)]
                if body.startswith("^") != bool(match.group(1)):
                    alternatives.append(
                        "[" + ("^" + body).removeprefix("^^") if match.group(1) else "[" + body
                    )
                    alternatives[-1] += "]"
                else:
                    pieces.append(body.removeprefix("^"))
                position = match.end()
                continue
        if pattern[position] == "\\":
            position = _escape(pattern, position, pieces, inside=True)
        elif pattern[position] == "[":
            pieces.append("\\[")
            position += 1
        else:
            pieces.append(pattern[position])
            position += 1
    if position >= len(pattern):
        raise JqError("Regex failure: premature end of char-class")
    negated = len(pieces) > 1 and pieces[1] == "^"
    plain = "".join(pieces) + "]"
    if not alternatives:
        out.append(plain)
    elif negated:
        out.append(
            "(?:"
            + "".join(f"(?!{one})" for one in alternatives)
            + (plain if plain != "[^]" else "[\\s\\S]")
            + ")"
        )
    else:
        out.append("(?:" + "|".join([*alternatives, *([plain] if plain != "[]" else [])]) + ")")
    return position + 1


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, flags: str) -> tuple[re.Pattern[str], bool, bool]:
    """The compiled pattern, whether all matches are wanted, whether empty ones do not count."""
    options = 0
    everywhere = nonempty = False
    for flag in flags:
        if flag == "g":
            everywhere = True
        elif flag == "i":
            options |= re.IGNORECASE
        elif flag == "x":
            options |= re.VERBOSE
        elif flag == "p":
            options |= re.DOTALL
        elif flag == "n":
            nonempty = True
        elif flag not in "sl":
            raise JqError(f"{flags} is not a valid modifier string")
    try:
        return re.compile(_translate(pattern), options), everywhere, nonempty
    except (re.error, OverflowError, RecursionError) as error:
        raise JqError(f"Regex failure: {_reason(str(error))}") from None


def _reason(message: str) -> str:
    """Oniguruma's words for what Python says."""
    for words, reason in (
        ("missing )", "end pattern with unmatched parenthesis"),
        ("unbalanced parenthesis", "unmatched close parenthesis"),
        ("nothing to repeat", "target of repeat operator is not specified"),
        ("multiple repeat", "target of repeat operator is invalid"),
        ("bad escape (end", "end pattern at escape"),
        ("unterminated character set", "premature end of char-class"),
        ("min repeat greater", "upper is smaller than lower in repeat range"),
        ("bad character range", "empty range in char class"),
    ):
        if words in message:
            return reason
    return message


def matches(text: Any, pattern: Any, flags: Any, *, all_of_them: bool = False) -> Iterator[re.Match[str]]:
    """The matches of a pattern, as `match` and its kin find them; checks the types as jq does."""
    if not isinstance(text, str):
        raise JqError(f"{kind(text)} ({shown(text)}) cannot be matched, as it is not a string")
    if isinstance(pattern, list):
        if len(pattern) > 1:
            flags = pattern[1]
        pattern = pattern[0] if pattern else None
    if not isinstance(pattern, str):
        raise JqError(f"{kind(pattern)} ({shown(pattern)}) cannot be matched, as it is not a string")
    if flags is not None and not isinstance(flags, str):
        raise JqError(f"{kind(flags)} ({shown(flags)}) is not a string")
    compiled, everywhere, nonempty = compile_pattern(pattern, flags or "")
    if not (everywhere or all_of_them):
        for match in compiled.finditer(text):
            if not (nonempty and match.end() == match.start()):
                yield match
                return
        return
    for match in compiled.finditer(text):
        if not (nonempty and match.end() == match.start()):
            yield match


def describe(match: re.Match[str]) -> dict[str, Any]:
    """A match as the object that `match` gives."""
    names = {number: name for name, number in match.re.groupindex.items()}
    captures: list[dict[str, Any]] = []
    for number in range(1, match.re.groups + 1):
        text = match.group(number)
        name = names.get(number)
        if text is None:
            captures.append({"offset": -1, "string": None, "length": 0, "name": name})
        else:
            captures.append(
                {"offset": match.start(number), "length": len(text), "string": text, "name": name}
            )
    return {
        "offset": match.start(),
        "length": match.end() - match.start(),
        "string": match.group(),
        "captures": captures,
    }


def captured(match: re.Match[str]) -> dict[str, Any]:
    """The named groups of a match."""
    return dict(match.groupdict())
