"""Files of a session or storage for everything that speaks fsspec, such as `pandas.read_csv`.

    pandas.read_csv("planaria:///home/user/sales.csv", storage_options={"files": session.files})

It needs the extra `planaria[fsspec]`, and nothing else imports this module.
"""

from __future__ import annotations

from datetime import UTC
from typing import IO, Any, Protocol

import fsspec  # type: ignore[import-untyped]
from fsspec.spec import AbstractFileSystem  # type: ignore[import-untyped]

from planaria.files.filesystem import FileKind, Stat

__all__ = ["PlanariaFileSystem"]

_TYPES = {FileKind.DIRECTORY: "directory", FileKind.REGULAR: "file", FileKind.SYMBOLIC_LINK: "link"}


class FileAccess(Protocol):
    """What is used of `Files`."""

    def exists(self, path: str) -> bool: ...

    def stat(self, path: str, *, follow: bool = True) -> Stat: ...

    def listdir(self, path: str) -> list[str]: ...

    def open(self, path: str, mode: str) -> IO[Any]: ...

    def read_bytes(self, path: str) -> bytes: ...

    def write_bytes(self, path: str, data: bytes) -> int: ...

    def mkdir(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> None: ...

    def remove(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...


class PlanariaFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The fsspec interface of a `Files` view; errors are those of the built-in `open`."""

    protocol = "planaria"
    root_marker = "/"
    cachable = False

    def __init__(self, files: FileAccess, **options: Any) -> None:
        super().__init__(**options)
        self.files = files

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = str(path)
        if text.startswith("planaria://"):
            text = text[len("planaria://") :]
        return "/" + text.strip("/")

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        return self._describe(name, self._translated(self.files.stat, name))

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        name = self._strip_protocol(path)
        info = self.info(name)
        if info["type"] != "directory":
            return [info] if detail else [name]
        names = [name.rstrip("/") + "/" + inner for inner in self._translated(self.files.listdir, name)]
        if not detail:
            return names
        return [self._describe(inner, self._translated(self._lstat, inner)) for inner in names]

    def _lstat(self, path: str) -> Stat:
        return self.files.stat(path, follow=self.files.exists(path))

    def _describe(self, name: str, info: Stat) -> dict[str, Any]:
        return {
            "name": name,
            "size": info.size,
            "type": _TYPES.get(info.kind, "other"),
            "mode": info.mode,
            "mtime": info.mtime / 1e9,
            "ino": info.inode,
            "nlink": info.links,
        }

    def _open(self, path: str, mode: str = "rb", **options: Any) -> IO[bytes]:
        name = self._strip_protocol(path)
        file: IO[bytes] = self._translated(self.files.open, name, mode if "b" in mode else mode + "b")
        return file

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        self._translated(self.files.mkdir, self._strip_protocol(path), parents=create_parents)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self._translated(self.files.mkdir, self._strip_protocol(path), parents=True, exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self._translated(self.files.remove, self._strip_protocol(path))

    def rm_file(self, path: str) -> None:
        self._translated(self.files.remove, self._strip_protocol(path))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        data = self._translated(self.files.read_bytes, self._strip_protocol(path1))
        self._translated(self.files.write_bytes, self._strip_protocol(path2), data)

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        self._translated(self.files.rename, self._strip_protocol(path1), self._strip_protocol(path2))

    def modified(self, path: str) -> Any:
        from datetime import datetime

        return datetime.fromtimestamp(self.info(path)["mtime"], tz=UTC)

    @staticmethod
    def _translated(function: Any, *arguments: Any, **options: Any) -> Any:
        """Call it; users of fsspec expect FileNotFoundError and its like."""
        try:
            return function(*arguments, **options)
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename) from error


fsspec.register_implementation("planaria", PlanariaFileSystem, clobber=True)
