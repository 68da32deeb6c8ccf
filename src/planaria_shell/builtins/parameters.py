"""`shift`, `let`, `getopts`, `caller` and `times`."""

from __future__ import annotations

import time

from planaria_shell.builtins.registry import (
    BuiltinUsageError,
    OptionError,
    builtin,
    no_more,
    operands_of,
    usage,
)
from planaria_shell.errors import ReadonlyError
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.variable import READONLY, is_name


@builtin("shift")
def shift(shell: Interpreter, argv: list[str]) -> int:
    count = 1
    if len(argv) > 1:
        if not argv[1].lstrip("+-").isdecimal():
            raise BuiltinUsageError(f"{argv[1]}: numeric argument required", 1)
        count = int(argv[1])
        no_more("shift", argv[2:])
    if count < 0:
        raise BuiltinUsageError(f"{argv[1]}: shift count out of range", 1)
    if count > len(shell.positional):
        if "shift_verbose" in shell.shopts or shell.posix:
            shell.complain(f"shift: {count}: shift count out of range")
        return 1
    if count:
        shell.positional = shell.positional[count:]
    return 0


@builtin("let")
def let(shell: Interpreter, argv: list[str]) -> int:
    words = argv[1:]
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        raise BuiltinUsageError("expression expected", 1)
    value = 0
    for word in words:
        value = shell.evaluate(word)
    return 0 if value else 1


def _forget_argument(shell: Interpreter) -> None:
    variable = shell.table.get("OPTARG")
    if variable is not None and not variable.flags & READONLY:
        shell.variables.unset("OPTARG")


def _assign(shell: Interpreter, name: str, value: str) -> None:
    if not is_name(name):
        raise BuiltinUsageError(f"`{name}': not a valid identifier", 1)
    try:
        shell.variables.set(name, value)
    except ReadonlyError as error:
        error.status = 2
        raise


@builtin("getopts")
def getopts(shell: Interpreter, argv: list[str]) -> int:
    words = operands_of(argv)
    if len(words) < 2:
        return usage(shell, "getopts")
    spec, name = words[0], words[1]
    arguments = words[2:] if len(words) > 2 else shell.positional
    silent = spec.startswith(":")
    variables = shell.variables
    index_text = variables.get("OPTIND") or "1"
    index = int(index_text) if index_text.isdecimal() else 1
    offset = shell.getopts_offset
    index = min(max(index, 1), len(arguments) + 1)

    def done() -> int:
        variables.set("OPTIND", str(index))
        shell.getopts_offset = 1
        _assign(shell, name, "?")
        _forget_argument(shell)
        return 1

    if index > len(arguments):
        return done()
    word = arguments[index - 1]
    if offset == 1:
        if len(word) < 2 or word[0] != "-":
            return done()
        if word == "--":
            index += 1
            return done()
    if offset >= len(word):
        offset = 1
    letter = word[offset]
    offset += 1
    at_end = offset >= len(word)
    place = spec.find(letter)
    complaining = not silent and (variables.get("OPTERR") or "1") != "0"
    script = shell.script or shell.name
    if place < 0 or letter == ":":
        if at_end:
            index, offset = index + 1, 1
        variables.set("OPTIND", str(index))
        shell.getopts_offset = offset
        _assign(shell, name, "?")
        if silent:
            variables.set("OPTARG", letter)
        else:
            _forget_argument(shell)
            if complaining:
                shell.error_output(f"{script}: illegal option -- {letter}\n")
        return 0
    if spec[place + 1 : place + 2] == ":":
        if not at_end:
            value = word[offset:]
            index += 1
        elif index < len(arguments):
            value = arguments[index]
            index += 2
        else:
            index += 1
            variables.set("OPTIND", str(index))
            shell.getopts_offset = 1
            if silent:
                _assign(shell, name, ":")
                variables.set("OPTARG", letter)
            else:
                _assign(shell, name, "?")
                _forget_argument(shell)
                if complaining:
                    shell.error_output(f"{script}: option requires an argument -- {letter}\n")
            return 0
        variables.set("OPTIND", str(index))
        shell.getopts_offset = 1
        variables.set("OPTARG", value)
        _assign(shell, name, letter)
        return 0
    if at_end:
        index, offset = index + 1, 1
    variables.set("OPTIND", str(index))
    shell.getopts_offset = offset
    _forget_argument(shell)
    _assign(shell, name, letter)
    return 0


@builtin("caller")
def caller(shell: Interpreter, argv: list[str]) -> int:
    frames = shell.frames
    depth = None
    words = operands_of(argv)
    if words and (frames or shell.script):
        if not words[0].isdecimal():
            raise OptionError(f"{words[0]}: invalid number")
        depth = int(words[0])
    elif words:
        return 1
    place = len(frames) - 1 - (depth or 0)
    if not frames and depth is None:
        if not shell.script:
            return 1
        shell.output(b"0 NULL\n")
        return 0
    if place < 0:
        return 1
    frame = frames[place]
    outer = frames[place - 1] if place > 0 else None
    source = outer.source if outer is not None else (shell.script or "NULL")
    if depth is None:
        shell.output(f"{frame.line} {source}\n".encode())
    else:
        if outer is None and not shell.script:
            return 1
        shell.output(f"{frame.line} {outer.name if outer is not None else 'main'} {source}\n".encode())
    return 0


@builtin("times")
def times(shell: Interpreter, argv: list[str]) -> int:
    operands_of(argv)
    used = time.process_time()
    text = f"{int(used // 60)}m{used % 60:.3f}s 0m0.000s\n0m0.000s 0m0.000s\n"
    shell.output(text.encode())
    return 0
