"""`cd`, `pwd`, `pushd`, `popd` and `dirs`. The working directory is the shell's own, not the process's."""

from __future__ import annotations

import os

from planaria_shell.builtins.registry import BuiltinUsageError, OptionError, builtin, options_of
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.streams import flush_all
from planaria_shell.state.variable import EXPORT, Variable, is_name


def _change(shell: Interpreter, command: str, name: str, *, physical: bool) -> bool:
    """Make `name` the working directory; reports the error and returns False when it cannot be."""
    flush_all()
    path = shell.path(name) if name else shell.cwd
    if name.startswith("..") and not os.path.isdir(shell.cwd):
        path = os.path.normpath(path)  # out of a directory that has no name any more
    target = None if physical else _logical(path)
    if target is None or not os.path.isdir(target):
        target = os.path.realpath(path)
    try:
        os.stat(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and name == ".":
            # It is where the shell is, although it has no name any more.
            shell.error_output(
                f"{command}: error retrieving current directory: getcwd: cannot access parent directories: "
                f"{error.strerror}\n"
            )
            _enter(shell, os.path.join(shell.cwd, name))
            return True
        shell.complain(f"{command}: {name}: {error.strerror}")
        return False
    if not os.path.isdir(target):
        shell.complain(f"{command}: {name}: Not a directory")
        return False
    _enter(shell, target)
    return True


def _logical(path: str) -> str | None:
    """An absolute path without `.` and `..`; None where a `..` has no directory before it."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            if not os.path.isdir("/" + "/".join(parts)):
                return None
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    lead = "//" if path.startswith("//") and not path.startswith("///") else "/"
    return lead + "/".join(parts)


def _enter(shell: Interpreter, target: str) -> None:
    old = shell.cwd
    shell.cwd = target
    _remember(shell, "OLDPWD", shell.variables.get("PWD") or old)
    _remember(shell, "PWD", target)


def _remember(shell: Interpreter, name: str, value: str) -> None:
    if name not in shell.table:
        shell.table[name] = Variable(value, EXPORT)
    else:
        shell.variables.set(name, value)


def _line(shell: Interpreter, text: str) -> None:
    shell.output((text + "\n").encode("utf-8", "surrogateescape"))


@builtin("cd")
def cd(shell: Interpreter, argv: list[str]) -> int:
    if shell.restricted:
        raise BuiltinUsageError("restricted", 1)
    options, words = options_of(argv, "LPe")
    physical = shell.physical
    for letter, _ in options:
        if letter in "LP":
            physical = letter == "P"
    if len(words) > 1:
        raise BuiltinUsageError("too many arguments", 1)
    show = False
    if not words:
        home = shell.variables.get("HOME")
        if home is None:
            raise BuiltinUsageError("HOME not set", 1)
        name = home
    else:
        name = words[0]
        if name == "-":
            old = shell.variables.get("OLDPWD")
            if old is None:
                raise BuiltinUsageError("OLDPWD not set", 1)
            name = old
            show = True
        elif not name.startswith(("/", "./", "../")) and name not in (".", ".."):
            for directory in (shell.variables.get("CDPATH") or "").split(":"):
                candidate = os.path.join(directory, name)
                if os.path.isdir(shell.path(candidate)):
                    name = candidate
                    show = bool(directory)
                    break
    if not name:
        if show:
            _line(shell, "")
        return 0
    if (
        "cdable_vars" in shell.shopts
        and words
        and is_name(name)
        and not os.path.isdir(shell.path(name))
        and (value := shell.variables.get(name))
    ):
        name = value
        show = True
    if not _change(shell, "cd", name, physical=physical):
        return 1
    if show:
        _line(shell, shell.cwd)
    return 0


@builtin("pwd")
def pwd(shell: Interpreter, argv: list[str]) -> int:
    options, _ = options_of(argv, "LP")
    physical = shell.physical
    for letter, _value in options:
        physical = letter == "P"
    _line(shell, os.path.realpath(shell.cwd) if physical else shell.cwd)
    return 0


def _short(shell: Interpreter, path: str) -> str:
    home = shell.variables.get("HOME")
    if home and home != "/" and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def _rotation(shell: Interpreter, word: str, shown: str = "") -> int:
    """The place in the stack that `+N` or `-N` means."""
    count = len(shell.directories) + 1
    number = int(word[1:])
    place = number if word[0] == "+" else count - 1 - number
    if not 0 <= place < count:
        raise BuiltinUsageError(f"{shown or word}: directory stack index out of range", 1)
    return place


def _is_rotation(word: str) -> bool:
    if word[:1] not in ("+", "-") or len(word) < 2:
        return False
    if not word[1:].isdecimal():
        raise OptionError(f"{word}: invalid number")
    return True


def _show(shell: Interpreter) -> None:
    _line(shell, " ".join(_short(shell, path) for path in [shell.cwd, *shell.directories]))


@builtin("pushd")
def pushd(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    stay = "-n" in words[:1]
    if stay:
        words = words[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if not words:
        if not shell.directories:
            raise BuiltinUsageError("no other directory", 1)
        top = shell.directories[0]
        old = shell.cwd
        if not _change(shell, "pushd", top, physical=False):
            return 1
        shell.directories[0] = old
    elif _is_rotation(words[0]):
        if not shell.directories and int(words[0][1:]):
            raise BuiltinUsageError("directory stack empty", 1)
        place = _rotation(shell, words[0])
        stack = [shell.cwd, *shell.directories]
        stack = stack[place:] + stack[:place]
        if not stay and not _change(shell, "pushd", stack[0], physical=False):
            return 1
        shell.directories = stack[1:]
    elif len(words) > 1:
        raise BuiltinUsageError("too many arguments", 1)
    elif stay:
        shell.directories.insert(0, shell.path(words[0]))
    else:
        old = shell.cwd
        name = words[0]
        if name == "-":
            name = shell.variables.get("OLDPWD") or "-"
        if not _change(shell, "pushd", name, physical=False):
            return 1
        if words[0] == "-":
            _line(shell, shell.cwd)
        shell.directories.insert(0, old)
    _show(shell)
    return 0


@builtin("popd")
def popd(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    stay = "-n" in words[:1]
    if stay or words[:1] == ["--"]:
        words = words[1:]
    if words and not _is_rotation(words[0]):
        raise OptionError(f"{words[0]}: invalid argument")
    if not shell.directories:
        raise BuiltinUsageError("directory stack empty", 1)
    place = _rotation(shell, words[0]) if words else 0
    if place == 0 and not stay:
        if not _change(shell, "popd", shell.directories[0], physical=False):
            return 1
        shell.directories.pop(0)
    else:
        shell.directories.pop(max(place - 1, 0))
    _show(shell)
    return 0


@builtin("dirs")
def dirs(shell: Interpreter, argv: list[str]) -> int:
    long = each = numbered = False
    place: int | None = None
    for word in argv[1:]:
        if word == "--":
            break
        if word.startswith("-") and word[1:] and set(word[1:]) <= set("clpv"):
            if "c" in word:
                shell.directories = []
                return 0
            long = long or "l" in word
            each = each or "p" in word
            numbered = numbered or "v" in word
        elif _is_rotation(word):
            if not shell.directories and word[1:].lstrip("0"):
                raise BuiltinUsageError("directory stack empty", 1)
            place = _rotation(shell, word, word[1:])
        else:
            raise OptionError(f"{word}: invalid option")
    stack = [path if long else _short(shell, path) for path in [shell.cwd, *shell.directories]]
    numbers = range(len(stack))
    if place is not None:
        stack, numbers = [stack[place]], range(place, place + 1)
    if numbered:
        lines = [f"{number:2d}  {path}" for number, path in zip(numbers, stack, strict=True)]
        _line(shell, "\n".join(lines))
    else:
        _line(shell, ("\n" if each else " ").join(stack))
    return 0
