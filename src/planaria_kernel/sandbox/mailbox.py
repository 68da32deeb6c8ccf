"""A place in the sandbox's memory where the host puts a command, and the kernel its report.

Asking for a command and sending a report are host calls, and each of those costs as much as a small cell.
What is put into memory before the kernel is entered, and taken from it afterwards, costs next to nothing.
What is too large for that goes by host calls.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Final

__all__ = ["CONTENTS", "MOST_BYTES", "WORD_BYTES", "Mailbox"]

WORD_BYTES: Final = 4
#: It begins with two numbers: how many bytes the command has that waits in it, and the report; 0 without
#: one. The contents of either come behind that.
CONTENTS: Final = 2 * WORD_BYTES
#: What either may have, in bytes: with the numbers it is half a page.
MOST_BYTES: Final = 2048 - CONTENTS

_number: Final = Struct("<I")
_read: Final = _number.unpack_from
_write: Final = _number.pack_into


class Mailbox:
    """The kernel's side of it."""

    __slots__ = ("_contents", "_memory", "address")

    def __init__(self) -> None:
        self._memory = memory = array("B", bytes(CONTENTS + MOST_BYTES))
        self._contents = memoryview(memory)[CONTENTS:]
        #: Where the host finds it.
        self.address = memory.buffer_info()[0]

    def take(self) -> bytes | None:
        """The command; None when it is to be asked for."""
        # Not by indices: CPython has no special instructions for arrays, and counts each time in the code's
        # own memory that it has none.
        (size,) = _read(self._memory)
        if size == 0:
            return None
        _write(self._memory, 0, 0)
        return self._contents[:size].tobytes()

    def put(self, report: bytes) -> bool:
        """Leave a report for the host, if it fits."""
        size = len(report)
        if size > MOST_BYTES:
            return False
        self._contents[:size] = report
        _write(self._memory, WORD_BYTES, size)
        return True
