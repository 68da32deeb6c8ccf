"""What the text commands share: files as inputs, text that keeps every byte, and messages of the system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from ..command import Input, Process

#: How much output is gathered before it is written.
BATCH = 1 << 16


def decode(data: bytes) -> str:
    """Bytes as text; those that are not UTF-8 survive as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The bytes that `decode` read; other lone surrogates become what their code points would be."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def reason(problem: OSError) -> str:
    """The system's words for an error."""
    return problem.strerror or (os.strerror(problem.errno) if problem.errno else str(problem))


class FileInput:
    """A file as a command's input."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline()

    def chunks(self) -> Iterator[bytes]:
        while data := self._file.read(BATCH):
            yield data

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)

    def close(self) -> None:
        self._file.close()


def open_input(process: Process, name: str) -> Input:
    """The named file for reading; `-` and /dev/stdin are standard input. Raises OSError."""
    if name in ("-", "/dev/stdin", "/dev/fd/0"):
        return process.stdin
    path = process.path(name)
    if os.path.isdir(path):
        raise IsADirectoryError(21, "Is a directory", name)
    return FileInput(open(path, "rb"))


def is_directory(process: Process, name: str) -> bool:
    """Whether an operand is a directory; names of descriptors are not looked up, which may read them."""
    return name != "-" and not name.startswith("/dev/") and os.path.isdir(process.path(name))


def close_input(source: Input) -> None:
    """Close what `open_input` opened."""
    if isinstance(source, FileInput):
        source.close()
