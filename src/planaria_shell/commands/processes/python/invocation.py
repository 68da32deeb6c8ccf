"""The command line of `python3`, as `python3 --help` has it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["InvocationError", "PythonInvocation", "parse"]


class InvocationError(Exception):
    """The command line is wrong: what to say before the usage."""


@dataclass(slots=True)
class PythonInvocation:
    """What a command line asks for: one of `command`, `module` and `script` ("-" is standard input)."""

    command: str | None = None
    module: str | None = None
    script: str | None = None
    arguments: list[str] = field(default_factory=list)
    #: How often each option was given that is a letter without a value.
    flags: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)

    def has(self, letter: str) -> bool:
        return letter in self.flags

    @property
    def ignores_environment(self) -> bool:
        return self.has("E") or self.has("I")


_FLAGS = frozenset("bBdEhiIOPqsSuvVx?")


def parse(argv: list[str]) -> PythonInvocation:
    """Read the arguments after the name; raises InvocationError."""
    asked = PythonInvocation()
    words = iter(argv)
    for word in words:
        if word == "--version":
            asked.flags["V"] = asked.flags.get("V", 0) + 1
        elif word == "--help":
            asked.flags["h"] = 1
        elif word.startswith("--check-hash-based-pycs"):
            if word == "--check-hash-based-pycs":
                next(words, None)
        elif word == "--":
            asked.script = next(words, None)
            break
        elif word == "-" or not word.startswith("-"):
            asked.script = word
            break
        elif word.startswith("--"):
            raise InvocationError(f"unknown option {word}")
        elif _letters(word, words, asked):
            break
    asked.arguments = list(words)
    return asked


def _letters(word: str, words: object, asked: PythonInvocation) -> bool:
    """Read a word of options in letters; whether it ends them."""
    for place, letter in enumerate(word[1:], 2):
        if letter in _FLAGS:
            asked.flags[letter] = asked.flags.get(letter, 0) + 1
            continue
        if letter not in "cmWX":
            raise InvocationError(f"Unknown option: -{letter}")
        value = word[place:] or next(words, None)  # type: ignore[call-overload]
        if value is None:
            raise InvocationError(f"Argument expected for the -{letter} option")
        if letter == "c":
            asked.command = value
            return True
        if letter == "m":
            asked.module = value
            return True
        (asked.warnings if letter == "W" else asked.extensions).append(value)
        return False
    return False
