"""`planaria jupyter`: the Jupyter kernel."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planaria.cli.mcp import Server
from planaria.limits import Limits

if TYPE_CHECKING:
    from planaria.session._async.session import AsyncSession

__all__ = ["install_kernel", "run_kernel"]


def install_kernel(
    name: str, display_name: str, options: Sequence[str], *, user: bool, prefix: str | None, shared: bool
) -> None:
    """Write the kernelspec and say where."""
    from planaria.integrations.jupyter import kernelspec

    try:
        place = kernelspec.install(
            kernelspec.kernelspec(display_name, options, shared=shared), name, user=user, prefix=prefix
        )
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    except (OSError, ValueError) as error:
        raise click.ClickException(f"the kernel cannot be installed: {error}") from None
    click.echo(f"installed the kernel {name} in {place}")


def run_kernel(server: Server, connection_file: Path) -> None:
    """Run a kernel until a front end ends it."""
    try:
        from planaria.integrations.jupyter.channels import Channels
        from planaria.integrations.jupyter.kernel import JupyterKernel
        from planaria.integrations.jupyter.wire import Connection
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    try:
        connection = Connection.read(connection_file)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{connection_file}: {error}") from None

    arguments: dict[str, Any] = {
        "limits": server.options.limits(output=Limits().output),
        "mounts": server.options.mounts,
        "image": server.options.image,
        "network": server.options.network(),
    }

    def open_session(**own: Any) -> AsyncSession:
        from planaria.session._async.session import AsyncSession

        return AsyncSession(**workspace, **arguments, **own)

    async def run() -> None:
        kernel = JupyterKernel(Channels(connection), open_session)
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(signal.SIGINT, kernel.interrupt)
            loop.add_signal_handler(signal.SIGTERM, kernel.stop)
        await kernel.serve()

    workspace, registry = server.workspace()
    try:
        asyncio.run(run())
    finally:
        if registry is not None:
            registry.close()


def _missing(error: ModuleNotFoundError) -> click.ClickException:
    return click.ClickException(f"this needs the package {error.name}: pip install 'planaria[jupyter]'")
