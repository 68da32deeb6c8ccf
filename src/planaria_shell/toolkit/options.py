"""Options of commands, read as GNU getopt_long(3) reads them.

Short options may be grouped and may carry their argument (`-n5`, `-n 5`), long ones may be shortened
while they stay unambiguous (`--rev`), options and operands may be mixed, and `--` ends the options.
The messages are those of the GNU C library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planaria_shell.toolkit.quoting import quote

__all__ = ["Arguments", "OptionSyntax", "UsageError", "choose"]

Order = Literal["permute", "options first", "in order"]


class UsageError(Exception):
    """A command was called in a way it does not understand.

    `message` is what comes after `NAME: `; with `hint`, the line "Try 'NAME --help' for more
    information." follows. `status` overrides the command's usual exit status for wrong usage.
    """

    def __init__(self, message: str, *, hint: bool = True, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status


@dataclass
class Arguments:
    """What the parser found: options in the order they were given, and operands.

    The key of an option is its short letter where it has one, else its long name.
    """

    options: list[tuple[str, str | None]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def has(self, *keys: str) -> bool:
        """Was any of these given?"""
        return any(key in keys for key, _ in self.options)

    def value(self, *keys: str) -> str | None:
        """The argument of the last one of these that was given, None when none was."""
        found = None
        for key, value in self.options:
            if key in keys:
                found = value
        return found

    def values(self, *keys: str) -> list[str]:
        """The arguments of all of these that were given, in order."""
        return [value or "" for key, value in self.options if key in keys]

    def last(self, keys: Iterable[str]) -> str | None:
        """Which of these was given last, for options that override each other."""
        allowed = set(keys)
        for key, _ in reversed(self.options):
            if key in allowed:
                return key
        return None

    def __iter__(self) -> Iterator[tuple[str, str | None]]:
        return iter(self.options)


class OptionSyntax:
    """Which options a command has.

    Args:
        short: As for getopt(3): `"ab:c::"`, where `:` requires an argument and `::` allows one.
        long: Words `name`, `name=k` (the long form of the short option `k`) with `:` or `::` after
            them for the argument: `"all=a width=w: color::"`.
        order: "permute" mixes options and operands; "options first" stops at the first operand
            (as for commands that run another command); "in order" hands operands over as options
            with the key `""`, at their place.
        help_option: Whether `--help` and `--version` are options too.
    """

    def __init__(
        self, short: str = "", long: str = "", *, order: Order = "permute", help_option: bool = True
    ) -> None:
        self.order = order
        self.short: dict[str, int] = {}
        self.long: dict[str, tuple[str, int]] = {}
        at = 0
        while at < len(short):
            letter = short[at]
            at += 1
            colons = 0
            while at < len(short) and short[at] == ":":
                colons += 1
                at += 1
            self.short[letter] = colons
        for word in long.split():
            name = word.rstrip(":")
            colons = len(word) - len(name)
            name, _, key = name.partition("=")
            self.long[name] = (key or name, colons)
        if help_option:
            self.long.setdefault("help", ("help", 0))
            self.long.setdefault("version", ("version", 0))

    def parse(self, words: list[str]) -> Arguments:
        """Read the words after the command's name; raises UsageError."""
        found = Arguments()
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                found.operands += words[at:]
                break
            if word.startswith("--"):
                at = self._long(word, words, at, found)
            elif word.startswith("-") and len(word) > 1:
                at = self._group(word, words, at, found)
            elif self.order == "options first":
                found.operands += words[at - 1 :]
                break
            elif self.order == "in order":
                found.options.append(("", word))
            else:
                found.operands.append(word)
        return found

    def _group(self, word: str, words: list[str], at: int, found: Arguments) -> int:
        """One word of short options; returns where to go on."""
        position = 1
        while position < len(word):
            letter = word[position]
            position += 1
            colons = self.short.get(letter)
            if colons is None:
                raise UsageError(f"invalid option -- '{letter}'")
            if not colons:
                found.options.append((letter, None))
                continue
            rest: str | None = word[position:] or None
            if rest is None and colons == 1:
                if at >= len(words):
                    raise UsageError(f"option requires an argument -- '{letter}'")
                rest = words[at]
                at += 1
            found.options.append((letter, rest))
            break
        return at

    def _long(self, word: str, words: list[str], at: int, found: Arguments) -> int:
        """One word `--name` or `--name=value`; returns where to go on."""
        name, equals, text = word[2:].partition("=")
        value: str | None = text if equals else None
        name = self._complete(name, word)
        key, colons = self.long[name]
        if not colons and value is not None:
            raise UsageError(f"option '--{name}' doesn't allow an argument")
        if colons == 1 and value is None:
            if at >= len(words):
                raise UsageError(f"option '--{name}' requires an argument")
            value = words[at]
            at += 1
        found.options.append((key, value))
        return at

    def _complete(self, name: str, word: str) -> str:
        if name in self.long:
            return name
        candidates = [known for known in self.long if known.startswith(name)]
        if not candidates:
            raise UsageError(f"unrecognized option '{word}'")
        if len({self.long[known] for known in candidates}) > 1:
            listed = " ".join(f"'--{known}'" for known in candidates)
            raise UsageError(f"option '{word}' is ambiguous; possibilities: {listed}")
        return candidates[0]


def choose(value: str, choices: Mapping[str, str] | Sequence[str], option: str) -> str:
    """The one of `choices` that `value` names or begins (a mapping gives what the name stands for).

    Raises UsageError with the list of names, as GNU's XARGMATCH does.
    """
    meanings = choices if isinstance(choices, Mapping) else {name: name for name in choices}
    if value in meanings:
        return meanings[value]
    found = {meaning for name, meaning in meanings.items() if name.startswith(value)}
    if len(found) == 1 and value:
        return found.pop()
    grouped: dict[str, list[str]] = {}
    for name, meaning in meanings.items():
        grouped.setdefault(meaning, []).append(quote(name))
    listed = "\n".join("  - " + ", ".join(names) for names in grouped.values())
    kind = "ambiguous" if found else "invalid"
    raise UsageError(
        f"{kind} argument {quote(value)} for {quote(option)}\nValid arguments are:\n{listed}", status=1
    )
