"""Commands of the host as tools. No shell is involved."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planaria.errors import ToolArgumentError, ToolCallError, ToolTimeout
from planaria.workspace.tools.arguments import Argument, bind
from planaria.workspace.tools.argv import build_argv
from planaria.workspace.tools.definition import (
    CommandDefinition,
    Misfit,
    RecipeDefinition,
    RecipeParameter,
    StdinDefinition,
)
from planaria.workspace.tools.names import identifier, suggestion
from planaria.workspace.tools.process import Finished, run_process
from planaria.workspace.tools.redaction import Redaction
from planaria.workspace.tools.tool import Tool, ToolCallable
from planaria.workspace.tools.variables import ToolEnvironment

__all__ = ["CommandTool"]

_Place = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class _Function:
    """The tool itself, or a recipe."""

    shown: ToolCallable
    parameters: tuple[Argument, ...]
    preset: Mapping[str, Any]
    """What is given unless the caller says otherwise, by the names in the definition."""


class CommandTool(Tool):
    """A command, called by its recipes or, if the definition lets it be, directly.

    A call gives what the command writes to standard output, as text; bytes that are not UTF-8 come as
    surrogates. It raises ToolCallError when the command exits with another status than 0. Raises Misfit when
    the pieces of the definition do not fit together.
    """

    def __init__(
        self,
        definition: CommandDefinition,
        environment: ToolEnvironment | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__(definition.name, definition.description, definition.tags)
        self.definition = definition
        self._environment = environment or ToolEnvironment()
        self._variables = {"PYTHON": sys.executable}
        if folder is not None:
            self._variables["TOOL_DIR"] = str(folder)
        command = definition.command or definition.name
        self._command = (command,) if isinstance(command, str) else command
        self._functions = _functions(self.name, definition)

    @property
    def callables(self) -> tuple[ToolCallable, ...]:
        return tuple(function.shown for function in self._functions.values())

    def call(self, callable: str | None, arguments: Mapping[str, Any]) -> Coroutine[Any, Any, str]:  # noqa: A002
        """Check the arguments and give an awaitable that runs the command."""
        function = self._functions[self.find(callable).name]
        title = self.name if function.shown.name == self.name else f"{self.name}.{function.shown.name}"
        whole = self._functions.get(self.name)
        hint = f" (tools.{self.name}() takes all arguments)" if whole not in (None, function) else ""
        values = {**function.preset, **bind(title, function.parameters, arguments, hint)}
        stdin = self.definition.stdin
        fed = None if stdin is None else values.get(stdin.name)
        try:
            argv = build_argv(self._command[0], self.definition, values)
            for argument in argv:
                os.fsencode(argument)
            data = fed.encode("utf-8", "surrogateescape") if isinstance(fed, str) else fed
        except UnicodeEncodeError as error:
            raise ToolArgumentError(
                f"{title}(): half of a surrogate pair cannot be encoded: {error}"
            ) from None
        except ValueError as error:
            raise ToolArgumentError(f"{title}(): {error}") from None
        return self._run(title, argv, data)

    async def _run(self, title: str, argv: list[str], stdin: bytes | None) -> str:
        definition = self.definition
        redaction = Redaction.of_references(
            [*self._command, definition.cwd or "", *definition.env.values()],
            self._environment,
            known=self._variables,
        )
        # What is in an argument, or the directory, is in many an answer for good reason.
        hidden = Redaction.of_references(definition.env.values(), self._environment, known=self._variables)
        try:
            return str(hidden.of_value(await self._start(title, argv, stdin)))
        except ToolCallError as error:
            raise type(error)(
                redaction(str(error)),
                exit_code=error.exit_code,
                stdout=redaction(error.stdout),
                stderr=redaction(error.stderr),
            ) from None

    async def _start(self, title: str, argv: list[str], stdin: bytes | None) -> str:
        definition = self.definition
        substitute = self._environment.substitute
        command = [substitute(part, self._variables) for part in self._command]
        cwd = (
            None
            if definition.cwd is None
            else os.path.expanduser(substitute(definition.cwd, self._variables))
        )
        own = self._environment.substitute_all(definition.env, self._variables)
        environment = {**self._environment.base(), **own}
        try:
            finished = await run_process(
                [*command, *argv],
                stdin=stdin,
                cwd=cwd,
                env=environment,
                timeout=definition.timeout,
                max_bytes=definition.max_bytes,
            )
        except OSError as error:
            raise ToolCallError(_not_started(title, command[0], cwd, error)) from None
        return self._result(title, finished)

    def _result(self, title: str, finished: Finished) -> str:
        stdout, stderr = (
            bytes(data).decode("utf-8", "surrogateescape") for data in (finished.stdout, finished.stderr)
        )
        code = finished.exit_code
        if finished.stopped == "timeout":
            raise ToolTimeout(
                f"{title}() took longer than {self.definition.timeout:g} s and was killed",
                exit_code=code,
                stdout=stdout,
                stderr=stderr,
            )
        if finished.stopped is not None:
            what = "standard output" if finished.stopped == "stdout" else "standard error"
            raise ToolCallError(
                f"{title}() wrote more than max_bytes={self.definition.max_bytes} to {what} and was killed; "
                f"what came is in .stdout and .stderr",
                exit_code=code,
                stdout=stdout,
                stderr=stderr,
            )
        if code:
            last = stderr.strip()[-1000:]
            raise ToolCallError(
                f"{title}() {_ending(code)}{': ' if last else ''}{last}",
                exit_code=code,
                stdout=stdout,
                stderr=stderr,
            )
        return stdout


def _ending(code: int) -> str:
    if code > 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _not_started(title: str, program: str, cwd: str | None, error: OSError) -> str:
    """Why a command could not be started."""
    if cwd is not None and not os.path.isdir(cwd):
        return f"{title}(): there is no directory {cwd!r} to run in (cwd)"
    if error.errno == errno.ENOENT:
        hint = (
            "; give a program's arguments as a list: command: [program, argument]" if " " in program else ""
        )
        return f"{title}(): there is no command {program!r}{hint}"
    if error.errno == errno.E2BIG:
        return f"{title}(): the arguments are too long for a command; give large data to its standard input"
    return f"{title}(): {program!r} cannot be started: {error.strerror}"


def _functions(name: str, definition: CommandDefinition) -> dict[str, _Function]:
    """The tool's functions by their names. Raises Misfit."""
    found: list[tuple[_Place, str]] = []
    schema = _schema(definition, found)
    functions: dict[str, _Function] = {}
    if definition.direct or not definition.recipes:
        functions[name] = _function(name, definition.description, tuple(schema.values()), {})
    for key, recipe in definition.recipes.items():
        place: _Place = ("recipes", key)
        try:
            known = identifier(key)
        except ValueError as error:
            found.append((place, str(error)))
            continue
        if known in functions and known != name:
            found.append((place, f"there is a recipe {known!r} already"))
        made = _recipe(known, recipe, schema, place, found)
        functions[known] = made
    if found:
        raise Misfit(found)
    return functions


