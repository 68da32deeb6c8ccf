"""A command of several lines as one line of the history, as bash puts it there (`shopt -s cmdhist`)."""

from __future__ import annotations

import re

__all__ = ["one_line"]

#: Tokens behind which a line may end without a semicolon.
_OPEN = frozenset(
    {
        *("\n", "{", "(", ")", ";", "&", "|", "case", "do", "else", "if", ";;", ";&", ";;&"),
        *("then", "until", "while", "&&", "||", "in"),
    }
)
_TOKEN = re.compile(
    r"""(?P<quoted>\$?'(?:[^'\\]|\\.)*'|'[^']*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)
    | (?P<continuation>\\\n)
    | (?P<escaped>\\.)
    | (?P<newline>\n)
    | (?P<blank>[ \t]+)
    | (?P<document><<-?(?!<)[ \t]*(?P<delimiter>(?:'[^']*'|"[^"]*"|\\.|[^\s;&|()<>'"\\])+))
    | (?P<operator><<<|;;&|;;|;&|&&|\|\||[;&|()<>])
    | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<plain>[^\s;&|()<>'"\\`#]+|.)""",
    re.VERBOSE | re.DOTALL,
)


def one_line(text: str) -> str:
    """The lines of a complete command, joined by what makes them the same command on one line."""
    pieces: list[str] = []
    tokens: list[str] = []
    word = ""
    documents: list[tuple[str, bool]] = []
    #: What ends a line within each of the parentheses around it, where that does not depend on the tokens.
    enclosed = [""]
    commented = False
    position = 0

    def end_word() -> None:
        nonlocal word
        if word:
            tokens.append(word)
            word = ""

    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        position = match.end()
        kind = match.lastgroup
        if kind == "continuation":
            continue
        if kind == "newline":
            end_word()
            if documents:
                start = position
                position = _after_documents(text, position, documents)
                documents.clear()
                pieces.append("\n" + text[start:position] + (" " if position < len(text) else ""))
            elif commented:
                pieces.append("\n")
            elif position < len(text):
                pieces.append(enclosed[-1] or _separator(tokens, text[position:]))
            commented = False
            tokens.append("\n")
            continue
        if kind == "delimiter" or kind == "document":
            delimiter = re.sub(r"[\\'\"]", "", match.group("delimiter"))
            documents.append((delimiter, match.group().startswith("<<-")))
            end_word()
        elif kind in ("blank", "operator"):
            before = word
            end_word()
            if kind == "operator":
                tokens.append(match.group())
                if match.group() == "(":
                    # Elements stand behind each other; what a substitution runs stays as it is.
                    enclosed.append({"=": " ", "$": "\n"}.get(before[-1:], ""))
                elif match.group() == ")" and len(enclosed) > 1:
                    enclosed.pop()
        elif kind == "comment":
            commented = True
        else:
            word += match.group()
        pieces.append(match.group())
    return "".join(pieces)


def _after_documents(text: str, position: int, documents: list[tuple[str, bool]]) -> int:
    """Where the bodies of here-documents that begin here end, with the line of the last delimiter."""
    for delimiter, tabs in documents:
        while position < len(text):
            end = text.find("\n", position)
            line = text[position : end if end >= 0 else len(text)]
            position = end + 1 if end >= 0 else len(text)
            if (line.lstrip("\t") if tabs else line) == delimiter:
                break
    return position


def _separator(tokens: list[str], following: str) -> str:
    """What stands for the end of a line that ends behind these tokens."""
    if not tokens:
        return ""
    before = tokens[-2] if len(tokens) > 1 else ""
    last = tokens[-1]
    if last == ")":
        in_case = "case" in tokens and "esac" not in tokens[len(tokens) - tokens[::-1].index("case") :]
        return " " if before == "(" or in_case else "; "
    if before == "function":
        return " "
    if "<<" in following.split("\n", 1)[0]:
        return "\n"
    if before == "case":
        return " "
    if before == "for":
        return " " if following.lstrip().startswith("in") else ";"
    return " " if last in _OPEN else "; "
