"""Word splitting, and the fields that words expand to (Bash Reference Manual, section 3.5.7)."""

from __future__ import annotations

import re
from functools import lru_cache

from planaria_shell.expand.pathnames import glob_into
from planaria_shell.expand.patterns import escape, has_magic
from planaria_shell.state.interpreter import Interpreter

__all__ = ["Fields", "split"]

#: Stands for a quoted piece where patterns are looked for.
_NOTHING = "\0"
_DEFAULT_FIELDS = re.compile(r"[^ \t\n]+")


@lru_cache(maxsize=64)
def _separators(ifs: str) -> re.Pattern[str]:
    white = "".join(re.escape(char) for char in ifs if char in " \t\n")
    other = "".join(re.escape(char) for char in ifs if char not in " \t\n")
    if not other:
        return re.compile(f"[{white}]+")
    if not white:
        return re.compile(f"[{other}]")
    return re.compile(f"[{white}]*[{other}][{white}]*|[{white}]+")


def split(text: str, ifs: str) -> list[str]:
    """Word splitting of a whole unquoted expansion."""
    if ifs == " \t\n":
        if " " in text or "\n" in text or "\t" in text:
            return _DEFAULT_FIELDS.findall(text)
        return [text] if text else []
    if not text:
        return []
    if not ifs:
        return [text]
    white = "".join(char for char in ifs if char in " \t\n")
    fields = _separators(ifs).split(text.strip(white) if white else text)
    if not fields[-1]:
        fields.pop()
    return fields


class Fields:
    """Collects the fields that words expand to."""

    __slots__ = ("done", "magic", "pieces", "shell", "started")

    def __init__(self, shell: Interpreter) -> None:
        self.shell = shell
        self.done: list[str] = []
        #: The field being made: texts, and whether each stands for itself.
        self.pieces: list[tuple[str, bool]] = []
        self.started = False
        self.magic = False

    def quoted(self, text: str) -> None:
        """Text that is neither split nor globbed; makes a field even when empty."""
        self.pieces.append((text, True))
        self.started = True

    def unquoted(self, text: str) -> None:
        """Text that is globbed but not split."""
        if text:
            self.pieces.append((text, False))
            self.started = True
            self.magic = True

    def expanded(self, text: str) -> None:
        """The result of an unquoted expansion: split, then globbed."""
        ifs = self.shell.ifs
        if not ifs:
            self.unquoted(text)
            return
        position = 0
        for match in _separators(ifs).finditer(text):
            self.unquoted(text[position : match.start()])
            if self.started or match.group().strip(" \t\n"):
                self.finish()
            position = match.end()
        self.unquoted(text[position:])

    def quoted_list(self, values: list[str]) -> None:
        """`"$@"`: each value a field, the first and last joined with what stands around."""
        for place, value in enumerate(values):
            if place:
                self.finish()
            self.quoted(value)

    def expanded_list(self, values: list[str]) -> None:
        """`$@` without quotes."""
        ifs = self.shell.ifs
        if ifs.strip(" \t\n"):
            # Joined as "$*" and split again, which keeps what is empty in the middle.
            self.expanded(ifs[0].join(values))
            return
        for place, value in enumerate(values):
            if place and self.started:
                self.finish()
            self.expanded(value)

    def finish(self) -> None:
        """End the field."""
        pieces = self.pieces
        text = "".join([piece[0] for piece in pieces])
        if self.magic:
            shell = self.shell
            bare = (
                text
                if len(pieces) == 1
                else "".join([_NOTHING if quoted else piece for piece, quoted in pieces])
            )
            if not shell.noglob and has_magic(bare, "extglob" in shell.shopts):
                pattern = "".join([escape(piece) if quoted else piece for piece, quoted in pieces])
                glob_into(shell, pattern, text, self.done)
            else:
                self.done.append(text)
        else:
            self.done.append(text)
        self.pieces = []
        self.started = False
        self.magic = False

    def end_word(self) -> None:
        if self.started:
            self.finish()
