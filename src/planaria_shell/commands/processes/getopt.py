"""getopt (util-linux): the arguments of a script, put in order for `eval set --`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError

__all__: list[str] = []

_SHELLS = {"bash": False, "sh": False, "csh": True, "tcsh": True}


@dataclass(slots=True)
class _Wanted:
    """The options that a script takes: how many colons follow each name."""

    short: dict[str, int] = field(default_factory=dict)
    long: dict[str, int] = field(default_factory=dict)
    #: "": options and operands are mixed; "+": options end at the first operand; "-": all stay in order.
    order: str = ""
    #: Long options may begin with one dash.
    alternative: bool = False

    def add_short(self, text: str) -> None:
        if text[:1] in ("+", "-"):
            self.order, text = text[0], text[1:]
        for letter, colons in re.findall(r"([^:])(:{0,2})", text):
            self.short[letter] = len(colons)

    def add_long(self, text: str) -> None:
        for word in re.split(r"[, \t\n]+", text):
            if name := word.rstrip(":"):
                self.long[name] = len(word) - len(name)


class _Parsing:
    """One pass over the arguments of a script."""

    def __init__(self, wanted: _Wanted, words: list[str], shown: Callable[[str], str]) -> None:
        self.wanted = wanted
        self.words = words
        self.at = 0
        self.shown = shown
        self.options: list[str] = []
        self.operands: list[str] = []
        self.problems: list[str] = []

    def run(self) -> None:
        """Sort all words into options and operands."""
        wanted = self.wanted
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word == "--":
                break
            if word.startswith("--"):
                self._long(word, word[2:])
            elif word.startswith("-") and len(word) > 1:
                name = word[1:].partition("=")[0]
                if (
                    wanted.alternative
                    and (len(word) > 2 or word[1] not in wanted.short)
                    and self._known(name)
                ):
                    self._long(word, word[1:])
                else:
                    self._group(word)
            elif wanted.order == "-":
                self.options.append(self.shown(word))
            elif wanted.order == "+":
                self.at -= 1
                break
            else:
                self.operands.append(word)
        self.operands += self.words[self.at :]

    def _known(self, name: str) -> bool:
        return any(long.startswith(name) for long in self.wanted.long)

    def _group(self, word: str) -> None:
        for place, letter in enumerate(word[1:], 1):
            colons = self.wanted.short.get(letter)
            if colons is None:
                self.problems.append(f"invalid option -- '{letter}'")
            elif not colons:
                self.options.append(f"-{letter}")
            else:
                rest = word[place + 1 :]
                if not rest and colons == 1:
                    if self.at >= len(self.words):
                        self.problems.append(f"option requires an argument -- '{letter}'")
                        return
                    rest = self.words[self.at]
                    self.at += 1
                self.options += [f"-{letter}", self.shown(rest)]
                return

    def _long(self, word: str, text: str) -> None:
        name, equals, value = text.partition("=")
        dashes = word[: len(word) - len(text)]
        found = [long for long in self.wanted.long if long.startswith(name)]
        if name in self.wanted.long:
            found = [name]
        if not found:
            self.problems.append(f"unrecognized option '{dashes}{name}'")
            return
        if len(found) > 1:
            listed = " ".join(f"'{dashes}{long}'" for long in found)
            self.problems.append(f"option '{dashes}{name}' is ambiguous; possibilities: {listed}")
            return
        colons = self.wanted.long[found[0]]
        if not colons:
            if equals:
                self.problems.append(f"option '{dashes}{found[0]}' doesn't allow an argument")
            else:
                self.options.append(f"--{found[0]}")
            return
        if not equals and colons == 1:
            if self.at >= len(self.words):
                self.problems.append(f"option '{dashes}{found[0]}' requires an argument")
                return
            value = self.words[self.at]
            self.at += 1
        self.options += [f"--{found[0]}", self.shown(value)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted_for_csh(text: str) -> str:
    """The same for csh, which also looks at history, newlines and spaces inside of quotes."""
    parts = {"'": "'\\''", "!": "'\\!'", "\n": "\\n", "\\": "\\\\"}
    return "'" + "".join(parts.get(c, f"'\\{c}'" if c.isspace() else c) for c in text) + "'"


@command(
    "getopt",
    short="al:n:o:qQs:Tu",
    long="alternative=a longoptions=l: name=n: options=o: quiet=q quiet-output=Q shell=s: test=T unquoted=u",
    usage="OPTSTRING PARAMETER...\n  or:  getopt [OPTION]... -o OPTSTRING [OPTION]... [--] PARAMETER...",
    order="options first",
    failure=2,
    hint="Try '{name} --help' for more information.",
)
def getopt(call: Invocation) -> Status:
    """Parse command options of a script."""
    arguments = call.arguments
    if arguments.has("T"):
        return 4
    words = list(call.operands)
    wanted = _Wanted(alternative=arguments.has("a"))
    old = bool(call.env.get("GETOPT_COMPATIBLE") is not None or not arguments.options)
    given = arguments.value("o")
    if given is None:
        if not words:
            raise UsageError("missing optstring argument")
        given = words.pop(0)
    wanted.add_short(given)
    for text in arguments.values("l"):
        wanted.add_long(text)
    if "POSIXLY_CORRECT" in call.env and not wanted.order:
        wanted.order = "+"
    shell = arguments.value("s") or "bash"
    if shell not in _SHELLS:
        raise UsageError("unknown shell after -s or --shell argument")
    shown: Callable[[str], str] = _quoted_for_csh if _SHELLS[shell] else _quoted
    if old or arguments.has("u"):
        shown = str
    parsing = _Parsing(wanted, words, shown)
    parsing.run()
    if not arguments.has("q"):
        call.label = arguments.value("n") or ""
        for problem in parsing.problems:
            call.error(problem)
    if not arguments.has("Q"):
        parts = [*parsing.options, "--", *map(shown, parsing.operands)]
        call.print("".join(f" {part}" for part in parts))
    return 1 if parsing.problems else 0
