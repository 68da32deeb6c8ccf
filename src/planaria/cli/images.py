"""`planaria image`: building, listing and removing images."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from planaria.images import registry
from planaria.images.image import Image
from planaria.machine.image import image_place

__all__ = ["build_image", "list_images", "remove_images"]


def build_image(name: str, *, files: Sequence[tuple[Path, str]], **arguments: Any) -> None:
    """Build it and say what came of it. Raises ImageError."""
    console = Console()
    with console.status(f"building {escape(name)}"):
        image = Image.build(name, files={guest: host for host, guest in files}, **arguments)
    packages = f" with {', '.join(image.packages)}" if image.packages else ""
    console.print(
        f"{image.name}: {image.digest[:12]}, {image.size >> 20} MiB{packages}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def list_images(*, as_json: bool) -> None:
    entries = registry.entries()
    if as_json:
        print(json.dumps([_described(entry) for entry in entries], indent=2))
        return
    console = Console(highlight=False)
    if not entries:
        console.print("there are no images; make one with: planaria image build NAME --preload pandas")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("NAME", no_wrap=True, min_width=max(len(entry.name) for entry in entries))
    for title in ("CREATED", "ON DISK"):
        table.add_column(title, no_wrap=True)
    table.add_column("HOLDS", overflow="fold")
    for entry in entries:
        created = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.created))
        size = f"{_size(entry) >> 20} MiB"
        table.add_row(escape(entry.name), created, size, escape(_contents(entry)))
    console.print(table)


def remove_images(names: Sequence[str]) -> None:
    """Raises ImageError for the first that is not there; none is removed then."""
    for name in names:
        registry.find_entry(name)
    for name in dict.fromkeys(names):
        registry.unregister(name)


def _contents(entry: registry.RegisteredImage) -> str:
    """In words, what it was made of."""
    if any(layer.saved for layer in entry.recipe.layers()):
        return "a saved session"
    modules = [name for layer in reversed(list(entry.recipe.layers())) for name in layer.preload]
    return ", ".join([*dict.fromkeys(modules), *entry.packages]) or "files and code"


def _size(entry: registry.RegisteredImage) -> int:
    """Bytes on the disk; holes take none. 0 when it is made again at its first use."""
    try:
        status = (image_place(entry.recipe) / "memory").stat()
    except OSError:
        return 0
    return getattr(status, "st_blocks", -(-status.st_size // 512)) * 512


def _described(entry: registry.RegisteredImage) -> dict[str, Any]:
    return {
        "name": entry.name,
        "created": entry.created,
        "bytes": _size(entry),
        "packages": list(entry.packages),
        "recipe": entry.recipe.to_json(),
    }
