"""The host's side of the mailbox in the guest's memory; see `planaria_kernel.sandbox.mailbox`."""

from __future__ import annotations

from struct import Struct
from typing import Final

from planaria.machine.wasi.memory import GuestMemory
from planaria_kernel.sandbox.mailbox import CONTENTS, MOST_BYTES, WORD_BYTES

__all__ = ["put_command", "take_report"]

_numbers: Final = Struct("<II")
_number: Final = Struct("<I")


def put_command(memory: GuestMemory, mailbox: int, command: bytes) -> None:
    """Put a command there, if it fits, for a kernel at rest; otherwise it asks for it."""
    size = len(command)
    if mailbox + CONTENTS + MOST_BYTES > memory.size:
        memory.require(mailbox, CONTENTS + MOST_BYTES)
    if size > MOST_BYTES:
        size = 0
    else:
        start = mailbox + CONTENTS
        memory.view[start : start + size] = command
    _numbers.pack_into(memory.view, mailbox, size, 0)


def take_report(memory: GuestMemory, mailbox: int) -> bytes | None:
    """The report that the kernel left there; None without one. The guest may have written anything."""
    size: int = _number.unpack_from(memory.view, mailbox + WORD_BYTES)[0]
    start = mailbox + CONTENTS
    return memory.view[start : start + size].tobytes() if 0 < size <= MOST_BYTES else None
