"""A shell's state as a JSON document, and back: for debugging and for other tools."""

from __future__ import annotations

import math
import re
import time
from typing import Any

from planaria_shell.builtins import BUILTINS
from planaria_shell.compile.program import Program
from planaria_shell.errors import ShellSyntaxError
from planaria_shell.state.builtin import builtins_without
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.options import SET_OPTIONS, SHOPT_OPTIONS
from planaria_shell.state.resources import FROM_THE_START, Bounds
from planaria_shell.state.signals import signal_name
from planaria_shell.state.special_variables import set_locale
from planaria_shell.state.variable import ASSOCIATIVE, DYNAMIC, HOOKED, INDEXED, Variable, is_name
from planaria_shell.syntax.nodes import Function
from planaria_shell.syntax.parser import parser_of
from planaria_shell.syntax.printing import function_source

__all__ = ["VERSION", "StateError", "apply_state", "state_of"]

VERSION = 1


class StateError(ValueError):
    """The document is not a shell's state, or not one of this version."""


def state_of(shell: Interpreter) -> dict[str, Any]:
    """Everything that lasts from one call to the next, except open descriptors and jobs that still run."""
    variables: dict[str, Any] = {}
    for name, variable in shell.table.items():
        if variable.flags & DYNAMIC:
            continue
        entry: dict[str, Any] = {"flags": variable.flags}
        if variable.array is not None:
            entry["array"] = [[key, value] for key, value in variable.array.items()]
        elif variable.value is not None:
            entry["value"] = variable.value
        variables[name] = entry
    return {
        "version": VERSION,
        "variables": variables,
        "functions": {
            name: {"source": function_source(name, body.node), "exported": body.exported, "file": body.source}
            for name, body in shell.functions.items()
        },
        "readonly_functions": sorted(shell.readonly_functions),
        "aliases": dict(shell.aliases),
        "options": list(shell.options_on()),
        "shopts": sorted(shell.shopts),
        "traps": dict(shell.traps),
        "positional": list(shell.positional),
        "name": shell.name,
        "script": shell.script,
        "reads_input": shell.reads_input,
        "cwd": shell.cwd,
        "umask": shell.umask,
        "limits": {letter: list(pair) for letter, pair in shell.bounds.items()},
        "directories": list(shell.directories),
        "history": list(shell.history),
        "status": shell.status,
        "last_background": shell.last_background,
        "last_argument": shell.last_argument,
        "disabled_builtins": sorted(shell.disabled_builtins),
        "completions": dict(shell.completions),
        "statuses": {str(number): status for number, status in shell.remembered_statuses.items()},
        "random": [shell.random.seed, shell.random.last],
        "seconds": time.time() - shell.seconds_since,
        "getopts_offset": shell.getopts_offset,
        "counters": [
            shell.counters.total_commands + shell.counters.commands, shell.counters.total_runs
        ],
    }  # fmt: skip


#: What no text of a shell holds.
_NUL = "\0"
_LARGEST = (1 << 63) - 1
_HIGHEST_STATUS = 255
_ALIAS = re.compile(r"[^\s/$`='\"\\|&;()<>]+\Z")


