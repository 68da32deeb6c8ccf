"""What the guest finds under /usr/local/lib: the standard library, and our own code that runs inside."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from typing import Final

from planaria.files.memory import MemoryFileSystem
from planaria.files.filesystem import OpenFlags
from planaria.runtime.artifact import artifact

__all__ = ["GUEST_PATH", "LIBRARY_PATH", "guest_digest", "guest_sources", "library"]

#: Where the filesystem that `library` returns is to be mounted.
LIBRARY_PATH: Final = "/usr/local/lib"
#: The directory for `sys.path`, below it.
GUEST_PATH: Final = f"{LIBRARY_PATH}/planaria"

_STANDARD_LIBRARY: Final = b"/python315.zip"


@cache
def guest_sources() -> dict[str, bytes]:
    """The modules of this package that the guest needs, by their path in it, in a fixed order."""
    root = package_files("planaria")
    sources: dict[str, bytes] = {}

    def take(directory: Traversable, prefix: str) -> None:
        for item in sorted(directory.iterdir(), key=lambda item: item.name):
            if item.is_dir():
                if item.name != "__pycache__":
                    take(item, f"{prefix}{item.name}/")
            elif item.name.endswith(".py"):
                sources[prefix + item.name] = item.read_bytes()

    for name in ("guest", "protocol"):
        take(root / name, f"planaria/{name}/")
    sources["planaria/errors.py"] = (root / "errors.py").read_bytes()
    # Inside, the package has none of the host's names.
    sources["planaria/__init__.py"] = b'"""The part of planaria that runs inside the sandbox."""\n'
    return sources


@cache
def guest_digest() -> str:
    """Changes whenever the code that runs inside does."""
    digest = hashlib.sha256()
    for name, source in guest_sources().items():
        digest.update(f"{name}\0{len(source)}\0".encode())
        digest.update(source)
    return digest.hexdigest()


@cache
def library() -> MemoryFileSystem:
    """The filesystem for /usr/local/lib, the same for all sessions; mount it read only.

    Times are 0 and node numbers depend on contents only, since an image keeps what it saw of them.
    """
    filesystem = MemoryFileSystem(clock=lambda: 0)
    filesystem.add_host_file(_STANDARD_LIBRARY, artifact().library)
    filesystem.mkdir(b"/planaria", 0o755)
    made = {""}
    for name, source in guest_sources().items():
        parent = ""
        for part in name.split("/")[:-1]:
            parent += f"/{part}"
            if parent not in made:
                filesystem.mkdir(f"/planaria{parent}".encode(), 0o755)
                made.add(parent)
        handle = filesystem.open(f"/planaria/{name}".encode(), OpenFlags.WRITE | OpenFlags.CREATE, 0o644)
        handle.write(source, 0)
        handle.close()
    return filesystem
