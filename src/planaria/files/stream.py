"""An open file of a filesystem as a Python file object."""

from __future__ import annotations

import io
import os

from planaria.files.filesystem import Handle

__all__ = ["HandleIO"]


class HandleIO(io.RawIOBase):
    """An unbuffered file object over a handle, which it closes."""

    def __init__(
        self, handle: Handle, name: str, *, readable: bool, writable: bool, appending: bool = False
    ) -> None:
        self._handle = handle
        self._readable = readable
        self._writable = writable
        self._appending = appending
        self._position = handle.stat().size if appending else 0
        self.name = name

    def readable(self) -> bool:
        return self._readable

    def writable(self) -> bool:
        return self._writable

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = self._handle.read_into(memoryview(buffer).cast("B"), self._position)
        self._position += count
        return count

    def write(self, data: bytes) -> int:  # type: ignore[override]
        view = memoryview(data).cast("B")
        if self._appending:
            self._position = self._handle.append(view)
        else:
            self._handle.write(view, self._position)
            self._position += len(view)
        return len(view)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += self._handle.stat().size
        if offset < 0:
            raise ValueError("a position cannot be negative")
        self._position = offset
        return offset

    def tell(self) -> int:
        return self._position

    def truncate(self, size: int | None = None) -> int:
        size = self._position if size is None else size
        self._handle.truncate(size)
        return size

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._handle.close()
