"""`!!`, `!$`, `^old^new^`: what shells at a prompt make of a line before they read it (Bash Reference
Manual, section 9.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from planaria_shell.syntax.quoting import single_quoted

__all__ = ["Expanded", "HistoryError", "expand_line"]

#: Words as the history has them: operators, and everything else up to a blank or an operator, quotes whole.
_WORDS: Final = re.compile(
    r"""\d*(?:>>|<<<|<<-?|[<>]&\d*-?|<>|>\|)|&&|\|\||\|&|;;|&>>?|[<>]\((?:[^()]|\([^()]*\))*\)?|\d*[<>]|[;&|()]"""
    r"""|(?:\$\((?:[^()]|\([^()]*\))*\)?|'[^']*'?|"(?:\\.|[^"\\])*"?|`[^`]*`?|\\.|[^\s;&|()<>'"`\\])+|\\""",
    re.DOTALL,
)
#: What a `!` before it leaves as it is.
_INHIBITING: Final = frozenset(" \t\n\r=")
_EVENT: Final = re.compile(r"!|#|-?\d+|\?([^?\n]*)\??|(?=[:^$*%])|[^\s:;&()|<>\"']+")
_DESIGNATOR: Final = re.compile(r":?([%^$*-])|:(\d+)")
_RANGE_END: Final = re.compile(r"\*|-(\d+|[$^])?")
_MODIFIER: Final = re.compile(r":([htrepqx&]|[gaG]*s(?P<mark>.)|[gaG]+&)")


class HistoryError(Exception):
    """There is no such event or word; the message is bash's."""


@dataclass(slots=True)
class Expanded:
    """A line, and whether it is only to be shown (`:p`)."""

    text: str
    only_shown: bool = False


