"""`planaria setup --to STORE` and `--from STORE`: what one machine has compiled and built, for others.

Compiled modules are kept by what they depend on: the system, the engine and its settings, the processor's
features, the WebAssembly. So a machine finds what it can use by its own name for that. An image that was
built is kept as a snapshot of a session at its beginning, from which it is made elsewhere.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planaria.errors import ImageError, StorageError
from planaria.images import registry
from planaria.images.image import Image
from planaria.images.layers import image_of
from planaria.machine.recipe import Recipe
from planaria.runtime.compiler import environment, module_digest
from planaria.runtime.tiers import Tier, is_compiled
from planaria.runtime.transfer import export_runtime, import_runtime
from planaria.session._sync.session import Session
from planaria.snapshot.snapshot import Snapshot
from planaria.stores.store import Store
from planaria_kernel.protocol import decode, encode

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["fetch", "send"]


def _native_name(tier: Tier) -> str:
    facts = "\n".join(
        [*(f"{name}={value}" for name, value in sorted(environment().items())), module_digest(tier)]
    )
    return f"{tier.value}-{hashlib.blake2b(facts.encode(), digest_size=16).hexdigest()}"


def send(store: Store, tiers: Sequence[Tier], images: Sequence[str], console: Console) -> None:
    """Keep compiled tiers and images in a store, unless they are there."""
    for tier in tiers:
        name = _native_name(tier)
        store.attachments.note_use("native", name)
        if store.attachments.has("native", name):
            console.print(f"{tier.value} runtime: already in the store")
            continue
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "runtime"
            export_runtime(file, [tier])
            data = file.read_bytes()
        store.attachments.put("native", name, data)
        console.print(f"{tier.value} runtime: {len(data) / 1e6:.0f} MB sent")
    for one in images:
        image = Image.find(one)
        with Session(image=image) as session:
            snapshot = session.snapshot_state()
        store.keep_images(snapshot)
        store.attachments.put("image", one, encode((bytes(snapshot), list(image.packages))))
        _note_use_of_image(store, one, snapshot)
        console.print(f"image {one}: {len(snapshot) / 1e6:.0f} MB sent")


def fetch(store: Store, tiers: Sequence[Tier], images: Sequence[str], console: Console) -> None:
    """Take tiers that are not compiled here, and images, from a store.

    What it does not have for this machine is left to be compiled. Raises ClickException for an image that is
    not there.
    """
    for tier in tiers:
        if is_compiled(tier):
            console.print(f"{tier.value} runtime: already there")
            continue
        data = store.attachments.get("native", _native_name(tier))
        if data is None:
            console.print(f"{tier.value} runtime: the store has none for a machine like this one")
            continue
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "runtime"
            file.write_bytes(data)
            import_runtime(file, origin="the store")
        _note_use(console, partial(store.attachments.note_use, "native", _native_name(tier)))
        console.print(f"{tier.value} runtime: {len(data) / 1e6:.0f} MB fetched")
    for one in images:
        found = store.attachments.get("image", one)
        if found is None:
            raise click.ClickException(f"the store has no image {one!r}: send it by `planaria setup --to`")
        data, packages = decode(found)
        store.take_images(Snapshot(data))
        _note_use(console, partial(_note_use_of_image, store, one, Snapshot(data)))
        with Session.from_snapshot(Snapshot(data)):
            pass  # the image is in the cache now
        recipe = Recipe.from_json(Snapshot(data).header.recipe)
        if any(entry.name == one and entry.recipe != recipe for entry in registry.entries()):
            raise ImageError(f"there is another image {one!r} here: remove it before")
        registry.register(one, recipe, partial(image_of, recipe), tuple(packages))
        console.print(f"image {one}: {len(found) / 1e6:.0f} MB fetched")


def _note_use_of_image(store: Store, name: str, snapshot: Snapshot) -> None:
    store.attachments.note_use("image", name)
    # After it, what it rests on: so none of these is taken for unused before it is.
    store.keep_images(snapshot)


def _note_use(console: Console, note: Callable[[], None]) -> None:
    """What is not used is dropped some day; a computer that may only read cannot prevent that."""
    try:
        note()
    except StorageError as error:
        console.print(f"warning: the store does not know that it was used: {error}")