def _expect(document: dict[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    value = document.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise StateError(f"shell state: {key!r} is missing or not of the right type")
    return value


def _texts(document: dict[str, Any], key: str) -> list[str]:
    values = _expect(document, key, list)
    if not all(isinstance(value, str) and _NUL not in value for value in values):
        raise StateError(f"shell state: {key!r} must hold texts only")
    return list(values)


def _text_map(document: dict[str, Any], key: str) -> dict[str, str]:
    values = _expect(document, key, dict)
    if not all(isinstance(text, str) and _NUL not in text for pair in values.items() for text in pair):
        raise StateError(f"shell state: {key!r} must hold texts only")
    return dict(values)


def _numbers(document: dict[str, Any], key: str, count: int) -> list[int]:
    values = _expect(document, key, list)
    if len(values) != count or not all(type(value) is int for value in values):
        raise StateError(f"shell state: {key!r} must hold {count} whole numbers")
    return list(values)


def _bounds(document: dict[str, Any]) -> Bounds:
    given = document.get("limits", {})  # documents of earlier releases have none
    if not isinstance(given, dict) or not given.keys() <= FROM_THE_START.keys():
        raise StateError("shell state: 'limits' must map letters of ulimit to pairs")
    for letter, pair in given.items():
        if not (
            isinstance(pair, list)
            and len(pair) == 2
            and all(one is None or (type(one) is int and one >= 0) for one in pair)
            and (pair[1] is None or (pair[0] is not None and pair[0] <= pair[1]))
        ):
            raise StateError(f"shell state: the limits of {letter!r} are not a soft and a hard one")
    bounds = {**FROM_THE_START, **{letter: (pair[0], pair[1]) for letter, pair in given.items()}}
    return FROM_THE_START if bounds == FROM_THE_START else bounds


def _variables(document: dict[str, Any]) -> dict[str, Variable]:
    result: dict[str, Variable] = {}
    for name, entry in _expect(document, "variables", dict).items():
        if not isinstance(entry, dict) or type(entry.get("flags")) is not int:
            raise StateError(f"shell state: variable {name!r} is not well formed")
        if not is_name(name):
            raise StateError(f"shell state: {name!r} cannot name a variable")
        if not 0 <= entry["flags"] < 2 * HOOKED:
            raise StateError(f"shell state: the attributes of {name!r} are unknown")
        flags = entry["flags"] & ~DYNAMIC
        value = entry.get("value")
        if value is not None and (not isinstance(value, str) or _NUL in value):
            raise StateError(f"shell state: the value of {name!r} is not a text")
        variable = Variable(value, flags)
        if "array" in entry:
            pairs = entry["array"]
            if not flags & (INDEXED | ASSOCIATIVE) or not isinstance(pairs, list) or not all(
                isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0], flags)
                and isinstance(pair[1], str) and _NUL not in pair[1] for pair in pairs
            ):  # fmt: skip
                raise StateError(f"shell state: the array {name!r} is not well formed")
            variable.array = {pair[0]: pair[1] for pair in pairs}
            if len(variable.array) < len(pairs):
                raise StateError(f"shell state: the array {name!r} has an element twice")
            variable.ordered = flags & ASSOCIATIVE != 0 or list(variable.array) == sorted(variable.array)
        result[name] = variable
    return result


def _is_key(key: Any, flags: int) -> bool:
    """Whether an array with these attributes can have this key."""
    if flags & ASSOCIATIVE:
        return isinstance(key, str) and _NUL not in key
    return type(key) is int and 0 <= key <= _LARGEST + 1  # what `+=` adds may be one more


def _in_range(document: dict[str, Any], key: str, least: int, most: int) -> int:
    value: int = _expect(document, key, int)
    if not least <= value <= most:
        raise StateError(f"shell state: {key!r} must be from {least} to {most}, not {value}")
    return value


def _functions(document: dict[str, Any]) -> dict[str, FunctionBody]:
    result: dict[str, FunctionBody] = {}
    for name, entry in _expect(document, "functions", dict).items():
        if not isinstance(entry, dict) or not isinstance(entry.get("source"), str):
            raise StateError(f"shell state: function {name!r} is not well formed")
        parser = parser_of(entry["source"], extglob=True)
        try:
            unit = parser.unit()
            more = parser.unit()
        except ShellSyntaxError as error:
            raise StateError(f"shell state: function {name!r}: {error.message}") from None
        node = unit.items[0][0] if unit is not None and unit.items else None
        if unit is None or not isinstance(node, Function) or node.name != name:
            raise StateError(f"shell state: the source of function {name!r} does not define it")
        if more is not None or len(unit.items) > 1:
            raise StateError(f"shell state: the source of function {name!r} does more than define it")
        if not isinstance(entry.get("exported", False), bool) or not isinstance(entry.get("file", ""), str):
            raise StateError(f"shell state: function {name!r} is not well formed")
        body = FunctionBody(node, Program("", 1).compiler)
        body.exported = entry.get("exported", False)
        body.source = entry.get("file", "")
        result[name] = body
    return result


