"""What an execution prints and shows, from the thread it runs on to the front ends."""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from typing import Any, Final

from planaria.integrations.jupyter.channels import Channels
from planaria_kernel.notebook.front_end import PARENT

__all__ = ["Outputs"]

_STREAMS: Final = {1: "stdout", 2: "stderr"}
#: Characters of one `stream` message.
_MOST_TEXT: Final = 1 << 20
_COMM: Final = frozenset({"comm_open", "comm_msg", "comm_close"})

Event = tuple[str, dict[str, Any], dict[str, Any], str | None]


class Outputs:
    """Takes output on any thread and publishes it on the event loop, in order.

    Text that comes while an earlier message is being sent goes into one message.
    """

    def __init__(self, channels: Channels, loop: asyncio.AbstractEventLoop) -> None:
        self._channels = channels
        self._loop = loop
        self._waiting: deque[Event] = deque()
        self._lock = asyncio.Lock()
        self._is_woken = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}
        #: The header of the request whose output it is.
        self.parent: dict[str, Any] = {}
        #: Comms that the code has opened, with the names of their targets.
        self.comms: dict[str, str] = {}
        self.begin({}, 0)

    def begin(self, parent: dict[str, Any], count: int, *, silent: bool = False) -> None:
        """What comes from now on is the output of another request."""
        self.parent = parent
        self._count = count
        self._silent = silent
        self.has_value = False
        self.pages: list[dict[str, Any]] = []
        make = codecs.getincrementaldecoder("utf-8")
        self._decoders = {descriptor: make("replace") for descriptor in _STREAMS}

    # -- on the thread of the execution --------------------------------------------------------------

    def write(self, descriptor: int, data: bytes) -> None:
        """Take bytes that were written to descriptor 1 or 2."""
        text = self._decoders[descriptor].decode(data)
        if text:
            self.add("stream", {"name": _STREAMS[descriptor], "text": text}, {}, None)

    def add(self, kind: str, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None) -> None:
        """Take anything else."""
        self._waiting.append((kind, data, metadata, display_id))
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon_threadsafe(self._wake)

    # -- on the loop ---------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._is_woken = False
        task = self._loop.create_task(self.drain())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Publish what has come so far."""
        async with self._lock:
            while self._waiting:
                kind, data, metadata, display_id = self._waiting.popleft()
                if kind == "stream":
                    data = self._joined(data)
                await self._publish(kind, data, metadata, display_id)

    def _joined(self, first: dict[str, Any]) -> dict[str, Any]:
        """One message of the texts that come one after the other on a stream."""
        texts = [first["text"]]
        size = len(texts[0])
        while self._waiting and size < _MOST_TEXT:
            kind, data, _, _ = self._waiting[0]
            if kind != "stream" or data["name"] != first["name"]:
                break
            self._waiting.popleft()
            texts.append(data["text"])
            size += len(data["text"])
        return {"name": first["name"], "text": "".join(texts)}

    async def _publish(
        self, kind: str, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None
    ) -> None:
        if kind in _COMM:
            await self._publish_comm(kind, data, metadata)
            return
        if kind == "page":
            self.pages.append({"source": "page", "data": data, "start": 0})
            return
        if self._silent:
            return
        transient = {} if display_id is None else {"display_id": display_id}
        shown = {"data": data, "metadata": metadata, "transient": transient}
        if kind == "stream":
            await self._channels.publish("stream", data, self.parent)
        elif kind == "clear":
            await self._channels.publish("clear_output", {"wait": bool(metadata.get("wait"))}, self.parent)
        elif kind == "result":
            self.has_value = True
            await self._channels.publish(
                "execute_result", {**shown, "execution_count": self._count}, self.parent
            )
        elif kind == "update":
            await self._channels.publish("update_display_data", shown, self.parent)
        elif kind == "display":
            await self._channels.publish("display_data", shown, self.parent)

    async def _publish_comm(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        buffers = data.pop("buffers", [])
        state = data["data"].get("state") if isinstance(data.get("data"), dict) else None
        if isinstance(state, dict) and state.get("msg_id") == PARENT:
            # The Output widget asks for the output of the request that is being answered.
            state["msg_id"] = self.parent.get("msg_id", "")
        identifier = str(data.get("comm_id"))
        if kind == "comm_open":
            self.comms[identifier] = str(data.get("target_name", ""))
        elif kind == "comm_close":
            self.comms.pop(identifier, None)
        await self._channels.publish(kind, data, self.parent, metadata=metadata, buffers=buffers)
