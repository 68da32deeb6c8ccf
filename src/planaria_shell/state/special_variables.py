"""Variables that the shell computes or watches (Bash Reference Manual, section 5.2)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from planaria_shell.state.history import shorten_history
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.random_numbers import Random
from planaria_shell.state.variable import (
    ASSOCIATIVE,
    DYNAMIC,
    EXPORT,
    HOOKED,
    INDEXED,
    INTEGER,
    READONLY,
    Variable,
)
from planaria_shell.state.variables import Variables
from planaria_shell.syntax.nodes import Case, For, Select
from planaria_shell.syntax.printing import heading_of, source_of

__all__ = ["HOST", "Random", "define", "set_locale"]

#: The name of the machine: of this sandbox.
HOST: Final = "planaria"
VERSION = "5.2.15(1)-release"
_LOADABLES = "/usr/local/lib/bash:/usr/lib/bash:/opt/local/lib/bash:/usr/pkg/lib/bash:/opt/pkg/lib/bash:."
_VERSION_INFO = ("5", "2", "15", "1", "release", "x86_64-pc-linux-gnu")


def _seconds(shell: Interpreter) -> str:
    return str(int(time.time() - shell.seconds_since))


def _set_seconds(shell: Interpreter, value: str | None) -> None:
    shell.seconds_since = time.time() - (int(value) if value and value.lstrip("-").isdecimal() else 0)


def _set_random(shell: Interpreter, value: str | None) -> None:
    text = (value or "0").strip()
    shell.random = Random(int(text) if text.lstrip("-").isdecimal() else 0)


def _functions(shell: Interpreter) -> dict[int, str]:
    names = [frame.name for frame in reversed(shell.frames)]
    if not shell.function_depth:
        return {}
    if shell.script:
        names.append("main")
    return dict(enumerate(names))


def _sources(shell: Interpreter) -> dict[int, str]:
    names = [frame.source for frame in reversed(shell.frames)]
    if shell.script:
        names.append(shell.script)
    return dict(enumerate(names))


def _lines(shell: Interpreter) -> dict[int, str]:
    lines = [str(frame.line) for frame in reversed(shell.frames)]
    if shell.script:
        lines.append("0")
    return dict(enumerate(lines))


def _arguments(shell: Interpreter) -> dict[int, str]:
    values = [text for frame in reversed(shell.frames) for text in reversed(frame.arguments)]
    return dict(enumerate(values))


def _argument_counts(shell: Interpreter) -> dict[int, str]:
    counts = [str(len(frame.arguments)) for frame in reversed(shell.frames)]
    if "extdebug" in shell.shopts:
        counts.append("0")
    return dict(enumerate(counts))


def _statuses(shell: Interpreter) -> dict[int, str]:
    statuses = shell.pipe_statuses
    if statuses is None:
        return {0: str(shell.status)}
    return {place: str(status) for place, status in enumerate(statuses)}


def _history_number(shell: Interpreter) -> str:
    if not shell.history_enabled and not shell.history:
        return "0"
    return str(len(shell.history) + shell.history_base - shell.history_enabled)


def _set_ifs(shell: Interpreter, value: str | None) -> None:
    shell.ifs = " \t\n" if value is None else value


def set_locale(shell: Interpreter, value: str | None = None) -> None:
    """Follow the variables that name the locale, one of which has been assigned."""
    names = (shell.variables.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    shell.bytewise = next((name for name in names if name), "") in ("C", "POSIX")


def _set_ignored_names(shell: Interpreter, value: str | None) -> None:
    if value:
        shell.shopts.add("dotglob")
    elif value is None:
        shell.shopts.discard("dotglob")


def _set_trace(shell: Interpreter, value: str | None) -> None:
    number = int(value) if value and value.isdecimal() else -1
    shell.trace_descriptor = number if number in shell.fds else None
    if value and shell.trace_descriptor is None:
        shell.complain(f"BASH_XTRACEFD: {value}: invalid value for trace file descriptor")


def _set_path(shell: Interpreter, value: str | None) -> None:
    shell.hashed.clear()
    shell.hash_hits.clear()


def _set_posix(shell: Interpreter, value: str | None) -> None:
    shell.posix = value is not None
    if shell.posix:
        shell.shopts.add("expand_aliases")
    elif not shell.interactive:
        shell.shopts.discard("expand_aliases")


def _set_optind(shell: Interpreter, value: str | None) -> None:
    shell.getopts_offset = 1


def _set_name(shell: Interpreter, value: str | None) -> None:
    shell.name = value or ""


def _set_directories(shell: Interpreter, elements: dict[str, str]) -> None:
    # The first is the working directory, which only `cd` changes.
    shell.directories = [value for key, value in elements.items() if key != "0"]


def _set_aliases(shell: Interpreter, elements: dict[str, str]) -> None:
    shell.aliases = dict(elements)


def _set_commands(shell: Interpreter, elements: dict[str, str]) -> None:
    known = shell.hashed
    shell.hashed = {}
    for name, path in elements.items():
        same = name in known and known[name][0] == path
        shell.hashed[name] = known[name] if same else shell.find_command(path) or (path, None)


def _command(shell: Interpreter) -> str:

    node = shell.trapped or shell.node
    if node is None or isinstance(node, str):
        return node or ""
    return heading_of(node) if isinstance(node, For | Select | Case) else source_of(node)


_GETTERS: dict[str, Callable[[Interpreter], str]] = {
    "RANDOM": lambda shell: str(shell.random.next()),
    "SRANDOM": lambda shell: str(shell.random.next_wide()),
    "SECONDS": _seconds,
    "EPOCHSECONDS": lambda shell: str(int(time.time())),
    "EPOCHREALTIME": lambda shell: f"{time.time():.6f}",
    "LINENO": lambda shell: str(shell.line - shell.line_offset),
    "BASHPID": lambda shell: str(shell.own_process_id),
    "BASH_SUBSHELL": lambda shell: str(shell.subshell_level),
    "BASH_COMMAND": _command,
    "BASHOPTS": lambda shell: ":".join(sorted(shell.shopts)),
    "SHELLOPTS": lambda shell: ":".join(shell.options_on()),
    # Of an array that is assigned by `declare` its name alone.
    "_": lambda shell: getattr(shell.last_argument, "name", shell.last_argument),
    "COLUMNS_": lambda shell: "80",
    "BASH_ARGV0": lambda shell: shell.name,
    "HISTCMD": _history_number,
}


def _groups() -> list[str]:
    first = os.getegid()
    return [str(number) for number in (first, *(one for one in os.getgroups() if one != first))]


_ARRAYS: dict[str, Callable[[Interpreter], dict[int, str] | dict[str, str]]] = {
    "FUNCNAME": _functions,
    "BASH_SOURCE": _sources,
    "BASH_LINENO": _lines,
    "BASH_ARGV": _arguments,
    "BASH_ARGC": _argument_counts,
    "PIPESTATUS": _statuses,
    "DIRSTACK": lambda shell: dict(enumerate([shell.cwd, *shell.directories])),
    "GROUPS": lambda shell: dict(enumerate(_groups())),
    "BASH_ALIASES": lambda shell: dict(shell.aliases),
    "BASH_CMDS": lambda shell: {name: path for name, (path, _) in shell.hashed.items()},
}
_SETTERS: dict[str, Callable[[Interpreter, str | None], None]] = {
    "RANDOM": _set_random,
    "SECONDS": _set_seconds,
    "IFS": _set_ifs,
    "LC_ALL": set_locale,
    "LC_CTYPE": set_locale,
    "LANG": set_locale,
    "GLOBIGNORE": _set_ignored_names,
    "PATH": _set_path,
    "OPTIND": _set_optind,
    "POSIXLY_CORRECT": _set_posix,
    "BASH_ARGV0": _set_name,
    "HISTSIZE": lambda shell, value: shorten_history(shell, value or "", renumber=True),
    "BASH_XTRACEFD": _set_trace,
}
del _GETTERS["COLUMNS_"]
Variables.getters = _GETTERS
Variables.listed = frozenset(
    [
        "BASHOPTS",
        "SHELLOPTS",
        "_",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_LINENO",
        "BASH_SOURCE",
        "FUNCNAME",
        "PIPESTATUS",
    ]
)
Variables.array_getters = _ARRAYS
Variables.setters = _SETTERS
Variables.array_setters = {
    "DIRSTACK": _set_directories,
    "BASH_ALIASES": _set_aliases,
    "BASH_CMDS": _set_commands,
}


def define(shell: Interpreter) -> None:
    """Put the special variables into a new shell."""
    table = shell.table
    for name in _GETTERS:
        table[name] = Variable(None, DYNAMIC)
    for name in ("RANDOM", "SRANDOM", "SECONDS", "BASHPID", "HISTCMD"):
        table[name].flags |= INTEGER
    for name in ("SHELLOPTS", "BASHOPTS"):
        table[name].flags |= READONLY
    for name in _ARRAYS:
        flag = ASSOCIATIVE if name in ("BASH_ALIASES", "BASH_CMDS") else INDEXED
        table[name] = Variable(None, DYNAMIC | flag)
    table["IFS"] = Variable(" \t\n", HOOKED)
    table["OPTIND"] = Variable("1", HOOKED | INTEGER)
    table["OPTERR"] = Variable("1")
    table["PS4"] = Variable("+ ")
    table["COMP_WORDBREAKS"] = Variable(" \t\n\"'@><=;|&(:")
    table.setdefault("TERM", Variable("dumb"))
    table.setdefault("SHELL", Variable("/bin/bash"))
    table["BASH_LOADABLES_PATH"] = Variable(_LOADABLES)
    table["BASH"] = Variable("/usr/bin/bash")
    table["BASH_VERSION"] = Variable(VERSION)
    info = Variable(None, INDEXED | READONLY)
    info.array = dict(enumerate(_VERSION_INFO))
    table["BASH_VERSINFO"] = info
    table["HOSTNAME"] = Variable(HOST)
    table["HOSTTYPE"] = Variable("x86_64")
    table["MACHTYPE"] = Variable("x86_64-pc-linux-gnu")
    table["OSTYPE"] = Variable("linux-gnu")
    for name, number in (("UID", os.getuid()), ("EUID", os.geteuid())):
        table[name] = Variable(str(number), INTEGER | READONLY)
    table["PPID"] = Variable("1", INTEGER | READONLY)
    level = table.get("SHLVL")
    depth = level.value if level is not None else None
    table["SHLVL"] = Variable(str(int(depth) + 1 if depth and depth.isdecimal() else 1), EXPORT)
    set_locale(shell)
    shell.posix = "POSIXLY_CORRECT" in table
    if "GLOBIGNORE" in table:
        _set_ignored_names(shell, table["GLOBIGNORE"].value)
