"""Arguments of a command from checked values: no value can be taken for an option."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from planaria.workspace.tools.definition import CommandDefinition, OptionDefinition

__all__ = ["build_argv"]

#: Commands for which `--` is a value like any other, or does not end their options.
_WITHOUT_DOUBLE_DASH: Final = frozenset(
    {"[", "convert", "dd", "echo", "expr", "ffmpeg", "ffprobe", "find", "java", "magick", "openssl", "test"}
)


def build_argv(program: str, definition: CommandDefinition, values: Mapping[str, Any]) -> list[str]:
    """The options and then the positional arguments for a program.

    `values` are by the names in the definition. Raises ValueError, which begins with the parameter's name,
    for a value that this command would take for an option.
    """
    argv: list[str] = []
    prefixes = tuple(definition.option_prefixes)
    for name, option in definition.arguments.options.items():
        value = values.get(name)
        if value is None or value is False:
            continue
        flag = _flag(name, option)
        if option.type == "boolean":
            argv.append(flag)
            continue
        for one in value if option.type == "array" else [value]:
            try:
                argv += _given(flag, _text(one), option.form, prefixes)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    operands: list[str] = []
    for positional in definition.arguments.positional:
        value = values.get(positional.name)
        if value is None:
            continue
        for one in value if positional.type == "array" else [value]:
            operand = _text(one)
            if operand.startswith(prefixes):
                _check_operand(program, definition, positional.name, operand)
            operands.append(operand)
    if _wants_double_dash(definition, operands):
        argv.append("--")
    return argv + operands


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _flag(name: str, option: OptionDefinition) -> str:
    if option.flag is not None:
        return option.flag
    if option.short is not None:
        return f"-{option.short}"
    return f"--{name}" if len(name) > 1 else f"-{name}"


def _given(flag: str, value: str, form: str, prefixes: tuple[str, ...]) -> list[str]:
    """An option with its value."""
    looks_like_option = value.startswith(prefixes)
    if form == "separate" or (form == "auto" and not looks_like_option):
        if looks_like_option:
            raise ValueError(
                f"{flag} takes no value that begins with {value[0]!r}, which is that of an option"
            )
        return [flag, value]
    if flag.startswith("--"):
        return [f"{flag}={value}"]
    if len(flag) == 2:
        # Joined to an empty value it would take the next argument for it.
        return [flag + value] if value else [flag, value]
    if form == "auto":
        raise ValueError(f"{flag} takes no value that begins with {value[0]!r}, which is that of an option")
    return [f"{flag}={value}"]


def _check_operand(program: str, definition: CommandDefinition, name: str, operand: str) -> None:
    program = PurePath(program).name
    knows = definition.double_dash != "never" and not (
        definition.double_dash == "auto" and program in _WITHOUT_DOUBLE_DASH
    )
    if not (knows and operand[0] == "-"):
        raise ValueError(f"{name}: {program} would read a value that begins with {operand[0]!r} as an option")


def _wants_double_dash(definition: CommandDefinition, operands: list[str]) -> bool:
    if definition.double_dash == "auto":
        return any(operand.startswith("-") for operand in operands)
    return definition.double_dash == "always" and bool(operands)
