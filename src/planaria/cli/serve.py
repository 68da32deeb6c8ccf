"""`planaria serve`: sessions over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import anyio
import click

from planaria.cli.listening import serve_at
from planaria.cli.mcp import Server as SessionServer
from planaria.cli.options import SessionOptions
from planaria.limits import Limits

__all__ = ["Service", "check_addressed", "serve"]

#: The environment variable that has the token, so that it does not stand in lists of processes.
TOKEN = "PLANARIA_TOKEN"


@dataclass(frozen=True, slots=True)
class Service:
    """What was asked of the server on the command line."""

    sessions: SessionServer
    host: str
    port: int
    token: str | None
    tokens: Path | None
    store: str | None
    images: tuple[str, ...]
    max_sessions: int
    idle: float
    hosts: tuple[str, ...]
    audit: Path | None
    page: bool = False
    opens: bool = False
    """Whether to open the page in a browser."""

    @classmethod
    def of(cls, options: Mapping[str, Any], *, page: bool, opens: bool = False) -> Service:
        """The one that `service_options` describe."""
        own = {one.name for one in fields(cls)} & options.keys()
        others = {name: value for name, value in options.items() if name not in own}
        sessions = SessionServer(
            base=others.pop("base"), packages=others.pop("packages"), options=SessionOptions(**others)
        )
        return cls(**{name: options[name] for name in own}, sessions=sessions, page=page, opens=opens)


def check_addressed(host: str, token: str | None, tokens: Path | None) -> None:
    """Raise UsageError where others can reach a server that asks for no token."""
    from planaria.server.settings import is_loopback

    if not (token or tokens or os.environ.get(TOKEN)) and not is_loopback(host):
        raise click.UsageError(
            f"--host {host} can be reached from other computers: give --token, --tokens or {TOKEN}"
        )


def serve(service: Service) -> None:
    """Serve until SIGINT or SIGTERM."""
    try:
        import uvicorn  # noqa: F401 - missing without the extra

        from planaria.server import ServerSettings, Token, create_app, read_tokens
        from planaria.server.settings import is_loopback
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"this needs the package {error.name}: pip install 'planaria[server]'"
        ) from None
    from planaria.stores.opening import open_store

    secret = service.token if service.token is not None else os.environ.get(TOKEN)
    try:
        tokens = [] if service.tokens is None else read_tokens(service.tokens)
        if secret:
            tokens.insert(0, Token("default", secret))
        check_addressed(service.host, service.token, service.tokens)
        workspace, registry = service.sessions.workspace()
        options = service.sessions.options
        limits = options.limits(output=Limits().output)
        arguments: dict[str, Any] = {
            **workspace,
            "limits": limits,
            "mounts": options.mounts,
            "network": options.network(),
        }
        settings = ServerSettings(
            tokens=tokens,
            store=None if service.store is None else open_store(service.store),
            arguments=arguments,
            registry=registry,
            images=service.images,
            timeout=limits.timeout,
            max_sessions=service.max_sessions,
            idle=service.idle,
            hosts=service.hosts if is_loopback(service.host) else (*service.hosts, service.host),
            audit=service.audit,
            page=service.page,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    app = create_app(settings)

    def close_notebooks() -> None:
        notebooks = app.state.server.sessions.notebooks
        if notebooks is not None:
            notebooks.close()

    try:
        anyio.run(
            lambda: serve_at(
                app,
                service.host,
                service.port,
                opens=service.opens,
                ends=close_notebooks,
                access_log=False,
                timeout_graceful_shutdown=5,
                server_header=False,
                timeout_keep_alive=75,
            )
        )
    finally:
        if registry is not None:
            registry.close()
