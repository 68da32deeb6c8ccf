"""What the guest finds under /usr/local/lib: the standard library, and our own code that runs inside."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from typing import Final

from planaria.files.hostblob import HostBlob
from planaria.files.zip_archive import ZipFileSystem
from planaria.once import once
from planaria.runtime.artifact import artifact
from planaria.version import GUEST_PYTHON

__all__ = [
    "ARCHIVE_PATH",
    "GUEST_PATH",
    "LIBRARY_PATH",
    "STANDARD_LIBRARY_PATH",
    "guest_digest",
    "guest_sources",
    "library",
]

#: Where the filesystem that `library` returns is to be mounted.
LIBRARY_PATH: Final = "/usr/local/lib"
#: The directory for `sys.path`, below it.
GUEST_PATH: Final = f"{LIBRARY_PATH}/planaria"

#: Where the standard library and all packages are.
STANDARD_LIBRARY_PATH: Final = f"{LIBRARY_PATH}/python{GUEST_PYTHON}"
#: Where the interpreter in the artifact believes them to be.
ARCHIVE_PATH: Final = f"{LIBRARY_PATH}/python{GUEST_PYTHON.replace('.', '')}.zip"

#: Packages look for their data beside their modules; matplotlib's are in an archive within the archive.
_INNER_ARCHIVES: Final = (b"matplotlib/mpl-data.zip",)


@once
def guest_sources() -> dict[str, bytes]:
    """The modules of the packages that run in the guest, by their path, in a fixed order."""
    sources: dict[str, bytes] = {}

    # Every process does this before its first session; with `pathlib` it takes twice as long.
    def take(directory: str, prefix: str) -> None:
        with os.scandir(directory) as found:
            items = sorted(found, key=lambda item: item.name)
        for item in items:
            if item.is_dir():
                if item.name != "__pycache__":
                    take(item.path, f"{prefix}{item.name}/")
            elif item.name.endswith(".py"):
                with open(item.path, "rb", buffering=0) as file:
                    sources[prefix + item.name] = file.readall()

    for name in ("planaria_kernel", "planaria_shell"):
        # Finds its files and executes nothing; `importlib.resources` brings all that reads archives.
        specification = find_spec(name)
        assert specification is not None
        assert specification.submodule_search_locations is not None
        take(specification.submodule_search_locations[0], f"{name}/")
    return sources


@once
def guest_digest() -> str:
    """Changes whenever the code that runs inside does."""
    digest = hashlib.sha256()
    for name, source in guest_sources().items():
        digest.update(f"{name}\0{len(source)}\0".encode())
        digest.update(source)
    return digest.hexdigest()


@once
def library() -> ZipFileSystem:
    """The filesystem for /usr/local/lib, the same for all sessions; mount it read only.

    Times are 0 and node numbers depend on contents only, since an image keeps what it saw of them.
    """
    archive = HostBlob.open(artifact().standard_library)
    here = os.path.dirname(__file__)

    def fill(filesystem: ZipFileSystem) -> None:
        filesystem.add_archive(f"/python{GUEST_PYTHON}".encode(), archive, expand=_INNER_ARCHIVES)
        for name in sorted(os.listdir(here)):
            if name.startswith("fontlist-"):  # see tools/make_font_list.py
                with open(os.path.join(here, name), "rb") as file:
                    filesystem.add_file(f"/matplotlib/{name}".encode(), file.read())
        for name, source in guest_sources().items():
            filesystem.add_file(f"/planaria/{name}".encode(), source)

    return ZipFileSystem(fill)
