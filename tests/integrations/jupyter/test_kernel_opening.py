"""A kernel whose session is not open yet."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import write_connection_file

from planaria import AsyncSession
from planaria.errors import ImageError
from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.kernel import JupyterKernel
from planaria.integrations.jupyter.wire import Connection

PATIENCE = 300


@pytest.fixture
def file() -> Iterator[Path]:
    """A connection file; its sockets have short names, and no ports, which others could take."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "kernel.json"
        write_connection_file(str(path), transport="ipc", ip=f"{directory}/socket")
        yield path


def kernel_at(file: Path, open_session: Callable[..., AsyncSession]) -> JupyterKernel:
    return JupyterKernel(Channels(Connection.read(file)), open_session)


def test_front_ends_are_answered_before_the_session_is_open(file: Path) -> None:
    """Who is there is answered at once; what needs the session waits for it."""

    async def main() -> None:
        may_open = threading.Event()

        def open_session(**own: Any) -> AsyncSession:
            may_open.wait()
            return AsyncSession(**own)

        kernel = kernel_at(file, open_session)
        serving = asyncio.create_task(kernel.serve())
        client = AsyncKernelClient(connection_file=str(file))
        client.load_connection_file()
        client.start_channels()
        try:
            client.kernel_info()
            reply = await client.get_shell_msg(timeout=PATIENCE)
            assert reply["content"]["language_info"]["name"] == "python"
            request = client.execute("6 * 7", user_expressions={"version": "__import__('sys').version"})
            may_open.set()
            reply = await client.get_shell_msg(timeout=PATIENCE)
            assert reply["parent_header"]["msg_id"] == request
            version = reply["content"]["user_expressions"]["version"]["data"]["text/plain"]
            info = client.kernel_info()
            reply = await client.get_shell_msg(timeout=PATIENCE)
            assert reply["parent_header"]["msg_id"] == info
            assert version.strip("'").startswith(f"{reply['content']['language_info']['version']}.")
        finally:
            may_open.set()
            client.stop_channels()
            kernel.stop()
            await serving

    asyncio.run(main())


def test_a_session_that_cannot_be_opened_ends_the_kernel(file: Path) -> None:
    """`serve` raises what opening the session has raised, whether or not a front end asked for it."""

    async def main() -> None:
        kernel = kernel_at(file, lambda **own: AsyncSession(image="planaria-tests-missing", **own))
        with pytest.raises(ImageError, match="planaria-tests-missing"):
            await kernel.serve()

    asyncio.run(main())


def test_a_kernel_that_is_stopped_while_it_opens(file: Path) -> None:
    """A session that is opened after the kernel was asked to end is closed."""

    async def main() -> None:
        opened: list[AsyncSession] = []

        def open_session(**own: Any) -> AsyncSession:
            opened.append(AsyncSession(**own))
            return opened[0]

        kernel = kernel_at(file, open_session)
        kernel.stop()
        await kernel.serve()
        assert opened[0].is_closed

    asyncio.run(main())
