"""The command line of `pip`: its commands, options, and files of requirements."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

__all__ = ["CannotInstallError", "Command", "parsed"]

_COMMANDS: Final = ("install", "uninstall", "list", "freeze", "show")
#: What else pip has.
_OTHERS: Final = frozenset(
    {"cache", "check", "completion", "config", "debug", "download", "hash", "index", "inspect", "lock"}
    | {"search", "wheel"}
)
_SHORT: Final = {
    "-U": "--upgrade",
    "-h": "--help",
    "-q": "--quiet",
    "-r": "--requirement",
    "-v": "--verbose",
    "-y": "--yes",
}
#: Options without a value that change nothing here, or are honoured.
_FLAGS: Final = frozenset(
    {"--break-system-packages", "--disable-pip-version-check", "--force", "--help", "--no-cache-dir"}
    | {"--no-color", "--no-compile", "--no-input", "--no-python-version-warning", "--no-warn-script-location"}
    | {"--prefer-binary", "--quiet", "--upgrade", "--user", "--verbose", "--yes"}
)
#: Options with a value, likewise.
_VALUES: Final = frozenset(
    {"--format", "--progress-bar", "--requirement", "--retries", "--root-user-action", "--timeout"}
    | {"--upgrade-strategy"}
)
#: Files of requirements may name others.
_MOST_FILES: Final = 20
_COMMENT: Final = re.compile(r"(?:^|\s+)#.*$")


class CannotInstallError(Exception):
    """Packages cannot be installed in this session, or not in that way; `status` is pip's for it."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Command:
    """What a command line of pip says."""

    name: str
    wanted: list[str] = field(default_factory=list)
    """The requirements, those of files included."""
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)

    def has(self, flag: str) -> bool:
        """Whether an option was given, by its long name."""
        return flag in self.flags

    @property
    def is_quiet(self) -> bool:
        return "--quiet" in self.flags


def parsed(words: list[str], name: str) -> Command:
    """What the words after `name`, which is pip, say. Raises CannotInstallError."""
    if not words or words[0] in ("help", "-h", "--help"):
        return Command("help")
    if words[0] in ("-V", "--version"):
        return Command("version")
    command = Command("")
    files: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            command.wanted += rest
        elif word.startswith("-"):
            _read_option(word, rest, command, files, name)
        elif command.name:
            command.wanted.append(word)
        else:
            command.name = word
    if command.has("--help"):
        return Command("help")
    _check_name(command.name, name)
    for file in files:
        command.wanted += _requirements(file, _MOST_FILES)
    if not command.wanted and not files and command.name in ("install", "uninstall", "show"):
        what = "package name" if command.name == "show" else f"requirement to {command.name}"
        raise CannotInstallError(f'You must give at least one {what} (see "{name} help")')
    return command


def _check_name(command: str, name: str) -> None:
    if command in _OTHERS:
        others = f"{', '.join(_COMMANDS[:-1])} and {_COMMANDS[-1]}"
        raise CannotInstallError(f"{name} {command} is not available in a session; {others} are")
    if command not in _COMMANDS:
        raise CannotInstallError(f'unknown command "{command}" (see "{name} help")')


def _read_option(word: str, rest: Iterator[str], command: Command, files: list[str], name: str) -> None:
    """Read one option, or several short ones that are written together."""
    if not word.startswith("--") and len(word) > 2:
        if _SHORT.get(word[:2]) in _VALUES:  # -rFILE
            option, value = _SHORT[word[:2]], word[2:]
        else:
            for letter in word[1:]:
                _read_option(f"-{letter}", rest, command, files, name)
            return
    else:
        option, mark, value = word.partition("=")
        option = _SHORT.get(option, option)
        if option in _VALUES and not mark:
            found = next(rest, None)
            if found is None:
                raise CannotInstallError(f"{option} option requires 1 argument", 2)
            value = found
        elif mark and option in _FLAGS:
            raise CannotInstallError(f"{option} option does not take a value", 2)
    if option == "--requirement":
        files.append(value)
    elif option in _VALUES:
        command.values[option] = value
    elif option in _FLAGS:
        command.flags.add(option)
    else:
        raise CannotInstallError(f'{name} has no option {option} in a session (see "{name} help")', 2)


def _requirements(path: str, left: int) -> Iterator[str]:
    """The requirements in a file, and in those that it names. Raises CannotInstallError."""
    if not left:
        raise CannotInstallError(f"{path}: files of requirements name each other too often")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotInstallError(f"Could not open requirements file: {error}") from None
    for line in text.replace("\\\n", "").splitlines():
        said = _COMMENT.sub("", line).strip()
        option, _, value = said.partition(" ")
        if option in ("-r", "--requirement") or said.startswith(("-r", "--requirement=")):
            value = value if option in ("-r", "--requirement") else re.sub(r"^(-r|--requirement=)", "", said)
            yield from _requirements(os.path.join(os.path.dirname(path), value.strip()), left - 1)
        elif said.startswith("-") or " --" in said:
            raise CannotInstallError(f"{path}: options such as {said!r} are not followed here")
        elif said:
            yield said
