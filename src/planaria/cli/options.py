"""The options that several commands share, and how they become a session's arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from planaria.limits import Limits

__all__ = ["SessionOptions", "session_options"]

Function = TypeVar("Function", bound=Callable[..., Any])

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Size(click.ParamType):
    """A number of bytes: 512M, 1.5G, 800 MiB. The units are powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a size; write it as 512M or 1G", param, ctx)
        return int(float(match[1]) * _UNITS[match[2].upper()])


class Seconds(click.ParamType):
    """A duration in seconds, greater than 0."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        if not 0 < seconds < math.inf:
            self.fail(f"{value} is not a number of seconds greater than 0", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What was asked of the session on the command line."""

    timeout: float | None
    memory: int | None
    save: Path | None

    def limits(self, *, output: int | None) -> Limits:
        """The limits of the session; raises click.UsageError for a bound that Limits refuses."""
        memory = Limits().memory if self.memory is None else self.memory
        try:
            return Limits(timeout=self.timeout, memory=memory, output=output)
        except ValueError as error:
            raise click.UsageError(f"--memory: {error}") from None


def session_options(command: Function) -> Function:
    """Add the shared options to a command, which gets them as `timeout`, `memory` and `save`."""
    for option in (
        click.option(
            "--save",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Save figures into this directory, which is made if need be.",
        ),
        click.option("--memory", type=Size(), metavar="SIZE", help="Most memory of the sandbox: 512M, 1G."),
        click.option(
            "--timeout",
            type=Seconds(),
            metavar="SECONDS",
            help="Stop an execution after so many seconds; without it nothing but Ctrl-C stops it.",
        ),
    ):
        command = option(command)
    return command
