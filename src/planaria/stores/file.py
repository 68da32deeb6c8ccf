"""A store in a directory of the host.

    blob/ab/…      contents, by digest
    record/ab/…    snapshots, by digest
    name/@order/1  the versions of a name
    lock           held in common by readers and writers, alone by who removes

Files appear whole: each is written beside its place and linked to it when it is complete, blobs before the
record that needs them and that before the name. A process that is killed leaves at worst files that nothing
leads to; the system takes its lock back. Numbers of versions never meet, since a link does not replace what
is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

from planaria.stores.atomic import PARTIAL, locked, partial_file, sync_directory
from planaria.stores.store import Kind, Shelves, Store

__all__ = ["FileStore", "folder_name"]

Result = TypeVar("Result")

_NAME: Final = "@"
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


class FileStore(Store):
    """Keeps snapshots in the directory `path`, which is made when it is missing.

    Files are written through to the disk before they can be seen. Raises OSError when the directory cannot
    be used.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        for kind in ("blob", "record", "name"):
            (self.path / kind).mkdir(parents=True, exist_ok=True)

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        with locked(self.path / "lock", alone=False):
            return action(_Directory(self.path))

    _write = _read

    def _collect(self, action: Callable[[Shelves], Result]) -> Result:
        with locked(self.path / "lock", alone=True):
            for leftover in self.path.glob(f"*/*/*{PARTIAL}"):
                leftover.unlink()  # nobody is writing
            return action(_Directory(self.path))


class _Directory(Shelves):
    def __init__(self, root: Path) -> None:
        self._root = root

    def _place(self, kind: Kind, digest: str) -> Path:
        return self._root / kind / digest[:2] / digest

    def get(self, kind: Kind, digest: str) -> bytes | None:
        try:
            return self._place(kind, digest).read_bytes()
        except FileNotFoundError:
            return None

    def has(self, kind: Kind, digest: str) -> bool:
        return self._place(kind, digest).exists()

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        place = self._place(kind, digest)
        place.parent.mkdir(exist_ok=True)
        with partial_file(place, data) as partial:
            os.replace(partial, place)
        sync_directory(place.parent)

    def remove(self, kind: Kind, digest: str) -> int:
        place = self._place(kind, digest)
        size = place.stat().st_size
        place.unlink()
        return size

    def digests(self, kind: Kind) -> Iterable[str]:
        return [place.name for place in (self._root / kind).glob("*/*") if not place.name.endswith(PARTIAL)]

    def names(self) -> Iterable[str]:
        return [
            unquote(place.name.removeprefix(_NAME))
            for place in (self._root / "name").iterdir()
            if place.name.startswith(_NAME) and any(one.name.isdecimal() for one in place.iterdir())
        ]

    def _folder(self, name: str) -> Path:
        return self._root / "name" / folder_name(name)

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        try:
            places = [place for place in self._folder(name).iterdir() if place.name.isdecimal()]
        except FileNotFoundError:
            return []
        return sorted((int(place.name), place.read_bytes()) for place in places)

    def append(self, name: str, data: bytes) -> None:
        folder = self._folder(name)
        folder.mkdir(exist_ok=True)
        number = max((int(place.name) for place in folder.iterdir() if place.name.isdecimal()), default=0)
        with partial_file(folder / "version", data) as partial:
            while True:
                number += 1
                try:
                    os.link(partial, folder / str(number))
                    break
                except FileExistsError:  # another process was faster
                    continue
            os.unlink(partial)
        sync_directory(folder)
        sync_directory(folder.parent)

    def forget(self, name: str, number: int) -> None:
        folder = self._folder(name)
        (folder / str(number)).unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


def folder_name(name: str) -> str:
    """A name as one that any filesystem takes, also one that does not tell capitals, and that leads nowhere
    else.
    """
    return _NAME + "".join(
        letter if letter in _PLAIN else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name
    )
