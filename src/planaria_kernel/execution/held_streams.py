"""Standard output and error that hold text back in memory, where the host takes it from.

A line that leaves the sandbox by itself costs more than a hundred that stay. So what is written gathers in
the buffers of the two streams, and goes to the host when one is full, when it is flushed, and before
everything that the host is to see after it. The host also looks into the buffers by itself: every few
hundredths of a second, before the code sleeps, and when it is stopped; see `machine.wasi.held_output`. Only
one of the two buffers has something at a time, so the order of what was written is kept.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from planaria_kernel.execution.streams import Streams
from planaria_kernel.protocol import encode

__all__ = ["HeldStreams"]

_Buffer: TypeAlias = "io.BufferedWriter[io.RawIOBase]"

#: The size of each buffer in bytes.
_BUFFER_BYTES: Final = 1 << 14
#: The text by which the host finds a buffer in memory.
_MARK: Final = b"planaria finds the buffer of a standard stream by this text"


class HeldStreams(Streams):
    """Streams whose buffers the host knows; where it does not find them they are ordinary ones.

    Streams that are opened again, since the code has closed these, are ordinary ones too.
    """

    def __init__(self, call_host: Callable[[bytes], bytes]) -> None:
        buffers: list[_Buffer] = [
            io.BufferedWriter(io.FileIO(number, "w", closefd=False), _BUFFER_BYTES) for number in (1, 2)
        ]
        #: Kept for good: the host looks at their places in memory.
        self._buffers = buffers
        self._held: list[_Buffer] = []
        for number, buffer in enumerate(buffers, 1):
            buffer.write(_MARK)
            if call_host(b"H" + encode((number, id(buffer), _MARK))):
                self._held.append(buffer)
        super().__init__()

    def reopen(self) -> None:
        held, self._held = self._held, []
        if len(held) < 2:
            super().reopen()
            return
        self.stdout, self.stderr = (  # type: ignore[assignment]
            io.TextIOWrapper(
                buffer, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True
            )
            for buffer in held
        )
        self.stdout.__dict__["mode"] = "w"
        self.stderr.__dict__["mode"] = "w"
        self._keep_flushes()
        _keep_order(*held)


def _keep_order(one: _Buffer, other: _Buffer) -> None:
    """Have each of two buffers write out what the other one holds before it takes something itself.

    The one that was not written to last has an attribute `write` which does that, and gives it to the other;
    the other one is written to without a detour.
    """

    def taking_over(mine: _Buffer, theirs: _Buffer) -> Callable[[Any], int]:
        def write(data: Any, /) -> int:
            try:
                theirs.flush()
            except ValueError:  # closed by the user's code
                pass
            theirs.__dict__["write"] = taken_over[theirs is other]
            mine.__dict__.pop("write", None)
            return mine.write(data)

        return write

    taken_over = taking_over(one, other), taking_over(other, one)
    other.__dict__["write"] = taken_over[1]
