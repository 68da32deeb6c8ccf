"""What a store keeps beside snapshots: compiled native code and images for the machines that use it, and
outputs of the cells of served sessions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from contextlib import suppress
from functools import partial
from typing import Final, Literal
from urllib.parse import unquote

from planaria.errors import StorageError
from planaria.storage.documents import CHUNK, Backend, Documents
from planaria.storage.paths import escaped

__all__ = ["AttachmentKind", "Attachments", "image_name"]

AttachmentKind = Literal["image", "native", "output"]
_NAME: Final = "contents"
#: How the names of images begin that were saved from sessions.
_SAVED: Final = "saved-"


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

    def note_use(self, kind: AttachmentKind, name: str) -> None:
        """Note that a name's contents are wanted (see `drop_unused`)."""
        self._backend.write(partial(_note_use, f"{kind}/@{escaped(name)}"))

    def drop(self, kind: AttachmentKind, name: str) -> None:
        """Remove the contents of a name, if there are any."""
        self._backend.write(lambda documents: documents.drop(_place(kind, name)))

    def drop_unused(self, before: float, needed: Set[str]) -> tuple[int, int]:
        """Remove compiled native code and images that were not sent or used since `before`, in seconds
        since 1970; how many, and their bytes.

        `needed` are the digests of images saved from sessions on which snapshots rest: these stay.
        """
        folders = self._backend.read(
            lambda documents: [one for kind in ("native", "image") for one in documents.folders(kind)]
        )
        count = size = 0
        for folder in folders:
            name = unquote(folder.partition("/@")[2])
            if name.startswith(_SAVED) and name.removeprefix(_SAVED) in needed:
                continue
            dropped = self._backend.write(partial(_drop_unused, folder, before))
            if dropped is not None:
                self._backend.write(partial(_drop, _use_place(folder)))
                count, size = count + 1, size + dropped
        return count, size


def image_name(digest: str) -> str:
    """The name of an image that was saved from a session."""
    return _SAVED + digest


def _drop_unused(folder: str, before: float, documents: Documents) -> int | None:
    """Drop the contents in a folder; their bytes, or None when they were used since."""
    entry = documents.entry(f"{folder}/{_NAME}")
    if entry is None:
        return None
    noted = documents.fetch(_use_place(folder)) or b""
    used = max(entry.modified, float(noted) if noted.isdigit() else 0.0)
    if not used:  # by an earlier version, where there is no time of documents: it counts from now on
        _note_use(folder, documents)
        return None
    if used >= before:
        return None
    documents.drop(f"{folder}/{_NAME}")
    return entry.size


def _drop(place: str, documents: Documents) -> None:
    documents.drop(place)


def _note_use(folder: str, documents: Documents) -> None:
    documents.put(_use_place(folder), b"%d" % time.time())


def _use_place(folder: str) -> str:
    """Where the use of the contents in a folder is noted."""
    return f"use/{folder}/at"


def _place(kind: str, name: str) -> str:
    return f"{kind}/@{escaped(name)}/{_NAME}"
