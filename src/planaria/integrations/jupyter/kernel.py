"""The kernel: answers the requests of front ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from planaria import __version__
from planaria.integrations.jupyter.channels import Channels
from planaria.integrations.jupyter.wire import PROTOCOL_VERSION, Message
from planaria.version import GUEST_PYTHON

if TYPE_CHECKING:
    from planaria.integrations.jupyter.session_requests import SessionRequests
    from planaria.session._async.session import AsyncSession

__all__ = ["JupyterKernel", "OpenSession"]

#: Opens a session, given the arguments that are the kernel's: `stdin`, `on_bytes`. Called on a thread.
OpenSession: TypeAlias = "Callable[..., AsyncSession]"
Content = dict[str, Any]

_BANNER: Final = (
    f"planaria {__version__}: Python in a sandbox. %lsmagic lists the magics, %undo takes back the last cell."
)
_INFO: Final[Content] = {
    "status": "ok",
    "protocol_version": PROTOCOL_VERSION,
    "implementation": "planaria",
    "implementation_version": __version__,
    "language_info": {
        "name": "python",
        "version": GUEST_PYTHON,
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
    },
    "banner": _BANNER,
    "help_links": [],
    "debugger": False,
    "supported_features": [],
}


class JupyterKernel:
    """Serves one session on the sockets of a kernel. Several may share an event loop.

    Front ends ask who is there and wait a while after the answer before they send anything else. That is
    answered at once, while all that a session needs is imported and the session opened on a thread.
    """

    def __init__(self, channels: Channels, open_session: OpenSession) -> None:
        self._channels = channels
        self._shell: asyncio.Queue[Message] = asyncio.Queue()
        self._opened: SessionRequests | None = None
        self._opening = asyncio.get_running_loop().create_task(self._open(open_session))
        self._stopped = asyncio.Event()
        self.restarts = False
        """Whether the front end that ended the kernel wants another one in its place."""

    async def session(self) -> AsyncSession:
        """The session that cells run in now, once it is open. Raises what opening it has raised."""
        return (await self._requests()).session

    async def serve(self) -> None:
        """Answer requests until one asks the kernel to end, or `stop` is called.

        Raises what opening the session has raised.
        """
        works: list[Coroutine[Any, Any, None]] = [
            self._channels.serve_heartbeat(),
            self._channels.welcome_subscribers(),
            self._receive_shell(),
            self._answer_shell(),
            self._answer_control(),
            self._receive_lines(),
            self._end_unopened(),
        ]
        tasks = [asyncio.create_task(work) for work in works]
        stopping = asyncio.create_task(self._stopped.wait())
        try:
            await self._channels.publish("status", {"execution_state": "starting"}, {})
            await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.interrupt()
            for task in (stopping, *tasks):
                task.cancel()
            ended = await asyncio.gather(*tasks, self._opening, return_exceptions=True)
            if self._opened is not None:
                await self._opened.close()
            self._channels.close()
        for outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome

    def stop(self) -> None:
        """Have `serve` return."""
        self._stopped.set()

    def interrupt(self) -> None:
        """Stop the execution that runs now."""
        if self._opened is not None:
            self._opened.interrupt()

    # -- the session ---------------------------------------------------------------------------------

    async def _open(self, open_session: OpenSession) -> SessionRequests:
        loop = asyncio.get_running_loop()
        opened = await asyncio.to_thread(_opened, self._channels, loop, open_session)
        self._opened = opened
        # The first execution takes longer than others, so it is done now.
        await opened.attach()
        return opened

    async def _requests(self) -> SessionRequests:
        """What answers with the session, once it is open."""
        return await asyncio.shield(self._opening)

    async def _end_unopened(self) -> None:
        """Raise what opening the session has raised; otherwise never over."""
        await self._requests()
        await asyncio.Event().wait()

    # -- requests ------------------------------------------------------------------------------------

    async def _receive_shell(self) -> None:
        async for message in self._channels.messages("shell"):
            self._shell.put_nowait(message)

    async def _answer_shell(self) -> None:
        while True:
            await self._answer("shell", await self._shell.get())

    async def _answer_control(self) -> None:
        async for message in self._channels.messages("control"):
            await self._answer("control", message)

    async def _receive_lines(self) -> None:
        async for message in self._channels.messages("stdin"):
            if message.type == "input_reply":
                (await self._requests()).take_line(str(message.content.get("value", "")))

    async def _answer(self, channel: str, message: Message) -> None:
        await self._publish_status("busy", message)
        try:
            content = await self._content(message)
            if content is not None:
                await self._channels.reply(channel, message, content)
        finally:
            await self._publish_status("idle", message)
        if message.type == "shutdown_request":
            self.stop()
        elif channel == "shell" and self._opened is not None and self._opened.aborts:
            self._opened.aborts = False
            await self._abort_waiting(self._opened.count)

    async def _content(self, message: Message) -> Content | None:
        """The answer to a message; None for one that has none."""
        match message.type:
            case "kernel_info_request":
                return _INFO
            case "interrupt_request":
                self.interrupt()
                return {"status": "ok"}
            case "shutdown_request":
                self.restarts = bool(message.content.get("restart"))
                self.interrupt()
                return {"status": "ok", "restart": self.restarts}
        return await (await self._requests()).answer(message)

    async def _publish_status(self, state: str, message: Message) -> None:
        await self._channels.publish("status", {"execution_state": state}, message.header)

    async def _abort_waiting(self, count: int) -> None:
        """Refuse the executions that were requested before one failed."""
        await asyncio.sleep(0)  # what has arrived at the socket comes first
        waiting = [self._shell.get_nowait() for _ in range(self._shell.qsize())]
        for message in waiting:
            if message.type != "execute_request":
                self._shell.put_nowait(message)
                continue
            await self._publish_status("busy", message)
            await self._channels.reply("shell", message, {"status": "aborted", "execution_count": count})
            await self._publish_status("idle", message)


def _opened(
    channels: Channels, loop: asyncio.AbstractEventLoop, open_session: OpenSession
) -> SessionRequests:
    from planaria.integrations.jupyter.session_requests import SessionRequests

    return SessionRequests(channels, loop, open_session)
