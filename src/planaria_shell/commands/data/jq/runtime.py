"""What a jq program finds around it: its inputs, its environment, and the files of modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from planaria_shell.commands.data.jq import formats
from planaria_shell.commands.data.jq.json_writer import to_json
from planaria_shell.commands.data.jq.lexer import JqSyntaxError
from planaria_shell.commands.data.jq.parser import parse_program
from planaria_shell.commands.data.jq.paths import shown
from planaria_shell.commands.data.jq.values import JqError, is_number, kind


class Halt(Exception):
    """`halt` and `halt_error`: end now, with this value on standard error and this status."""

    def __init__(self, value: Any, status: int, *, silent: bool) -> None:
        super().__init__(status)
        self.value = value
        self.status = status
        self.silent = silent


class Runtime:
    """What a program finds around it. `source` gives its inputs one by one."""

    def __init__(
        self,
        environment: dict[str, str],
        *,
        source: Iterator[Any] | None = None,
        to_stderr: Callable[[str], None] = lambda text: None,
        search: list[str] | None = None,
    ) -> None:
        self.environment: dict[str, str] = environment
        self.source: Iterator[Any] = iter(()) if source is None else source
        self.write_error = to_stderr
        self.search = search or []
        self.filename: str | None = None
        self.line_number: int = 0
        self.format = formats.get

    def next_input(self) -> Any:
        """`input`"""
        for value in self.source:
            return value
        raise JqError("No more inputs")

    def inputs(self) -> Iterator[Any]:
        """`inputs`"""
        yield from self.source

    def debug(self, value: Any) -> Any:
        """`debug`"""
        self.write_error(f'["DEBUG:",{to_json(value)}]\n')
        return value

    def to_stderr(self, value: Any) -> Any:
        """`stderr`: since 1.7 a string as it is, without a newline."""
        self.write_error(value if isinstance(value, str) else to_json(value))
        return value

    def halt(self, value: Any, status: Any) -> Any:
        """`halt`, `halt_error`"""
        if not is_number(status):
            raise JqError(f"{kind(value)} ({shown(value)}) halt_error/1: number required")
        raise Halt(value, int(status) & 255, silent=value is None and status == 0)

    def module_metadata(self, name: Any) -> Any:
        """`modulemeta`"""
        if not isinstance(name, str):
            raise JqError("modulemeta input module name must be a string")
        program = parse_program(self.read_module(name, ".jq"))
        found = dict(program.metadata or {})
        found["deps"] = [
            {
                **(item.metadata or {}),
                **({"as": item.name} if item.name else {}),
                "is_data": item.data,
                "relpath": item.path,
            }
            for item in program.imports
        ]
        found["defs"] = [f"{item.name}/{len(item.parameters)}" for item in program.definitions]
        return found

    def read_module(self, path: str, extension: str, metadata: Any = None) -> str:
        """The text of a module, which an import's `search` may locate. Raises JqSyntaxError."""
        search = self.search
        if isinstance(metadata, dict) and isinstance(metadata.get("search"), (str, list)):
            extra = metadata["search"]
            first = [extra] if isinstance(extra, str) else extra
            base = self.search[0] if self.search else "/"
            search = [os.path.join(base, str(place)) for place in first] + self.search
        for place in search:
            for candidate in (path + extension, os.path.join(path, os.path.basename(path) + extension)):
                name = os.path.join(place, candidate)
                if os.path.isfile(name):
                    with open(name, encoding="utf-8", errors="replace") as file:
                        return file.read()
        raise JqSyntaxError(f"module not found: {path}\n")
