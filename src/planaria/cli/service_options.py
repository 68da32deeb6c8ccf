"""The options of `planaria serve` and `planaria ui`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from planaria.cli.options import sandbox_options_without_image, seconds, server_options

__all__ = ["service_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


def service_options(command: Command) -> Command:
    """Add what servers over HTTP take, beside the options of sandboxes."""
    options = (
        server_options(port=7700),
        click.option(
            "--token",
            metavar="TOKEN",
            help="What clients have to send, as in `Authorization: Bearer TOKEN`; also the environment "
            "variable PLANARIA_TOKEN. Needed on other addresses than the loopback's.",
        ),
        click.option(
            "--tokens",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Several tokens with name spaces and quotas, as a TOML file.",
        ),
        click.option(
            "--image",
            "images",
            multiple=True,
            metavar="NAME",
            help="An image that sessions may begin from, the first one unless they name another. May be "
            "given several times.",
        ),
        click.option(
            "--max-sessions",
            type=click.IntRange(1),
            default=256,
            show_default=True,
            help="Most live sessions.",
        ),
        click.option(
            "--idle",
            type=seconds,
            default=300.0,
            show_default=True,
            metavar="SECONDS",
            help="Park a session in the store after so long without a request.",
        ),
        click.option(
            "--allow-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="A name by which clients may address this server. May be given several times.",
        ),
        click.option(
            "--audit-log",
            "audit",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Write each request to this file, as a line of JSON.",
        ),
        sandbox_options_without_image,
    )
    for option in reversed(options):
        command = option(command)
    return command
