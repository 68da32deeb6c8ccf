"""The five sockets of a kernel."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import zmq
import zmq.asyncio

from planaria.integrations.jupyter.wire import BadMessage, Connection, Message, Wire

__all__ = ["Channels"]

_log = logging.getLogger(__name__)


class Channels:
    """Binds the sockets that a connection file names, and sends and receives messages on them.

    Raises zmq.ZMQError when an address is taken.
    """

    def __init__(self, connection: Connection) -> None:
        context = zmq.asyncio.Context.instance()
        self._wire = Wire(connection.key)
        self._sockets: dict[str, zmq.asyncio.Socket] = {}
        try:
            for channel, kind in (
                ("shell", zmq.ROUTER),
                ("control", zmq.ROUTER),
                ("stdin", zmq.ROUTER),
                ("iopub", zmq.XPUB),
                ("hb", zmq.ROUTER),
            ):
                socket = context.socket(kind)
                self._sockets[channel] = socket
                socket.linger = 1000
                if kind == zmq.ROUTER and channel != "hb":
                    socket.router_handover = 1
                elif kind == zmq.XPUB:
                    # A subscription counts once it was admitted.
                    socket.setsockopt(zmq.XPUB_MANUAL, 1)
                socket.bind(connection.address(channel))
        except zmq.ZMQError:
            self.close()
            raise
        #: The same socket without `await`.
        self._iopub: zmq.Socket[bytes] = zmq.Socket.shadow(self._sockets["iopub"])

    # -- sending -------------------------------------------------------------------------------------

    async def publish(
        self,
        kind: str,
        content: dict[str, Any],
        parent: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
        buffers: Sequence[bytes] = (),
    ) -> None:
        """Send a message to every front end."""
        self._admit()
        topic = f"kernel.{self._wire.session}.{kind}".encode()
        await self._sockets["iopub"].send_multipart(
            self._wire.frames(kind, content, parent, identities=[topic], metadata=metadata, buffers=buffers)
        )

    async def reply(self, channel: str, to: Message, content: dict[str, Any]) -> None:
        """Answer a request."""
        kind = to.type.removesuffix("_request") + "_reply"
        frames = self._wire.frames(kind, content, to.header, identities=to.identities)
        await self._sockets[channel].send_multipart(frames)

    async def ask(self, to: Message, prompt: str, *, password: bool) -> None:
        """Ask the front end that sent a request for a line of input."""
        content = {"prompt": prompt, "password": password}
        frames = self._wire.frames("input_request", content, to.header, identities=to.identities)
        await self._sockets["stdin"].send_multipart(frames)

    # -- receiving -----------------------------------------------------------------------------------

    async def messages(self, channel: str) -> AsyncIterator[Message]:
        """The messages that arrive on a channel; what is not one is logged and left out."""
        socket = self._sockets[channel]
        while True:
            frames = await socket.recv_multipart()
            try:
                yield self._wire.message(frames)
            except BadMessage as error:
                _log.warning("a message on the %s channel was refused: %s", channel, error)

    async def serve_heartbeat(self) -> None:
        """Send back whatever arrives."""
        socket = self._sockets["hb"]
        while True:
            await socket.send_multipart(await socket.recv_multipart())

    async def welcome_subscribers(self) -> None:
        """Admit front ends that subscribe, and greet them with `iopub_welcome`."""
        while True:
            await self._sockets["iopub"].poll(zmq.POLLIN)
            self._admit()

    def _admit(self) -> None:
        """Take the subscriptions that have arrived; the welcome is the first message of each."""
        while True:
            try:
                subscription = self._iopub.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            topic = subscription[1:]
            if subscription[:1] != b"\x01":
                self._iopub.setsockopt(zmq.UNSUBSCRIBE, topic)
                continue
            self._iopub.setsockopt(zmq.SUBSCRIBE, topic)
            content = {"subscription": topic.decode("utf-8", "replace")}
            self._iopub.send_multipart(self._wire.frames("iopub_welcome", content, {}, identities=[topic]))

    def close(self) -> None:
        """Close the sockets, once what was sent is on its way."""
        for socket in self._sockets.values():
            with contextlib.suppress(zmq.ZMQError, asyncio.InvalidStateError):
                socket.close()
        self._sockets.clear()
