"""What an awk program prints to: files, commands, standard output under its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from .streams import encode


class Sink:
    """What a program prints to under a name."""

    def __init__(self, write: Callable[[bytes], object], file: BinaryIO | None, shell: str | None) -> None:
        self.write = write
        self.file = file
        #: For `|`: the command that gets everything when the sink is closed.
        self.shell = shell
        self.parts: list[str] = []

    def add(self, text: str) -> None:
        self.parts.append(text)
        if len(self.parts) > 512 and self.shell is None:
            self.flush()

    def flush(self) -> None:
        if self.parts and self.shell is None:
            self.write(encode("".join(self.parts)))
            self.parts.clear()


class StandardSink(Sink):
    """Standard output under its name: in order with what is printed without one."""

    def __init__(self, printed: list[str]) -> None:
        super().__init__(lambda data: None, None, None)
        self.printed = printed

    def add(self, text: str) -> None:
        self.printed.append(text)


class UnbufferedSink(Sink):
    def add(self, text: str) -> None:
        self.write(encode(text))
