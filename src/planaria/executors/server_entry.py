"""One request to a server that executes, and the events that come of it."""

from __future__ import annotations

import math
import queue
import secrets
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from planaria.errors import ServerError
from planaria.executors.server_connection import ServerConnection, decoded
from planaria_kernel.protocol import decode

__all__ = ["Entry", "Event"]

#: How long a server that cannot be reached is tried again, in seconds, and how often.
_RECONNECTING: Final = 30.0
_PAUSE: Final = 0.2

#: What it is, and its data: bytes of "stdout" and "stderr", a "display", a "call", the "result", or the error
#: with which it "failed".
Event = tuple[str, Any]


class Entry:
    """One request that executes, on a thread of its own; what comes of it is put into a queue.

    A connection that is lost is made again, with the same key: the server executes the request once.
    """

    def __init__(
        self, connection: ServerConnection, path: str, body: Mapping[str, object], printed: dict[str, int]
    ) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._connection = connection
        self._path = path
        self._body = body
        self._key = secrets.token_hex(16)
        #: How many bytes of each stream were put, those of the execution's earlier entries included.
        self._printed = printed
        self._began_at = dict(printed)
        #: How many the server has sent over the present connection.
        self._sent = dict.fromkeys(printed, 0)
        self._was_lost = False
        #: The identifiers of the outputs that can be replaced.
        self._shown: set[str] = set()
        #: How many other events were put, and how many the present connection has sent.
        self._others_put = self._others_sent = 0

    def begin(self) -> None:
        threading.Thread(target=self._read, name="planaria server events", daemon=True).start()

    def _read(self) -> None:
        give_up_at = math.inf
        while True:
            try:
                for name, data in self._connection.stream(self._path, self._body, self._key):
                    give_up_at = math.inf
                    self._take(name, data)
                return
            except ServerError as error:
                now = time.monotonic()
                if error.status is not None or now > give_up_at:
                    self.events.put(("failed", error))
                    return
                give_up_at = min(give_up_at, now + _RECONNECTING)
            except Exception as error:
                self.events.put(("failed", error))
                return
            self._was_lost = True
            self._others_sent = 0
            self._sent = dict.fromkeys(self._sent, 0)
            time.sleep(_PAUSE)

    def _take(self, name: str, data: Any) -> None:
        if name in self._sent:
            text = data["text"].encode("utf-8", "surrogateescape")
            self._sent[name] += len(text)
            self._put_new(name, text, self._began_at[name] + self._sent[name])
        elif name in ("display", "call"):
            self._others_sent += 1
            if self._others_sent > self._others_put:
                self._others_put = self._others_sent
                if name == "call":
                    self.events.put((name, data))
                else:
                    self._put_display(data)
        elif name == "result":
            if self._was_lost:  # what was printed meanwhile is in the result only
                for stream in self._sent:
                    text = data[stream].encode()
                    self._put_new(stream, text, len(text))
            self.events.put((name, data))

    def _put_new(self, name: str, text: bytes, end: int) -> None:
        """Put what was not put yet of output that ends after `end` bytes of its stream."""
        new = end - self._printed[name]
        if new > 0:
            self.events.put((name, text[-new:]))
            self._printed[name] = end

    def _put_display(self, shown: Any) -> None:
        bundle = shown.get("bundle_base64")
        if bundle is None:
            return
        data, metadata, display_id = decode(decoded(bundle))
        kind = "result" if shown["is_value"] else "display"
        if display_id is not None:
            metadata["planaria.display_id"] = display_id
            kind = "update" if display_id in self._shown else kind
            self._shown.add(display_id)
        self.events.put(("display", (kind, data, metadata)))
