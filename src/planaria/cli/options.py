"""The options that several commands share, and how they become a session's arguments."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import click

from planaria.cli.network import network, rule, secret
from planaria.limits import Limits

if TYPE_CHECKING:
    from planaria.files.storage import Mount
    from planaria.network.policy import Network
    from planaria.network.secrets import Secret

__all__ = [
    "Command",
    "SessionOptions",
    "image_file",
    "mount",
    "sandbox_options",
    "sandbox_options_without_image",
    "seconds",
    "server_options",
    "session_options",
    "size",
    "workspace_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MODES: Final = ("ro", "rw", "overlay")


def size(text: str) -> int:
    """A number of bytes: 512M, 1.5G, 800MiB. The units are powers of 1024. Raises click.BadParameter."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size; write it as 512M or 1G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def seconds(text: str) -> float:
    """A duration in seconds, greater than 0. Raises click.BadParameter."""
    try:
        duration = float(text)
    except ValueError:
        duration = math.nan
    if not 0 < duration < math.inf:
        raise click.BadParameter(f"{text!r} is not a number of seconds greater than 0")
    return duration


def mount(text: str) -> Mount:
    """HOST:GUEST, with :ro (the default), :rw or :overlay at the end. Raises click.BadParameter."""
    from planaria.files.storage import Mount  # brings all filesystems, which `planaria --help` can do without

    place, _, mode = text.rpartition(":")
    if mode not in _MODES and "/" not in mode and ":/" in place:
        raise click.BadParameter(f"{text!r}: the mode {mode!r} is none of ro, rw and overlay")
    if mode not in _MODES:
        place, mode = text, "ro"
    host, _, guest = place.rpartition(":")
    if not host:
        raise click.BadParameter(
            f"{text!r} is not HOST:GUEST or HOST:GUEST:MODE, MODE being ro, rw or overlay"
        )
    if not os.path.isdir(host):
        raise click.BadParameter(f"{host} is not a directory")
    try:
        return Mount(host, guest, cast(Literal["ro", "rw", "overlay"], mode))
    except ValueError as error:
        raise click.BadParameter(str(error).replace("guest_path", "GUEST")) from None


def image_file(text: str) -> tuple[Path, str]:
    """HOST:GUEST, for a copy. Raises click.BadParameter."""
    host, _, guest = text.rpartition(":")
    if not host or not guest:
        raise click.BadParameter(f"{text!r} is not HOST:GUEST")
    if not os.path.exists(host):
        raise click.BadParameter(f"{host} does not exist")
    return Path(host), guest


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What was asked of the session on the command line."""

    timeout: float | None
    memory: int | None
    mounts: tuple[Mount, ...]
    image: str | None = None
    save: Path | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    proxy: str | None = None

    def network(self) -> Network | None:
        """What code may reach; raises click.UsageError for options that have no effect."""
        return network(self.allow, self.deny, self.secrets, self.proxy)

    def limits(self, *, output: int | None) -> Limits:
        """The limits of the session; raises click.UsageError for a bound that Limits refuses."""
        memory = Limits().memory if self.memory is None else self.memory
        try:
            return Limits(timeout=self.timeout, memory=memory, output=output)
        except ValueError as error:
            raise click.UsageError(f"--memory {self.memory}: {str(error).partition('): ')[2]}") from None


def sandbox_options(command: Command) -> Command:
    """Add the options of every sandbox to a command."""
    return click.option("--image", metavar="NAME", help="Begin from this image (see `planaria image`).")(
        sandbox_options_without_image(command)
    )


def sandbox_options_without_image(command: Command) -> Command:
    """As `sandbox_options`, for a command with several images."""
    for option in (
        click.option(
            "--mount",
            "mounts",
            type=mount,
            multiple=True,
            metavar="HOST:GUEST[:MODE]",
            help="Show a directory of this computer in the sandbox: ro (read only, unless said otherwise), "
            "rw, or overlay (changes stay in the sandbox). May be given several times.",
        ),
        click.option("--memory", type=size, metavar="SIZE", help="Most memory of the sandbox: 512M, 1G."),
        click.option(
            "--proxy",
            metavar="URL",
            help="Send requests by this proxy, or with `environment` by those that HTTP_PROXY, HTTPS_PROXY, "
            "ALL_PROXY and NO_PROXY name. Without it no proxy is used.",
        ),
        click.option(
            "--secret",
            "secrets",
            type=secret,
            multiple=True,
            metavar="NAME@HOST",
            help="Let requests to this host carry the value of the environment variable NAME, of which the "
            "code sees a placeholder. May be given several times.",
        ),
        click.option(
            "--deny",
            type=rule,
            multiple=True,
            metavar="RULE",
            help="Refuse this, whatever --allow says. May be given several times.",
        ),
        click.option(
            "--allow",
            type=rule,
            multiple=True,
            metavar="RULE",
            help="Let the code reach this, as in example.com or 'GET https://api.example.com/v1/'. May be "
            "given several times; without it there is no network.",
        ),
    ):
        command = option(command)
    return command


def session_options(command: Command) -> Command:
    """Add the shared options to a command, which gets them as the fields of `SessionOptions`."""
    for option in (
        click.option(
            "--save",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="Save figures, and files that a program writes to its home directory, into this directory, "
            "which is created if need be.",
        ),
        click.option(
            "--timeout",
            type=seconds,
            metavar="SECONDS",
            help="Stop an execution after so many seconds; without it nothing but Ctrl-C stops it.",
        ),
    ):
        command = option(command)
    return sandbox_options(command)


def workspace_options(command: Command) -> Command:
    """Add what sessions of a server or kernel find: `base` and `packages`."""
    for option in (
        click.option(
            "--package",
            "packages",
            multiple=True,
            metavar="REQUIREMENT",
            help="Install this in each session, as in 'attrs>=24'. May be given several times.",
        ),
        click.option(
            "--base",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            metavar="DIR",
            help="A workspace: code finds its tools (MCP servers among them), workflows and artifacts.",
        ),
    ):
        command = option(command)
    return command


def server_options(port: int) -> Callable[[Command], Command]:
    """Add what servers of sessions have in common: `host` and `port`, `store`, `timeout` and those of
    `workspace_options`.

    Args:
        port: the port unless another one is given.
    """
    options = (
        click.option(
            "--timeout",
            type=seconds,
            default=60.0,
            show_default=True,
            metavar="SECONDS",
            help="Stop an execution after so many seconds.",
        ),
        workspace_options,
        click.option(
            "--store",
            metavar="URL",
            help="Save each session here after each call: a directory, sqlite:///FILE or redis://HOST/0. "
            "Sessions then outlive the server, and other servers can share them.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=port,
            show_default=True,
            help="The port to listen at; 0 is any that is free.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at."),
    )

    def add(command: Command) -> Command:
        for option in options:
            command = option(command)
        return command

    return add
