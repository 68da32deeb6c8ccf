"""`--allow`, `--deny`, `--secret` and `--proxy`: what code may reach, and with which secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from planaria.network.policy import Network
    from planaria.network.secrets import Secret

__all__ = ["network", "rule", "secret"]


def rule(text: str) -> str:
    """A rule of a network. Raises click.BadParameter."""
    from planaria.network.rules import parse_rule  # `planaria --help` can do without

    try:
        return parse_rule(text).text
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def secret(text: str) -> Secret:
    """NAME@HOST: the value of this environment variable, for that host. Raises click.BadParameter."""
    from planaria.network.secrets import Secret

    name, at, host = text.partition("@")
    if not at or not name or not host:
        raise click.BadParameter(f"{text!r} is not NAME@HOST")
    value = os.environ.get(name)
    if value is None:
        raise click.BadParameter(f"{text!r}: there is no environment variable {name}")
    try:
        return Secret(name, value, [host])
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def network(
    allow: tuple[str, ...], deny: tuple[str, ...], secrets: tuple[Secret, ...], proxy: str | None = None
) -> Network | None:
    """What code may reach: nothing without `allow`. A secret that is named several times goes to each host.

    Raises click.UsageError for what has no effect.
    """
    if not allow:
        if deny or secrets:
            raise click.UsageError("--deny and --secret have no effect without --allow")
        if proxy is not None:
            raise click.UsageError("--proxy has no effect without --allow")
        return None
    from planaria.network.policy import Network
    from planaria.network.secrets import Secret

    hosts: dict[str, list[str]] = {}
    for one in secrets:
        hosts.setdefault(one.name, []).extend(one.hosts)
    values = {one.name: one.value for one in secrets}
    merged = [Secret(name, values[name], places) for name, places in hosts.items()]
    try:
        return Network(allow=allow, deny=deny, secrets=merged, proxy=proxy)
    except ValueError as error:
        raise click.UsageError(str(error).replace("proxy=:", "--proxy:")) from None
