"""`complete`, `compgen` and `compopt`: programmable completion."""

from __future__ import annotations

from planaria_shell.builtins.candidates import ACTIONS, OPTIONS, Specification, candidates
from planaria_shell.builtins.registry import BuiltinUsageError, builtin, options_of, usage
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import bucket

_LETTERS = "abcdefgjko:suvA:G:W:P:S:X:F:C:"
#: By what name bash keeps the specification of an empty line, of any command, and of the first word.
_SPECIAL = {"D": "_DefaultCmD_", "E": "_EmptycmD_", "I": "_InitialWorD_"}
_SPECIAL_OPTIONS = {name: f"-{letter}" for letter, name in _SPECIAL.items()}
_BUCKETS = 512
#: What no name of a function may have in it.
_METACHARACTERS = frozenset(" \t\n;&|()<>")


def _specification(options: list[tuple[str, str]]) -> Specification:
    made = Specification()
    for letter, value in options:
        if letter == "A" and value not in ACTIONS:
            raise BuiltinUsageError(f"{value}: invalid action name")
        if letter == "o" and value not in OPTIONS:
            raise BuiltinUsageError(f"{value}: invalid option name")
        if letter == "F" and any(char in _METACHARACTERS for char in value):
            raise BuiltinUsageError(f"`{value}': not a valid identifier")
        made.apply(letter, value)
    return made


def _write(shell: Interpreter, lines: list[str]) -> None:
    if lines:
        shell.output(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _line(shell: Interpreter, name: str) -> str:
    words = ["complete", shell.completions[name], _SPECIAL_OPTIONS.get(name, name)]
    return " ".join(word for word in words if word)


def _listed(shell: Interpreter) -> list[str]:
    """The commands with a specification in the order of bash's table."""
    newest = list(reversed(shell.completions))
    return [_line(shell, name) for name in sorted(newest, key=lambda name: bucket(name, _BUCKETS))]


@builtin("complete")
def complete(shell: Interpreter, argv: list[str]) -> int:
    """Say how the arguments of commands are completed, or show what was said."""
    options, names = options_of(argv, _LETTERS + "prDEI")
    letters = {letter for letter, _ in options}
    special = [_SPECIAL[letter] for letter in "IED" if letter in letters]
    names = special[-1:] or names
    made = _specification([pair for pair in options if pair[0] not in "prDEI"])
    if "r" in letters:
        if not names or not shell.completions:
            # Without a table of specifications there is nothing to miss.
            shell.completions.clear()
            return 0
        return _each(shell, "complete", names, lambda name: shell.completions.pop(name))
    if "p" in letters or not (names or letters):
        if not names:
            _write(shell, _listed(shell))
        return _each(shell, "complete", names, lambda name: _write(shell, [_line(shell, name)]))
    if not names:
        return usage(shell, "complete")
    for name in names:
        shell.completions.pop(name, None)
        shell.completions[name] = made.text()
    return 0


def _each(shell: Interpreter, command: str, names: list[str], action: object) -> int:
    """Do something for each command that has a specification."""
    assert callable(action)
    status = 0
    for name in names:
        if name in shell.completions:
            action(name)
        else:
            shell.complain(f"{command}: {name}: no completion specification")
            status = 1
    return status


@builtin("compgen")
def compgen(shell: Interpreter, argv: list[str]) -> int:
    """Write what a specification gives for a word."""
    options, words = options_of(argv, _LETTERS)
    made = _specification(options)
    if not options:
        return 0
    for letter, value in (("F", made.function), ("C", made.command)):
        if value is not None and not shell.interactive:
            shell.complain(f"compgen: warning: -{letter} option may not work as you expect")
    found = candidates(shell, made, words[0] if words else "")
    _write(shell, found)
    return 0 if found else 1


@builtin("compopt")
def compopt(shell: Interpreter, argv: list[str]) -> int:
    """Change or show the options of specifications."""
    options, names = options_of(argv, "o:DEI", plus=True)
    for letter, value in options:
        if letter.endswith("o") and value not in OPTIONS:
            raise BuiltinUsageError(f"{value}: invalid option name")
    special = [_SPECIAL[letter] for letter, _ in options if letter in _SPECIAL]
    names = special[-1:] or names
    if not names:
        raise BuiltinUsageError("not currently executing completion function", 1)

    def change(name: str) -> None:
        specification = Specification.read(shell.completions[name])
        changes = [(letter, value) for letter, value in options if letter.endswith("o")]
        for letter, value in changes:
            if letter == "o":
                specification.options.add(value)
            else:
                specification.options.discard(value)
        if changes:
            shell.completions[name] = specification.text()
        else:
            shown = [f"{'-' if one in specification.options else '+'}o {one}" for one in OPTIONS]
            _write(shell, [" ".join(["compopt", *shown, _SPECIAL_OPTIONS.get(name, name)])])

    return _each(shell, "compopt", names, change)