def apply_state(shell: Interpreter, document: dict[str, Any]) -> None:
    """Put a state into a shell. All of it is checked first: on `StateError` the shell is as it was."""
    if (
        not isinstance(document, dict)
        or type(document.get("version")) is not int
        or document["version"] != VERSION
    ):
        raise StateError(f"shell state: this is not a document of version {VERSION}")
    variables = _variables(document)
    bounds = _bounds(document)
    functions = _functions(document)
    options = _texts(document, "options")
    shopts = _texts(document, "shopts")
    disabled = set(_texts(document, "disabled_builtins"))
    unknown = [name for name in disabled if name not in BUILTINS]
    if unknown:
        raise StateError(f"shell state: there are no builtins {', '.join(unknown)}")
    unknown = [name for name in options if name not in SET_OPTIONS] + [
        name for name in shopts if name not in SHOPT_OPTIONS
    ]
    if unknown:
        raise StateError(f"shell state: unknown options {', '.join(unknown)}")
    plain = {
        "umask": _in_range(document, "umask", 0, 0o777),
        "status": _in_range(document, "status", 0, _HIGHEST_STATUS),
        "last_background": _in_range(document, "last_background", 0, _LARGEST),
        "getopts_offset": _in_range(document, "getopts_offset", 0, _LARGEST),
    }
    texts = {key: _expect(document, key, str) for key in ("name", "cwd", "last_argument")}
    # Documents of earlier versions do not say where the commands come from.
    texts["script"] = _expect({"script": "", **document}, "script", str)
    plain["reads_input"] = _expect({"reads_input": False, **document}, "reads_input", bool)
    if any(_NUL in text for text in texts.values()) or not texts["cwd"].startswith("/"):
        raise StateError("shell state: 'name', 'cwd' and 'last_argument' are texts, and 'cwd' is absolute")
    lists = {key: _texts(document, key) for key in ("positional", "directories", "history")}
    maps = {key: _text_map(document, key) for key in ("aliases", "traps", "completions")}
    for name in maps["aliases"]:
        if not _ALIAS.match(name):
            raise StateError(f"shell state: {name!r} cannot name an alias")
    for name in maps["traps"]:
        if signal_name(name) != name:
            raise StateError(f"shell state: there is no signal {name!r} to have a trap")
    readonly = set(_texts(document, "readonly_functions"))
    if not readonly <= functions.keys():
        raise StateError("shell state: 'readonly_functions' contains a name that is not a function")
    random = _numbers(document, "random", 2)
    seconds = _expect(document, "seconds", (int, float))
    if not math.isfinite(seconds):
        raise StateError("shell state: 'seconds' is not a finite number")
    counters = _numbers(document, "counters", 2)
    if min(counters) < 0:
        raise StateError("shell state: 'counters' must not be negative")
    try:
        statuses = {int(number): int(one) for number, one in _expect(document, "statuses", dict).items()}
    except (TypeError, ValueError):
        raise StateError("shell state: 'statuses' must map numbers to numbers") from None
    table = shell.table
    for name in [name for name, variable in table.items() if not variable.flags & DYNAMIC]:
        del table[name]
    table.update(variables)
    for attribute in SET_OPTIONS.values():
        setattr(shell, attribute, False)
    for name in options:
        setattr(shell, SET_OPTIONS[name], True)
    for key, value in {**plain, **texts, **lists, **maps}.items():
        setattr(shell, key, value)
    shell.functions = functions
    shell.readonly_functions = readonly
    shell.shopts = set(shopts)
    shell.disabled_builtins = disabled
    shell.builtins = builtins_without(disabled)
    shell.random.seed, shell.random.last = random
    shell.seconds_since = time.time() - seconds
    shell.counters.total_commands = max(shell.counters.total_commands, counters[0])
    shell.counters.total_runs = max(shell.counters.total_runs, counters[1])
    shell.remembered_statuses = statuses
    if bounds != shell.bounds:
        shell.set_bounds(bounds)
    shell.outer_bounds = shell.bounds
    shell.hashed = {}
    shell.hash_hits.clear()
    shell.ifs = " \t\n" if "IFS" not in table else table["IFS"].value or ""
    set_locale(shell)
    shell.variables.new_flags = 1 if shell.allexport else 0
    shell.update_watching()
