"""The options that several commands share, and how they become a session's arguments."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from planaria.files.storage import Mount
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


class MountPlace(click.ParamType):
    """HOST:GUEST, with :ro (the default), :rw or :overlay at the end."""

    name = "mount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Mount:
        if isinstance(value, Mount):
            return value
        place, _, mode = value.rpartition(":")
        if mode not in ("ro", "rw", "overlay"):
            place, mode = value, "ro"
        host, _, guest = place.rpartition(":")
        if not host:
            self.fail(f"{value!r} is not HOST:GUEST or HOST:GUEST:MODE", param, ctx)
        if not os.path.isdir(host):
            self.fail(f"{host} is not a directory", param, ctx)
        try:
            return Mount(host, guest, mode)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What was asked of the session on the command line."""

    timeout: float | None
    memory: int | None
    save: Path | None
    mounts: tuple[Mount, ...]

    def limits(self, *, output: int | None) -> Limits:
        """The limits of the session; raises click.UsageError for a bound that Limits refuses."""
        memory = Limits().memory if self.memory is None else self.memory
        try:
            return Limits(timeout=self.timeout, memory=memory, output=output)
        except ValueError as error:
            raise click.UsageError(f"--memory: {error}") from None


def session_options(command: Function) -> Function:
    """Add the shared options to a command, which gets them as `timeout`, `memory`, `save`, `mounts`."""
    for option in (
        click.option(
            "--mount",
            "mounts",
            type=MountPlace(),
            multiple=True,
            metavar="HOST:GUEST[:MODE]",
            help="Show a directory of this computer in the sandbox: ro (read only, unless said otherwise), "
            "rw, or overlay (changes stay in the sandbox). May be given several times.",
        ),
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
