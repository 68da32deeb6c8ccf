"""The files of images, kept in the cache under the digests of their descriptions.

Such a file is the length of a JSON text (uint64), the text with a manifest and the digests and lengths of
chunks, and the chunks back to back.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from planaria.errors import RuntimeSetupError, SnapshotError
from planaria.files.memory import MemorySnapshot, read_memory_manifest
from planaria.files.quota import Quota
from planaria.runtime.cache import CompileCache, cache_failure
from planaria.storage.atomic import write_atomically

__all__ = ["find_tree", "keep_tree", "read_tree", "tree_digest", "tree_path"]

_LENGTH: Final = struct.Struct("<Q")


def tree_digest(manifest: Mapping[str, Any]) -> str:
    """Names a tree by all that it holds, since a manifest has the digests of all contents."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def tree_path(digest: str) -> Path:
    """Where the cache has the tree of that digest, if it has it."""
    return CompileCache().directory / f"tree-{digest}"


def keep_tree(tree: MemorySnapshot) -> str:
    """Put a tree into the cache unless it is there; returns its digest. Raises RuntimeSetupError."""
    manifest, chunks = tree.manifest(), tree.chunks()
    digest = tree_digest(manifest)
    place = tree_path(digest)
    if place.exists():
        return digest
    cache = CompileCache()
    cache.prepare()
    names = sorted(chunks)
    text = json.dumps(
        {"manifest": manifest, "chunks": [[name, len(chunks[name])] for name in names]}
    ).encode()
    try:
        write_atomically(place, (_LENGTH.pack(len(text)), text, *(chunks[name] for name in names)))
    except OSError as error:
        raise cache_failure(place, "written", error) from error
    return digest


def find_tree(digest: str) -> MemorySnapshot | None:
    """The tree of that digest, None when it is not in the cache.

    Raises RuntimeSetupError when it is damaged.
    """
    CompileCache().check()
    place = tree_path(digest)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return read_tree(data, digest)
    except (ValueError, SnapshotError) as error:
        raise RuntimeSetupError(
            f"the files of an image in {place} are damaged ({error}); remove that file"
        ) from error


def read_tree(contents: bytes, digest: str) -> MemorySnapshot:
    """The tree of that digest, from what its file has. Raises ValueError and SnapshotError for others."""
    data = memoryview(contents)
    try:
        size = _LENGTH.unpack_from(data)[0]
        at = _LENGTH.size + size
        reported = json.loads(bytes(data[_LENGTH.size : at]))
        chunks: dict[str, bytes] = {}
        for name, length in reported["chunks"]:
            chunks[name] = bytes(data[at : at + length])
            at += length
        tree = read_memory_manifest(reported["manifest"], chunks, quota=Quota())
        if tree_digest(reported["manifest"]) != digest:
            raise ValueError("its description is for other files")
    except (struct.error, LookupError, TypeError) as error:
        raise ValueError(str(error)) from error
    return tree
