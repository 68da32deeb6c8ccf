"""What a snapshot needs of the host that a session does not have."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from planaria.errors import SnapshotMismatch
from planaria.files.filesystem import FileSystem
from planaria.files.manifest import text_of
from planaria.files.mount import MountFileSystem
from planaria.snapshot.parts import SnapshotParts
from planaria.snapshot.record import WORKSPACE, Declaration, fingerprint

__all__ = ["Lacking", "Missing"]

#: What to do when a session lacks something.
Missing = Literal["error", "warn", "ignore"]


@dataclass(frozen=True, slots=True)
class Lacking:
    """What is missing, or is there in another form."""

    callbacks: dict[str, Declaration]
    """As the snapshot declares them."""
    changed: list[str]
    """Callbacks that take other arguments than when the snapshot was taken."""
    mounts: list[str]

    @classmethod
    def of(cls, snapshot: SnapshotParts, declarations: Iterable[Declaration], files: FileSystem) -> Lacking:
        """Compare with what the receiving session declares, by names and fingerprints.

        Raises SnapshotCorrupt for damaged tables.
        """
        here = {declaration["name"]: declaration for declaration in declarations}
        there = {declaration["name"]: declaration for declaration in snapshot.record.declarations}
        mounted = (
            {text_of(mount.path) for mount in files.mounts()} if isinstance(files, MountFileSystem) else set()
        )
        return cls(
            {name: declaration for name, declaration in there.items() if name not in here},
            [name for name in there if name in here and fingerprint(there[name]) != fingerprint(here[name])],
            [path for path in snapshot.header.mounts if path not in mounted],
        )

    def judge(self, missing: Missing) -> None:
        """Raises SnapshotMismatch, or warns, when something is lacking."""
        if missing not in ("error", "warn", "ignore"):
            raise ValueError(f"missing={missing!r}: must be 'error', 'warn' or 'ignore'")
        reported: list[str] = []
        callbacks = [name for name in self.callbacks if name != WORKSPACE]
        if callbacks:
            reported.append(f"the callbacks {', '.join(map(repr, callbacks))}, which this session has not")
        if WORKSPACE in self.callbacks:
            reported.append("a workspace (storage= or tools=), which this session has not")
        if self.changed:
            reported.append(
                f"the callbacks {', '.join(map(repr, self.changed))}, which take other arguments here"
            )
        if self.mounts:
            reported.append(f"mounts at {', '.join(map(repr, self.mounts))}, which this session has not")
        if not reported or missing == "ignore":
            return
        message = f"this snapshot needs {'; '.join(reported)}"
        if missing == "error":
            raise SnapshotMismatch(f"{message}: give them, or restore it with missing='warn' or 'ignore'")
        warnings.warn(message, stacklevel=4)
