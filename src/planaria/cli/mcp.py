"""`planaria mcp`: sessions for MCP clients."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click

from planaria.cli.listening import serve_at
from planaria.cli.options import SessionOptions
from planaria.limits import Limits

if TYPE_CHECKING:
    from planaria.workspace.tools.registry import ToolRegistry

__all__ = ["Server", "serve"]


@dataclass(frozen=True, slots=True)
class Server:
    """What was asked of the server on the command line."""

    options: SessionOptions
    store: str | None = None
    base: Path | None = None
    packages: tuple[str, ...] = ()

    def workspace(self) -> tuple[dict[str, Any], ToolRegistry | None]:
        """The workspace's arguments for a session, and its tools, which all sessions share."""
        if self.base is None and not self.packages:
            return {}, None
        from planaria.workspace.storage.file import FileStorage
        from planaria.workspace.workspace import registry_of

        storage = None if self.base is None else FileStorage(self.base)
        registry, _ = registry_of(storage, None, None, None)
        arguments = {
            "storage": storage,
            "tools": registry,
            "extra_deps": self.packages,
            "sync_deps_on_start": bool(self.packages),
        }
        return arguments, registry


def serve(server: Server, address: tuple[str, int] | None) -> None:
    """Serve until the client goes, or at `address` (host, port) until Ctrl-C."""
    try:
        from planaria.integrations.mcp import NamedSessions, create_server, listen
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"this needs the package {error.name}: pip install 'planaria[mcp]'"
        ) from None
    from planaria.session._async.session import AsyncSession
    from planaria.stores.opening import open_store

    _configure_logging()
    workspace, registry = server.workspace()
    network = server.options.network()
    arguments: dict[str, Any] = {
        **workspace,
        "limits": server.options.limits(output=Limits().output),
        "mounts": server.options.mounts,
        "image": server.options.image,
        "network": network,
        "on_output": listen,
    }
    sessions = NamedSessions(
        lambda: AsyncSession(**arguments),
        lambda snapshot: AsyncSession.from_snapshot(snapshot, **arguments),
        None if server.store is None else open_store(server.store),
    )
    mcp = create_server(
        sessions,
        stubs=registry.stubs("signatures") if registry is not None and len(list(registry)) else "",
        timeout=server.options.timeout,
        open_world=network is not None or registry is not None,
    )

    async def run() -> None:
        try:
            if address is None:
                await mcp.run_stdio_async()
            else:
                host, port = address
                await serve_at(mcp.streamable_http_app(host=host), host, port, "/mcp")
        finally:
            with anyio.CancelScope(shield=True):
                await sessions.close()

    try:
        anyio.run(run)
    finally:
        if registry is not None:
            registry.close()


def _configure_logging() -> None:
    """Warnings on standard error, a line each: clients keep it as the server's log."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # That an execution was stopped is in the result of the call.
    logging.getLogger("planaria.session").setLevel(logging.ERROR)
