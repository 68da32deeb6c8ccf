"""What filesystems without a state of their own are as values: a snapshot only says that they were there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from planaria.errors import SnapshotError
from planaria.files.filesystem import FileSystemSnapshot, Manifest
from planaria.files.resolution import NodeFileSystem

__all__ = ["StatelessFileSystem"]


class StatelessFileSystem(NodeFileSystem):
    """A filesystem that cannot change, or whose contents are kept elsewhere."""

    __slots__ = ()

    manifest_format: ClassVar[str]
    """The format that its manifests name."""

    def accepts(self, snapshot: FileSystemSnapshot) -> bool:
        return (
            isinstance(snapshot, _StatelessSnapshot)
            and snapshot.filesystem.manifest_format == self.manifest_format
        )

    def snapshot(self) -> FileSystemSnapshot:
        return _StatelessSnapshot(self)

    def restore(self, snapshot: FileSystemSnapshot) -> None:
        """Nothing to do: there is no state."""

    def fork(self) -> Self:
        return self

    def read_manifest(self, manifest: Manifest, chunks: Mapping[str, bytes]) -> FileSystemSnapshot:
        if manifest != {"format": self.manifest_format}:
            raise SnapshotError(f"the description of a filesystem is not of format {self.manifest_format}")
        return _StatelessSnapshot(self)


class _StatelessSnapshot(FileSystemSnapshot):
    __slots__ = ("filesystem",)

    def __init__(self, filesystem: StatelessFileSystem) -> None:
        self.filesystem = filesystem

    def open(self) -> StatelessFileSystem:
        return self.filesystem.fork()

    def manifest(self) -> Manifest:
        return {"format": self.filesystem.manifest_format}

    def chunks(self) -> Mapping[str, bytes]:
        return {}
