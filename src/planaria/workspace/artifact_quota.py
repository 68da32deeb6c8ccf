"""How much the code of sessions may keep as artifacts: it is the host's disk that they fill."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from planaria.errors import ArtifactError
from planaria.parameters import suggest_field_names

if TYPE_CHECKING:
    from planaria.workspace.artifacts import ArtifactStore

__all__ = ["ArtifactQuota", "ArtifactUse"]

#: What is saved before all is measured again, as a share of the quota: others may save beside us.
_SHARE: Final = 16


@suggest_field_names
@dataclass(frozen=True, slots=True)
class ArtifactQuota:
    """Bounds on the artifacts of a workspace, for what code in a session saves; None is without bound.

    What the host saves itself, with `session.save_artifact` or a storage, is counted but not refused.
    """

    bytes: int | None = 4 << 30
    """Of the data of all artifacts together."""
    count: int | None = 100_000
    """How many artifacts there may be."""

    def __post_init__(self) -> None:
        for name, value in (("bytes", self.bytes), ("count", self.count)):
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"ArtifactQuota({name}={value!r}): must be a non-negative integer or None")


class ArtifactUse:
    """Counts what is saved against a quota; all sessions of a workspace share it.

    Measuring reads the whole list, so it is done when the estimate, which only grows, reaches the quota, and
    whenever a sixteenth of the quota was saved since.
    """

    def __init__(self, quota: ArtifactQuota) -> None:
        self.quota = quota
        self._lock = threading.Lock()
        #: Bytes and artifacts that can still be saved before it is measured again.
        self._bytes = self._count = -1

    def admit(
        self, store: ArtifactStore, name: str, size: int, *, new: bool = True, on_their_way: int = 0
    ) -> None:
        """Count `size` bytes more for an artifact, which is a `new` one or goes on growing.

        `on_their_way` are bytes of artifacts that are not complete, and so not in the store yet. Raises
        ArtifactError, which names the bound, when they do not fit.
        """
        quota = self.quota
        if quota.bytes is None and quota.count is None:
            return
        with self._lock:
            self._bytes -= size
            self._count -= new
            if self._bytes >= 0 and self._count >= 0:
                return
            used, count = self._measure(store, on_their_way)
            replaced = store.get(name) if new else None
            if replaced is not None:
                used, count = used - replaced.size, count - 1
            if quota.bytes is not None and used + size > quota.bytes:
                raise _refusal(name, f"bytes={quota.bytes}", f"{used} bytes are kept, {size} would come")
            if new and quota.count is not None and count >= quota.count:
                raise _refusal(name, f"count={quota.count}", f"{count} artifacts are kept")
            self._bytes -= size
            self._count -= new

    def _measure(self, store: ArtifactStore, on_their_way: int) -> tuple[int, int]:
        used, count = store.usage()
        used += on_their_way
        quota = self.quota
        room = (1 << 62) if quota.bytes is None else quota.bytes - used
        self._bytes = min(room, (1 << 62) if quota.bytes is None else quota.bytes // _SHARE)
        room = (1 << 62) if quota.count is None else quota.count - count
        self._count = min(room, (1 << 62) if quota.count is None else quota.count // _SHARE)
        return used, count


def _refusal(name: str, bound: str, reported: str) -> ArtifactError:
    return ArtifactError(
        f"no room for the artifact {name!r}: the workspace has ArtifactQuota({bound}) and {reported}; "
        "delete artifacts that are not needed, or give the session another artifact_quota="
    )
