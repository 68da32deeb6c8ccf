"""The table of builtins and how they get into it."""

from __future__ import annotations

from collections.abc import Callable

from planaria_shell.builtins.synopses import SYNOPSES
from planaria_shell.errors import AbandonError, ReadonlyError, ShellError
from planaria_shell.state.builtin import BUILTINS, SPECIAL, Builtin
from planaria_shell.state.control import Exit
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.syntax.nodes import Simple

__all__ = [
    "BuiltinUsageError",
    "OptionError",
    "builtin",
    "ends_shell",
    "no_more",
    "operands_of",
    "options_of",
    "running",
    "usage",
]


def no_more(command: str, words: list[str]) -> None:
    """Refuse further arguments, as bash does: what runs is abandoned."""
    if words:
        raise AbandonError(f"{command}: too many arguments")


class BuiltinUsageError(Exception):
    """A builtin was called wrongly."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class OptionError(BuiltinUsageError):
    """An option that is not known or lacks its value: how the builtin is called is shown, too."""


def usage(shell: Interpreter, name: str) -> int:
    """Show how a builtin is called; its status."""
    shell.error_output(f"{name}: usage: {name} {SYNOPSES[name]}".rstrip() + "\n")
    return 2


def running(*names: str) -> Callable[[Builtin], Builtin]:
    """Register a builtin that runs commands, whose errors are not its own. A usage error is reported here."""

    def register(function: Builtin) -> Builtin:
        def run(shell: Interpreter, argv: list[str]) -> int:
            try:
                status = function(shell, argv)
            except BuiltinUsageError as error:
                return _refused(shell, argv[0], error)
            if not status:
                shell.err_trap_nesting = min(
                    shell.err_trap_nesting, len(shell.frames) + shell.substitution_level
                )
            return status

        for name in names:
            BUILTINS[name] = run
        return run

    return register


def ends_shell(shell: Interpreter, name: str) -> bool:
    """Whether an error of this builtin ends the shell, as that of a special one does in POSIX mode, unless it
    is `command` that calls it."""
    if not shell.posix or shell.interactive or name not in SPECIAL:
        return False
    words = shell.node.words if isinstance(shell.node, Simple) else []
    return bool(words) and getattr(words[0], "source", "") == name


def _refused(shell: Interpreter, name: str, error: BuiltinUsageError) -> int:
    shell.complain(f"{name}: {error.message}")
    if isinstance(error, OptionError):
        usage(shell, name)
    if error.status == 2 and ends_shell(shell, name):
        raise Exit(2)
    return error.status


#: The status of a builtin that failed for a reason that is its own fault, as of a command.
_DEFECT = 70


def builtin(*names: str) -> Callable[[Builtin], Builtin]:
    """Register a function as the builtin of these names. Its errors are reported with its name."""

    def register(function: Builtin) -> Builtin:
        def run(shell: Interpreter, argv: list[str]) -> int:
            try:
                return function(shell, argv)
            except BuiltinUsageError as error:
                return _refused(shell, argv[0], error)
            except ReadonlyError as error:
                shell.complain(error.message)
                return error.status
            except ShellError as error:
                if error.fatal:
                    if isinstance(error, AbandonError) and error.named:
                        error.named = False
                        error.message = f"{argv[0]}: {error.message}"
                    raise
                shell.complain(f"{argv[0]}: {error.message}")
                return error.status
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                # A defect of the builtin must not take the session with it.
                shell.complain(f"{argv[0]}: internal error: {type(error).__name__}: {error}")
                return _DEFECT
            except BrokenPipeError:
                raise
            except OSError as error:
                return shell.write_failed(error, argv[0])

        for name in names:
            BUILTINS[name] = run
        return run

    return register


def options_of(
    argv: list[str], letters: str, *, plus: bool = False
) -> tuple[list[tuple[str, str]], list[str]]:
    """Options of a builtin, as (letter, value) pairs, and its operands. A letter followed by a colon in
    `letters` takes a value; one followed by a semicolon does so unless the next word is an option. With
    `plus`, options may begin with a plus sign: their letters come with it."""
    found: list[tuple[str, str]] = []
    place = 1
    while place < len(argv):
        word = argv[place]
        if word == "--":
            place += 1
            break
        sign = word[:1]
        if len(word) < 2 or (sign != "-" and not (plus and sign == "+")):
            break
        position = 1
        while position < len(word):
            letter = word[position]
            index = letters.find(letter)
            if index < 0 or letter in ":;":
                raise OptionError(f"{sign}{letter}: invalid option")
            shown = letter if sign == "-" else "+" + letter
            takes = letters[index + 1 : index + 2]
            if takes and takes in ":;":
                value = word[position + 1 :]
                following = argv[place + 1 : place + 2]
                if not value and (takes == ":" or (following and not following[0].startswith("-"))):
                    place += 1
                    if place >= len(argv):
                        raise OptionError(f"-{letter}: option requires an argument")
                    value = argv[place]
                found.append((shown, value))
                break
            found.append((shown, ""))
            position += 1
        place += 1
    return found, argv[place:]


def operands_of(argv: list[str]) -> list[str]:
    """The arguments of a builtin that has no options."""
    _, operands = options_of(argv, "")
    return operands
