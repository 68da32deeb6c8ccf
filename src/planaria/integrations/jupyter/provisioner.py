"""A provisioner that runs kernels in the process that starts them, all on one event loop beside it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Float, Integer, List, Unicode

from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.kernel import JupyterKernel
from planaria.integrations.jupyter.wire import Connection
from planaria.limits import Limits
from planaria.loop_thread import LoopThread
from planaria.network.policy import Network
from planaria.session._async.session import AsyncSession

__all__ = ["SharedProvisioner"]

T = TypeVar("T")

_thread: Final = LoopThread("planaria-kernels")


class SharedProvisioner(LocalProvisioner):  # type: ignore[misc,unused-ignore]
    """Runs a kernel as a task: a session takes a megabyte, a process of its own takes sixty.

    A kernelspec names it in its metadata, as `planaria jupyter install --shared` writes it; the traits are
    the `config` there.
    """

    image = Unicode("", config=True, help="The image that sessions begin from.")
    memory = Integer(0, config=True, help="Most memory of a sandbox, in bytes; 0 is the usual limit.")
    timeout = Float(0.0, config=True, help="Stop a cell after so many seconds; 0 for no limit.")
    allow = List(Unicode(), config=True, help="What code may reach, as `planaria.Network` takes it.")

    _kernel: JupyterKernel | None = None
    _serving: asyncio.Future[None] | None = None
    _status: int | None = None

    @property
    def has_process(self) -> bool:
        return self._kernel is not None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start a kernel at the addresses that were found before; the command is for other provisioners."""
        connection = Connection.of(dict(self.connection_info))
        self._status = None
        self._kernel, self._serving = await _on_loop(self._begin(connection))
        self.pid = self.pgid = None
        return self.connection_info

    async def _begin(self, connection: Connection) -> tuple[JupyterKernel, asyncio.Future[None]]:
        kernel = JupyterKernel(Channels(connection), self._open)
        return kernel, asyncio.ensure_future(kernel.serve())

    def _open(self, **own: Any) -> AsyncSession:
        usual = Limits()
        limits = Limits(timeout=self.timeout or None, memory=self.memory or usual.memory, output=usual.output)
        network = Network(allow=tuple(self.allow)) if self.allow else None
        return AsyncSession(limits=limits, image=self.image or None, network=network, **own)

    async def poll(self) -> int | None:
        """The exit status, None while the kernel runs; one that has not been started counts as ended."""
        serving = self._serving
        if serving is None:
            return 0 if self._status is None else self._status
        if not serving.done():
            return None
        self._status = 1 if serving.cancelled() or serving.exception() is not None else 0
        return self._status

    async def wait(self) -> int | None:
        """Wait until the kernel has ended; its exit status."""
        serving = self._serving
        if serving is not None:
            await _on_loop(_ended(serving))
            await self.poll()
            self._serving = self._kernel = None
        return self._status

    async def send_signal(self, signum: int) -> None:
        """Interrupt the kernel for SIGINT, end it for others; 0 asks whether it is there."""
        if signum == signal.SIGINT:
            self._call("interrupt")
        elif signum:
            self._call("stop")

    async def kill(self, restart: bool = False) -> None:
        """End the kernel."""
        self._call("stop")

    async def terminate(self, restart: bool = False) -> None:
        """End the kernel."""
        self._call("stop")

    def _call(self, method: str) -> None:
        if self._kernel is not None:
            _thread.loop().call_soon_threadsafe(getattr(self._kernel, method))


async def _on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of the kernels."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, _thread.loop()))


async def _ended(serving: asyncio.Future[None]) -> None:
    await asyncio.wait([serving])
