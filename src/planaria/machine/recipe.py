"""Recipes: what an image is made of, in a form that travels with snapshots."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from planaria.limits import Limits, ShellLimits
from planaria.runtime import tiers
from planaria.runtime.artifact import artifact
from planaria.runtime.guest_files import guest_digest

__all__ = ["SETTINGS", "Recipe"]

#: Changes when images are made in another way.
_FORMAT: Final = 9
#: What the kernel of every image is configured with ("configure"): the settings of a default session.
#: So such a session need not tell it.
SETTINGS: Final[dict[str, Any]] = {
    "callbacks": [],
    "recursion_limit": Limits().recursion,
    "value_limit": Limits().value,
    "argv": [""],
    "commands": [],
    "shell_limits": asdict(ShellLimits()),
}
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MODULE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_MAX_PRELOAD: Final = 1000
_MAX_TEXT: Final = 4096
_MAX_SETUP: Final = 1 << 20
_MAX_LAYERS: Final = 64


@dataclass(frozen=True)
class Recipe:
    """What an image is made of. One with nothing of its own is the plain image, where all others begin."""

    preload: tuple[str, ...] = ()
    """Modules imported beside those the kernel needs."""
    artifact: str = field(default_factory=lambda: artifact().digest)
    guest: str = field(default_factory=guest_digest)
    base: Recipe | None = None
    """The image it begins from, None for the plain one."""
    setup: str = ""
    """Source that is run in `__main__`."""
    files: str | None = None
    """The digest of the files it is made with (see `machine.image_files`); None for those of its base."""
    saved: str | None = None
    """Of an image that was once a session, what it is by its contents: it cannot be made again."""

    @property
    def is_plain(self) -> bool:
        return self == Recipe(artifact=self.artifact, guest=self.guest)

    @property
    def is_current(self) -> bool:
        """Whether it is for the runtime that is installed here."""
        return self.artifact == artifact().digest and self.guest == guest_digest()

    @property
    def key(self) -> str:
        """Names the recipe in the cache."""
        text = json.dumps([_FORMAT, SETTINGS, self.to_json()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def tier(self) -> tiers.Tier:
        """The least tier on which it can be made, as far as its modules tell."""
        full = any(artifact().needs_full(name) for one in self.layers() for name in one.preload)
        return tiers.Tier.FULL if full else tiers.Tier.CORE

    def layers(self) -> Iterator[Recipe]:
        """This recipe, its base, the base of that, and so on."""
        one: Recipe | None = self
        while one is not None:
            yield one
            one = one.base

    # -- as JSON -------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Fields that say nothing are left out."""
        fields: dict[str, Any] = {
            "preload": list(self.preload),
            "artifact": self.artifact,
            "guest": self.guest,
        }
        if self.base is not None:
            fields["base"] = self.base.to_json()
        for name in ("setup", "files", "saved"):
            if value := getattr(self, name):
                fields[name] = value
        return fields

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The inverse of `to_json`; the value may come from anyone. Raises ValueError."""
        return cls._read(value, _MAX_LAYERS)

    @classmethod
    def _read(cls, value: Any, layers: int) -> Self:
        match value:
            case {"preload": list(preload), "artifact": str(build), "guest": str(guest), **rest} if (
                layers
                and len(preload) <= _MAX_PRELOAD
                and all(map(_is_module, preload))
                and max(len(build), len(guest)) <= _MAX_TEXT
            ):
                pass
            case _:
                raise ValueError("the recipe of an image is not well formed")
        base, setup = rest.pop("base", None), rest.pop("setup", "")
        files: str | None = rest.pop("files", None)  # type: ignore[assignment]
        saved: str | None = rest.pop("saved", None)  # type: ignore[assignment]
        if (
            rest
            or type(setup) is not str
            or len(setup) > _MAX_SETUP
            or not all(one is None or (type(one) is str and _DIGEST.fullmatch(one)) for one in (files, saved))
        ):
            raise ValueError("the recipe of an image has fields that are not known here, or damaged ones")
        return cls(
            tuple(preload),
            build,
            guest,
            None if base is None else cls._read(base, layers - 1),
            setup,
            files,
            saved,
        )


def _is_module(name: Any) -> bool:
    return type(name) is str and len(name) <= _MAX_TEXT and _MODULE.fullmatch(name) is not None