class _Line:
    """One line on its way through the expansion."""

    def __init__(self, text: str, history: list[str], extglob: bool) -> None:
        self.text = text
        self.history = history
        self.extglob = extglob
        self.position = 0
        self.done: list[str] = []
        self.only_shown = False
        #: What `:s` last replaced by what, and the last word of the event in which `!?text?` found it.
        self.substitution: tuple[str, str] | None = None
        self.found = ""

    def expand(self) -> None:
        """Go through the line; quotes and backslashes keep what they keep."""
        text = self.text
        if text.startswith("^"):
            self._quick()
        quote = ""
        while self.position < len(text):
            char = text[self.position]
            before = text[self.position - 1 : self.position]
            if char == "\\" and quote != "'":
                self._copy(2)
                continue
            if char in "'\"" and quote in ("", char):
                quote = "" if quote else char
            elif char == "#" and not quote and (not before or before in " \t;&|("):
                self._copy(len(text))
                continue
            elif char == "!" and quote != "'" and self._begins(quote, before):
                self.position += 1
                self.done.append(self._reference(text[self.position - 1 :]))
                continue
            self._copy(1)

    def _copy(self, count: int) -> None:
        self.done.append(self.text[self.position : self.position + count])
        self.position += count

    def _begins(self, quote: str, before: str) -> bool:
        """Whether the `!` here is one that asks for the history."""
        following = self.text[self.position + 1 : self.position + 2]
        return not (
            not following
            or following in _INHIBITING
            or (quote == '"' and following == '"')
            or (following == "(" and self.extglob)
            or before == "$"
            or (before == "[" and "]" in self.text[self.position :])
        )

    def _quick(self) -> None:
        """`^old^new^`: the last line with a replacement."""
        parts = re.match(r"\^([^^]*)(?:\^([^^]*)\^?)?", self.text)
        assert parts is not None
        self.position = parts.end()
        event = self._event_before(1, "")
        old, new = parts[1], parts[2] or ""
        if old not in event:
            raise HistoryError(f":s{parts[0]}: substitution failed")
        self.done.append(self._modified(event.replace(old, new, 1), parts[0]))

    def _event_before(self, count: int, shown: str) -> str:
        if not 0 < count <= len(self.history):
            raise HistoryError(f"{shown or '!' * 2}: event not found")
        return self.history[-count]

    def _reference(self, rest: str) -> str:
        """The text that stands for the reference after the `!`."""
        match = _EVENT.match(self.text, self.position)
        if match is None:
            raise HistoryError(f"{rest}: event not found")
        self.position = match.end()
        name = match.group()
        shown = f"!{name}"
        if name in ("!", ""):
            event = self._event_before(1, "!!" if name else shown)
        elif name == "#":
            event = "".join(self.done)
        elif match[1] is not None:
            event = self._search(lambda line: match[1] in line, shown)
            self.found = next((word for word in reversed(_WORDS.findall(event)) if match[1] in word), "")
        elif name.lstrip("-").isdecimal():
            number = int(name)
            event = self._event_before(-number if number < 0 else len(self.history) + 1 - number, shown)
        else:
            event = self._search(lambda line: line.startswith(name), shown)
        return self._modified(self._selected(event), shown)

    def _search(self, fits: Callable[[str], bool], shown: str) -> str:
        for line in reversed(self.history):
            if fits(line):
                return line
        raise HistoryError(f"{shown}: event not found")

    def _selected(self, event: str) -> str:
        """The words of an event that the designator after it selects; all of it without one."""
        match = _DESIGNATOR.match(self.text, self.position)
        if match is None:
            return event
        start = self.position
        self.position = match.end()
        words = _WORDS.findall(event)
        end = len(words) - 1
        sign, digits = match.groups()
        if sign == "%":
            return self.found
        if sign == "*":
            return " ".join(words[1:])
        if sign == "$":
            return words[-1] if words else ""
        first = {"^": 1, "-": 0}.get(sign or "", int(digits or 0))
        last = first
        if sign == "-":
            self.position -= 1
        following = _RANGE_END.match(self.text, self.position)
        if following is not None:
            self.position = following.end()
            if following.group() == "*":
                last = end
                if first == end + 1:
                    return ""
            else:
                last = {None: end - 1, "$": end, "^": 1}.get(following[1], -1)
                if last == -1 and following[1]:
                    last = int(following[1])
        if not first <= last <= end:
            raise HistoryError(f"{self.text[start : self.position]}: bad word specifier")
        return " ".join(words[first : last + 1])

    def _modified(self, text: str, shown: str) -> str:
        """What the modifiers behind a reference make of its text."""
        while (match := _MODIFIER.match(self.text, self.position)) is not None:
            start = self.position
            self.position = match.end()
            kind = match[1]
            if match["mark"]:
                self._read_substitution(match["mark"])
            if match["mark"] or kind.endswith("&"):
                text = self._substituted(text, kind, self.text[start : self.position])
            elif kind == "p":
                self.only_shown = True
            elif kind == "q":
                text = single_quoted(text)
            elif kind == "x":
                text = " ".join(map(single_quoted, text.split()))
            elif kind == "h":
                text = text.rpartition("/")[0] if "/" in text else text
            elif kind == "t":
                text = text.rpartition("/")[2]
            elif "." in text:
                place = text.rindex(".")
                text = text[:place] if kind == "r" else text[place:]
            elif kind == "e":
                text = ""
        return text

    def _read_substitution(self, mark: str) -> None:
        sides = []
        for _ in range(2):
            match = re.compile(
                rf"((?:\\.|[^\\{re.escape(mark)}])*)(?:{re.escape(mark)}|\Z)", re.DOTALL
            ).match(self.text, self.position)
            assert match is not None
            self.position = match.end()
            sides.append(match[1].replace("\\" + mark, mark))
        old, new = sides
        if not old and self.substitution is not None:
            old = self.substitution[0]
        self.substitution = old, re.sub(r"(?<!\\)&", lambda _: old, new).replace("\\&", "&")

    def _substituted(self, text: str, kind: str, shown: str) -> str:
        if self.substitution is None or self.substitution[0] not in text:
            raise HistoryError(f"{shown}: substitution failed")
        old, new = self.substitution
        if "G" in kind:
            return " ".join(word.replace(old, new, 1) for word in text.split(" "))
        return text.replace(old, new) if "g" in kind or "a" in kind else text.replace(old, new, 1)


def expand_line(text: str, history: list[str], *, extglob: bool = False) -> Expanded | None:
    """What a line becomes with the events of `history`, the oldest first; None when nothing in it changes.

    Raises HistoryError, with bash's message, for an event or a word that there is not.
    """
    if "!" not in text and not text.startswith("^"):
        return None
    line = _Line(text, history, extglob)
    line.expand()
    result = "".join(line.done)
    return Expanded(result, line.only_shown) if result != text or line.only_shown else None
