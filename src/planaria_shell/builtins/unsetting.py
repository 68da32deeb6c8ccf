"""`unset`."""

from __future__ import annotations

from planaria_shell.builtins.registry import BuiltinUsageError, builtin, options_of
from planaria_shell.errors import ShellError
from planaria_shell.expand.subscripts import is_reference, key_of
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import ASSOCIATIVE, READONLY, is_name


@builtin("unset")
def unset(shell: Interpreter, argv: list[str]) -> int:
    options, operands = options_of(argv, "fvn")
    letters = {letter for letter, _ in options}
    if {"f", "v"} <= letters:
        raise BuiltinUsageError("cannot simultaneously unset a function and a variable", 1)
    status = 0
    for name in operands:
        try:
            _unset_one(shell, name, letters)
        except ShellError as error:
            if error.fatal:
                raise
            shell.complain(f"unset: {error.message}")
            status = 1
    return status


def _unset_one(shell: Interpreter, name: str, letters: set[str]) -> None:
    if "f" in letters:
        if name in shell.readonly_functions:
            raise ShellError(f"{name}: cannot unset: readonly function")
        shell.functions.pop(name, None)
        return
    if "n" in letters:
        variable = shell.table.get(name)
        if variable is not None and variable.flags & READONLY:
            raise ShellError(f"{name}: cannot unset: readonly variable")
        shell.variables.remove(name)
        return
    if name.endswith("]") and "[" in name:
        base, _, subscript = name[:-1].partition("[")
        if not is_name(base):
            raise ShellError(f"`{name}': not a valid identifier")
        variable = shell.variables.find(base)
        if subscript.isalnum():
            pass
        elif variable is not None and variable.flags & ASSOCIATIVE:
            if not is_reference(shell, name):
                return
            subscript = key_of(shell, subscript)
            if not subscript:
                raise ShellError(f"{name.removeprefix(base)}: bad array subscript")
        elif subscript not in ("@", "*"):
            subscript = shell.expand_text(subscript) if "$" in subscript else subscript
        shell.variables.unset_element(base, subscript)
        return
    if not is_name(name):
        if name in shell.functions and "v" not in letters:
            del shell.functions[name]
            return
        raise ShellError(f"`{name}': not a valid identifier")
    target, subscript_text = shell.variables.resolve(name)
    if subscript_text is not None:
        shell.variables.unset_element(target, subscript_text)
        return
    if target in shell.table:
        shell.variables.unset(target)
    elif "v" not in letters:
        if name in shell.readonly_functions:
            raise ShellError(f"{name}: cannot unset: readonly function")
        shell.functions.pop(name, None)
