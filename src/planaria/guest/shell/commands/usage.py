"""Command lines in the style of GNU: short and long options, with the messages of getopt_long(3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from planaria.guest.shell.command import Process


class UsageError(Exception):
    """A command line that a command does not take; the message is what follows `NAME: `."""


@dataclass(slots=True)
class Arguments:
    """A command line taken apart: options in order, each with its value, and operands."""

    options: list[tuple[str, str]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Whether one of the options was given."""
        return any(name in names for name, _ in self.options)

    def last(self, *names: str) -> str | None:
        """The value of the last of the options; None when there is none."""
        for name, value in reversed(self.options):
            if name in names:
                return value
        return None


def parse(
    arguments: list[str], short: str, long: dict[str, str] | None = None, *, permute: bool = True
) -> Arguments:
    """Take a command line apart.

    `short` lists letters, each followed by `:` when it takes a value (`::` when it may, attached). `long`
    maps long names, written with a final `=` (or `[=]` when optional) when they take one, to the name that
    they are reported by. Options may follow operands when `permute`; `--` ends them.
    """
    values: dict[str, str] = {}
    for position, letter in enumerate(short):
        if letter != ":":
            colons = len(short[position + 1 :]) - len(short[position + 1 :].lstrip(":"))
            values[letter] = ":" * min(colons, 2)
    names: dict[str, tuple[str, str]] = {}
    for name, reported in (long or {}).items():
        kind = "::" if name.endswith("[=]") else ":" if name.endswith("=") else ""
        names[name.removesuffix("[=]").removesuffix("=")] = (reported, kind)
    result = Arguments()
    queue = list(arguments)
    position = 0
    while position < len(queue):
        argument = queue[position]
        position += 1
        if argument == "--":
            result.operands.extend(queue[position:])
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            reported, kind = _long(name, names)
            if kind == "" and equals:
                raise UsageError(f"option '--{name}' doesn't allow an argument")
            if kind == ":" and not equals:
                if position >= len(queue):
                    raise UsageError(f"option '--{name}' requires an argument")
                value = queue[position]
                position += 1
            result.options.append((reported, value))
        elif argument.startswith("-") and argument != "-":
            offset = 1
            while offset < len(argument):
                letter = argument[offset]
                offset += 1
                kind_of = values.get(letter)
                if kind_of is None:
                    raise UsageError(f"invalid option -- '{letter}'")
                if kind_of == "":
                    result.options.append((letter, ""))
                    continue
                value = argument[offset:]
                if not value and kind_of == ":":
                    if position >= len(queue):
                        raise UsageError(f"option requires an argument -- '{letter}'")
                    value = queue[position]
                    position += 1
                result.options.append((letter, value))
                break
        else:
            result.operands.append(argument)
            if not permute:
                result.operands.extend(queue[position:])
                break
    return result


def _long(name: str, names: dict[str, tuple[str, str]]) -> tuple[str, str]:
    if name in names:
        return names[name]
    matching = [candidate for candidate in names if candidate.startswith(name)]
    if not matching:
        raise UsageError(f"unrecognized option '--{name}'")
    if len({names[candidate] for candidate in matching}) > 1:
        possibilities = " ".join(f"'--{candidate}'" for candidate in matching)
        raise UsageError(f"option '--{name}' is ambiguous; possibilities: {possibilities}")
    return names[matching[0]]


def complain(process: Process, message: str, *, named: bool = False) -> None:
    """Report a usage error as GNU programs do; the hint is `named` in diffutils and not in coreutils."""
    process.error(message)
    name = process.argv[0]
    hint = f"Try '{name} --help' for more information.\n"
    process.stderr.write((f"{name}: {hint}" if named else hint).encode("utf-8", "surrogateescape"))


def reason(error: OSError) -> str:
    """The system's words for an error."""
    return error.strerror or str(error)


def read_file(process: Process, name: str) -> bytes:
    """All bytes of a file, `-` being standard input; raises OSError."""
    if name == "-":
        return process.stdin.read()
    with open(process.path(name), "rb") as file:
        return file.read()
