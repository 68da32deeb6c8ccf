"""An event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading

from planaria.fork import in_forked_child

__all__ = ["LoopThread"]


class LoopThread:
    """An event loop that runs on a daemon thread from its first use until the process ends.

    A forked child, where that thread does not exist, gets another.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._forget()
        in_forked_child("threads")(self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        #: The loop, if it runs already.
        self.running: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop; its thread is started at the first call."""
        with self._lock:
            if self.running is None:
                loop = asyncio.new_event_loop()
                try:
                    threading.Thread(target=_run, args=(loop,), name=self._name, daemon=True).start()
                except BaseException:
                    loop.close()
                    raise
                self.running = loop
            return self.running


def _run(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # A loop raises these at once; the task has stored them too, for the code that awaits it.
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
