"""Which members of an archive are meant, and what they are called outside of it (tar's name options)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from planaria_shell.expand.negated_patterns import NegatedPattern
from planaria_shell.expand.patterns import compile_pattern
from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.regex.posix import Pattern, RegexError, compile_basic, compile_extended

__all__ = ["Excluder", "Transformer", "safe_name"]

VERSION_CONTROL = (
    "CVS", ".cvsignore", "RCS", "SCCS", ".git", ".gitignore", ".gitattributes", ".gitmodules", ".svn", ".hg",
    ".hgignore", ".hgtags", ".bzr", ".bzrignore", ".bzrtags", "_darcs", ".arch-ids", "{arch}", "=RELEASE-ID",
    "=meta-update", "=update",
)  # fmt: skip


class Excluder:
    """The patterns of `--exclude`, `-X` and `--exclude-vcs`: they match any part of a name."""

    def __init__(self) -> None:
        self._patterns: list[re.Pattern[str] | NegatedPattern] = []

    def add(self, patterns: Iterable[str]) -> None:
        """Match these too."""
        self._patterns += [compile_pattern(pattern.rstrip("/")) for pattern in patterns]

    def __call__(self, name: str) -> bool:
        if not self._patterns:
            return False
        name = name.rstrip("/")
        starts = [0, *(index + 1 for index, c in enumerate(name) if c == "/")]
        ends = [*(index for index, c in enumerate(name) if c == "/"), len(name)]
        return any(
            pattern.fullmatch(name, start, end)
            for pattern in self._patterns
            for start in starts
            for end in ends
            if end > start
        )


class Transformer:
    """The expressions of `--transform`: sed's `s` command on names."""

    def __init__(self, expressions: list[str]) -> None:
        self._steps = [step for text in expressions for step in self._parse(text)]

    @staticmethod
    def _parse(text: str) -> list[Callable[[str], str]]:
        steps: list[Callable[[str], str]] = []
        at = 0
        while at < len(text):
            if text[at] == ";":
                at += 1
                continue
            if text[at] != "s" or at + 1 >= len(text):
                raise UsageError("Invalid transform expression")
            mark = text[at + 1]
            parts: list[str] = []
            part = ""
            at += 2
            while at < len(text) and len(parts) < 2:
                if text[at] == "\\" and at + 1 < len(text):
                    part += text[at + 1] if text[at + 1] == mark else text[at : at + 2]
                    at += 2
                    continue
                if text[at] == mark:
                    parts.append(part)
                    part = ""
                else:
                    part += text[at]
                at += 1
            flags = re.compile(r"[a-zA-Z0-9]*").match(text, at)
            assert flags is not None
            at = flags.end()
            if len(parts) < 2:
                raise UsageError("Invalid transform expression")
            compile_transform = compile_extended if "x" in flags[0] else compile_basic
            try:
                pattern = compile_transform(parts[0], ignore_case="i" in flags[0])
            except RegexError as error:
                raise UsageError(f"Invalid transform expression: {error}") from None
            steps.append(_substitution(pattern, parts[1], "g" in flags[0]))
        return steps

    def __call__(self, name: str) -> str:
        for step in self._steps:
            name = step(name)
        return name


def _substitution(pattern: Pattern, replacement: str, everywhere: bool) -> Callable[[str], str]:
    def expand(match: re.Match[str]) -> str:
        return re.sub(
            r"\\(.)|&",
            lambda piece: (
                match[0]
                if piece[1] is None
                else match[int(piece[1])] or ""
                if piece[1].isdigit()
                else {"n": "\n", "t": "\t"}.get(piece[1], piece[1])
            ),
            replacement,
        )

    def replace(name: str) -> str:
        pieces: list[str] = []
        at = 0
        start = 0
        while start <= len(name) and (found := pattern.search(name, start)):
            pieces += name[at : found.start()], expand(found)
            at = found.end()
            if not everywhere:
                break
            # An empty match is not found again where it was.
            start = at + (found.start() == at)
        return "".join(pieces) + name[at:]

    return replace


def safe_name(call: Invocation, name: str, reported: set[str], what: str = "member names") -> str:
    """A name without what would lead out of the directory: a leading `/`, and everything up to the last `..`.

    `told` remembers which prefixes have been reported.
    """
    cut = 0
    match = re.match(r"(?:.*/)?\.\.(?:/|$)", name)
    if match:
        cut = match.end()
    while cut < len(name) and name[cut] == "/":
        cut += 1
    if cut:
        prefix = name[:cut]
        if prefix not in reported:
            reported.add(prefix)
            call.error(f"Removing leading `{prefix}' from {what}")
    rest = name[cut:]
    return rest or "."
