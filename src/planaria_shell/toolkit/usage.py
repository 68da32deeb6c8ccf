"""Command lines of commands whose options are tables, and what is said about wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import lru_cache, wraps

from planaria_shell.run.command import COMMANDS, CommandFunction, Process, Status
from planaria_shell.toolkit.options import OptionSyntax, UsageError
from planaria_shell.toolkit.streams import encode, reason
from planaria_shell.toolkit.streams import read_input as read_file

__all__ = ["Arguments", "UsageError", "command", "complain", "parse", "read_file", "reason"]


@dataclass(slots=True)
class Arguments:
    """A command line taken apart: options in order, each with its value ("" without one), and operands."""

    options: list[tuple[str, str]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Whether one of the options was given."""
        return any(name in names for name, _ in self.options)

    def values(self, name: str) -> list[str]:
        """The values of an option, each time it was given."""
        return [value for known, value in self.options if known == name]

    def last(self, *names: str) -> str | None:
        """The value of the last of the options; None when there is none."""
        for name, value in reversed(self.options):
            if name in names:
                return value
        return None


def parse(arguments: list[str], short: str, long: dict[str, str] | None = None) -> Arguments:
    """Take a command line apart as `OptionSyntax` does; raises UsageError.

    `short` is getopt's string. `long` maps long names, written with a final `=` (or `[=]` when optional) when
    they take a value, to the name that they are reported by.
    """
    found = _syntax(short, tuple((long or {}).items())).parse(arguments)
    return Arguments([(name, value or "") for name, value in found.options], found.operands)


@lru_cache(maxsize=64)
def _syntax(short: str, long: tuple[tuple[str, str], ...]) -> OptionSyntax:
    words = []
    for name, reported in long:
        colons = "::" if name.endswith("[=]") else ":" if name.endswith("=") else ""
        words.append(f"{name.removesuffix('[=]').removesuffix('=')}={reported}{colons}")
    return OptionSyntax(short, " ".join(words), help_option=False)


def command(*names: str, version: str = "") -> Callable[[CommandFunction], CommandFunction]:
    """Register a function as the command of these names, and answer `--help` with its docstring.

    `version`: the answer to `--version`; the function's own affair where there is none.
    """

    def register(function: CommandFunction) -> CommandFunction:
        usage = f"Usage: {(function.__doc__ or '').strip()}"

        @wraps(function)
        def start(process: Process) -> Status | Generator[None, None, Status]:
            match process.argv[1:]:
                case ["--help"]:
                    process.stdout.write(encode(usage + "\n"))
                    return 0
                case ["--version"] if version:
                    process.stdout.write(encode(version + "\n"))
                    return 0
            return function(process)

        for name in names:
            COMMANDS[name] = start
        return function

    return register


def complain(process: Process, message: str, *, named: bool = False) -> None:
    """Report a usage error as GNU programs do; the hint is `named` in diffutils and not in coreutils."""
    process.error(message)
    name = process.argv[0]
    hint = f"Try '{name} --help' for more information.\n"
    process.stderr.write(encode(f"{name}: {hint}" if named else hint))
