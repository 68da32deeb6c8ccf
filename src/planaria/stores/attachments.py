"""What a store keeps beside snapshots: compiled native code and images for the machines that use it, and
outputs of the cells of served sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Literal

from planaria.errors import StorageError
from planaria.storage.documents import CHUNK, Backend, Documents
from planaria.storage.paths import escaped

__all__ = ["AttachmentKind", "Attachments"]

AttachmentKind = Literal["image", "native", "output"]
_NAME: Final = "contents"


class Attachments:
    """Contents by kind and name. The methods raise StorageError."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def put(self, kind: AttachmentKind, name: str, data: bytes) -> None:
        """Keep contents, in place of what has that name."""
        upload = self._backend.upload()
        try:
            for start in range(0, len(data), CHUNK):
                upload.write(data[start : start + CHUNK])
            self._backend.write(lambda documents: documents.adopt(_place(kind, name), upload))
        finally:
            with suppress(StorageError):
                upload.discard()

    def has(self, kind: AttachmentKind, name: str) -> bool:
        """Whether a name has contents."""
        return self._backend.read(lambda documents: documents.entry(_place(kind, name))) is not None

    def get(self, kind: AttachmentKind, name: str) -> bytes | None:
        """The contents of a name; None when there are none."""

        def action(documents: Documents) -> Iterator[bytes] | None:
            return documents.chunks(_place(kind, name))

        chunks = self._backend.read(action)
        return None if chunks is None else b"".join(chunks)

    def drop(self, kind: AttachmentKind, name: str) -> None:
        """Remove the contents of a name, if there are any."""
        self._backend.write(lambda documents: documents.drop(_place(kind, name)))


def _place(kind: str, name: str) -> str:
    return f"{kind}/@{escaped(name)}/{_NAME}"
