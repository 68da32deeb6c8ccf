"""The header of a snapshot: what has to be known before anything else is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from planaria.errors import SnapshotCorrupt
from planaria.machine.memory import WASM_PAGE_BYTES
from planaria.snapshot.record import is_count

__all__ = ["Header"]

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MODULE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_MAX_MEMORY: Final = 1 << 32
_MAX_PRELOAD: Final = 1000
_MAX_TEXT: Final = 4096


@dataclass(frozen=True, slots=True)
class Header:
    """The values of the header, each of its type. Fields that this version does not know are ignored."""

    image: str
    recipe: dict[str, Any]
    memory: int
    count: int
    tier: str
    parent: str | None
    callbacks: dict[str, str]
    mounts: tuple[str, ...]
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return {
            "image": {"digest": self.image, "recipe": self.recipe},
            "memory": self.memory,
            "count": self.count,
            "tier": self.tier,
            "parent": self.parent,
            "callbacks": self.callbacks,
            "mounts": list(self.mounts),
            "versions": self.versions,
        }

    @classmethod
    def read(cls, value: dict[str, Any]) -> Header:
        """Raises SnapshotCorrupt."""
        match value:
            case {
                "image": {"digest": str(image), "recipe": dict(recipe)},
                "memory": int(memory),
                "count": int(count),
                "tier": "core" | "full" as tier,
                "parent": (str() | None) as parent,
                "callbacks": dict(callbacks),
                "mounts": list(mounts),
                "versions": dict(versions),
            } if (
                _DIGEST.fullmatch(image)
                and (parent is None or _DIGEST.fullmatch(parent))
                and type(memory) is int
                and 0 < memory <= _MAX_MEMORY
                and memory % WASM_PAGE_BYTES == 0
                and is_count(count)
                and _are_texts(callbacks)
                and _are_texts(versions)
                and all(type(path) is str for path in mounts)
                and _is_recipe(recipe)
            ):
                return cls(image, recipe, memory, count, tier, parent, callbacks, tuple(mounts), versions)
        raise SnapshotCorrupt("the header of this snapshot is not well formed")


def _are_texts(value: dict[str, Any]) -> bool:
    return all(type(text) is str and len(text) <= _MAX_TEXT for text in value.values())


def _is_recipe(recipe: dict[str, Any]) -> bool:
    preload = recipe.get("preload")
    return (
        type(preload) is list
        and len(preload) <= _MAX_PRELOAD
        and all(type(name) is str and len(name) <= _MAX_TEXT and _MODULE.fullmatch(name) for name in preload)
        and all(type(recipe.get(key)) is str for key in ("artifact", "guest"))
    )
