"""What users make to hand files to sessions: storages and mounts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from time import time_ns
from typing import Literal

from planaria.files.filesystem import FileSystem, FileSystemUsage
from planaria.files.memory import MemoryFileSystem, MemorySnapshot
from planaria.files.overlay import OverlayFileSystem
from planaria.files.quota import Quota
from planaria.files.view import Files
from planaria.parameters import suggest_field_names, suggest_names

__all__ = ["Mount", "VfsStorage"]


class VfsStorage(Files):
    """Files in memory to keep, and to share between sessions (at /data unless said otherwise).

    It can be read and written from the host at any time and from several threads; sessions see each
    other's changes at once. `quota` limits it for all writers.
    """

    filesystem: MemoryFileSystem

    @suggest_names
    def __init__(self, *, quota: Quota | None = None, clock: Callable[[], int] = time_ns) -> None:
        if quota is not None and not isinstance(quota, Quota):
            raise TypeError(f"quota= must be a planaria.Quota or None, not {type(quota).__name__}")
        if not callable(clock):
            raise TypeError(f"clock= must be a function, not {type(clock).__name__}")
        super().__init__(MemoryFileSystem(clock=clock, quota=quota))

    def usage(self) -> FileSystemUsage:
        """Bytes and nodes used, and their limits."""
        return self.filesystem.usage()

    def snapshot(self) -> MemorySnapshot:
        """The present state as an immutable value; costs by what changed since the last one."""
        return self.filesystem.snapshot()

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Go back to a state; files that sessions have open become stale (ESTALE)."""
        self.filesystem.restore(snapshot)

    def fork(self) -> VfsStorage:
        """An independent storage with the same contents, which are shared until they change."""
        other = VfsStorage.__new__(VfsStorage)
        Files.__init__(other, self.filesystem.fork())
        return other


@suggest_field_names
@dataclass(frozen=True, slots=True)
class Mount:
    """A directory of the host that a session sees at `guest_path`.

    `mode` is "ro" (read only), "rw" (the guest's changes are real), or "overlay" (reads go through,
    changes stay in the session).

    On an "rw" mount, programs of the host follow the symbolic links that the guest creates. Links that are
    absolute or could lead out of the directory are refused (EPERM) unless `escaping_links` is true.
    """

    host_path: str | PathLike[str]
    guest_path: str
    mode: Literal["ro", "rw", "overlay"] = "ro"
    escaping_links: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("ro", "rw", "overlay"):
            raise ValueError(f"the mode of a mount must be 'ro', 'rw' or 'overlay', not {self.mode!r}")
        if not isinstance(self.host_path, (str, PathLike)):
            raise TypeError(f"host_path must be a str or a path, not {type(self.host_path).__name__}")
        if not isinstance(self.guest_path, str):
            raise TypeError(f"guest_path must be a str, not {type(self.guest_path).__name__}")
        parts = self.guest_path.split("/")
        if not self.guest_path.startswith("/") or ".." in parts or not any(parts):
            raise ValueError(f"guest_path must be absolute, without '..', and not '/': {self.guest_path!r}")

    def filesystem(
        self,
        *,
        quota: Quota | None = None,
        clock: Callable[[], int] = time_ns,
        same_time: int | None = None,
        outside: Callable[[FileSystem], FileSystem] | None = None,
    ) -> FileSystem:
        """The filesystem to mount; `quota` and `clock` are for the changes of an overlay, `same_time` is for
        `HostFileSystem`. `outside` gives what is to be seen in place of the directory.
        """
        from planaria.files.host import HostFileSystem

        host: FileSystem = HostFileSystem(
            os.fspath(self.host_path),
            read_only=self.mode != "rw",
            escaping_links=self.escaping_links,
            same_time=same_time,
        )
        if outside is not None:
            host = outside(host)
        return OverlayFileSystem(host, quota=quota, clock=clock) if self.mode == "overlay" else host