def _function(
    name: str, description: str, parameters: tuple[Argument, ...], preset: Mapping[str, Any]
) -> _Function:
    shown = ToolCallable(name, description, tuple(one.parameter() for one in parameters), "str")
    return _Function(shown, parameters, preset)


def _schema(definition: CommandDefinition, found: list[tuple[_Place, str]]) -> dict[str, Argument]:
    """All parameters of a command by the names in the definition, and what is wrong with them."""
    entries: list[tuple[_Place, str, Any]] = []
    for number, positional in enumerate(definition.arguments.positional):
        entries.append((("schema", "positional", number), positional.name, positional))
    for key, option in definition.arguments.options.items():
        entries.append((("schema", "options", key), key, option))
    if definition.stdin is not None:
        entries.append((("stdin",), definition.stdin.name, definition.stdin))
    schema: dict[str, Argument] = {}
    names: dict[str, str] = {}
    for place, key, entry in entries:
        try:
            if isinstance(entry, StdinDefinition):
                data = (entry.required, entry.default, None, None, entry.description)
                argument = Argument(key, "data", "string", *data)
            else:
                argument = Argument.of(key, entry)
        except ValueError as error:
            found.append((place, str(error)))
            continue
        earlier = names.setdefault(argument.name, key)
        if earlier is not key:
            found.append((place, f"{key!r} has the same name in code as {earlier!r}"))
        schema[key] = argument
    return schema


def _recipe(
    name: str,
    recipe: RecipeDefinition,
    schema: Mapping[str, Argument],
    place: _Place,
    found: list[tuple[_Place, str]],
) -> _Function:
    """A recipe's function, and what is wrong with it."""
    preset: dict[str, Any] = {}
    for key, value in recipe.preset.items():
        if key not in schema:
            message = f"the schema has no such argument{suggestion(key, schema)}"
            found.append(((*place, "preset", key), message))
        elif value is not None:
            try:
                preset[key] = schema[key].written(value)
            except ValueError as error:
                found.append(((*place, "preset", key), str(error)))
    parameters: list[Argument] = []
    taken = recipe.params or {key: RecipeParameter() for key in schema if key not in preset}
    for key, parameter in taken.items():
        if key not in schema:
            message = f"the schema has no such argument{suggestion(key, schema)}"
            found.append(((*place, "params", key), message))
            continue
        try:
            parameters.append(schema[key].narrowed(parameter, preset.get(key)))
        except ValueError as error:
            found.append(((*place, "params", key), str(error)))
    for key, argument in schema.items():
        if argument.required and key not in preset and key not in taken:
            found.append((place, f"{key!r} is required, and neither preset nor a parameter"))
    defaults = {key: argument.default for key, argument in schema.items() if argument.default is not None}
    return _function(name, recipe.description, tuple(parameters), {**defaults, **preset})
