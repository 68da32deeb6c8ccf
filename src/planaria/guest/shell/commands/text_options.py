"""Command-line options in the manner of getopt_long(3), with its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class OptionError(Exception):
    """A command line that getopt refuses; the text is its message without the command's name."""


class Options(NamedTuple):
    #: (name of the option, its argument or None), in the order given.
    given: list[tuple[str, str | None]]
    operands: list[str]


def parse_options(
    arguments: list[str], short: str, long: Mapping[str, tuple[str, int]], *, permute: bool = True
) -> Options:
    """Sort arguments into options and operands.

    `short` is getopt's string (`:` after a letter that takes an argument, `::` after one that may);
    `long` maps a long option to the name it is reported under and 0, 1 or 2 for no, one or an optional
    argument. Short options are reported under their letter. A digit is an option where `short` has it.
    Raises OptionError.
    """
    takes: dict[str, int] = {}
    for index, letter in enumerate(short):
        if letter != ":":
            rest = short[index + 1 : index + 3]
            takes[letter] = 2 if rest == "::" else 1 if rest[:1] == ":" else 0
    given: list[tuple[str, str | None]] = []
    operands: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            operands.extend(waiting)
        elif argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            full = _complete(name, long)
            key, count = long[full]
            if equals and not count:
                raise OptionError(f"option '--{full}' doesn't allow an argument")
            if not equals and count == 1:
                try:
                    value = next(waiting)
                except StopIteration:
                    raise OptionError(f"option '--{full}' requires an argument") from None
            given.append((key, value if equals or count == 1 else None))
        elif argument.startswith("-") and argument != "-":
            at = 1
            while at < len(argument):
                letter = argument[at]
                at += 1
                count = takes.get(letter, -1)
                if count < 0:
                    raise OptionError(f"invalid option -- '{letter}'")
                if not count:
                    given.append((letter, None))
                    continue
                text: str | None = argument[at:]
                if not text and count == 1:
                    text = next(waiting, None)
                    if text is None:
                        raise OptionError(f"option requires an argument -- '{letter}'")
                given.append((letter, text if text or count == 1 else None))
                break
        else:
            operands.append(argument)
            if not permute:
                operands.extend(waiting)
    return Options(given, operands)


def _complete(name: str, long: Mapping[str, tuple[str, int]]) -> str:
    if name in long:
        return name
    matches = [option for option in long if option.startswith(name)]
    if not matches:
        raise OptionError(f"unrecognized option '--{name}'")
    if len({long[option] for option in matches}) > 1:
        possible = " ".join(f"'--{option}'" for option in sorted(matches))
        raise OptionError(f"option '--{name}' is ambiguous; possibilities: {possible}")
    return matches[0]
