"""Commands and reports in the guest's memory."""

from __future__ import annotations

import ctypes

import pytest

from planaria.machine.mailbox import put_command, take_report
from planaria.machine.wasi.memory import GuestMemory, view_of_address
from planaria_kernel.sandbox.mailbox import CONTENTS, MOST_BYTES, Mailbox


class Both:
    """Both sides of a mailbox in this process, whose memory stands for the guest's."""

    def __init__(self) -> None:
        self.kernel = Mailbox()
        size = CONTENTS + MOST_BYTES
        self.memory = GuestMemory(lambda: view_of_address(self.kernel.address, size))

    def put(self, command: bytes) -> None:
        put_command(self.memory, 0, command)

    def report(self) -> bytes | None:
        return take_report(self.memory, 0)


@pytest.mark.parametrize("size", [1, 100, MOST_BYTES])
def test_what_fits(size: int) -> None:
    """A command is taken once, and a report after it is that of the same entry."""
    both = Both()
    both.put(b"c" * size)
    assert both.report() is None
    assert both.kernel.take() == b"c" * size
    assert both.kernel.take() is None
    assert both.kernel.put(b"r" * size)
    assert both.report() == b"r" * size
    both.put(b"next")
    assert both.report() is None


def test_what_does_not_fit() -> None:
    """A larger command is asked for, a larger report is sent, and neither leaves an older one in its place."""
    both = Both()
    both.put(b"old")
    both.put(b"c" * (MOST_BYTES + 1))
    assert both.kernel.take() is None
    assert not both.kernel.put(b"r" * (MOST_BYTES + 1))
    assert both.report() is None


@pytest.mark.parametrize("length", [MOST_BYTES + 1, 1 << 31, (1 << 32) - 1])
def test_a_guest_that_writes_anything(length: int) -> None:
    """A length that no report has is none."""
    both = Both()
    ctypes.memmove(both.kernel.address + 4, length.to_bytes(4, "little"), 4)
    assert both.report() is None


def test_outside_of_the_memory() -> None:
    """A mailbox that does not lie in the memory is an error of the host, which writes nowhere."""
    both = Both()
    with pytest.raises(OSError, match="not in the guest's memory"):
        put_command(both.memory, 8, b"c")
