"""Packages for the guest: resolved and downloaded on the host, unpacked into a tree, never executed.

Only wheels in pure Python are taken; a package that the runtime has counts as installed, in its version.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from planaria.errors import FileSystemError, ImageError, ProtocolError
from planaria.files.archive import import_zip
from planaria.files.filesystem import FileKind, FileSystem
from planaria.files.layout import SITE, make_directories
from planaria.files.transfer import copy_tree
from planaria.files.view import Files
from planaria.runtime.artifact import artifact
from planaria.runtime.pip_process import PipProcess
from planaria.runtime.resolution import (
    COMMON_TAGS,
    Candidate,
    Pip,
    Unresolvable,
    resolve,
)
from planaria.version import GUEST_PYTHON
from planaria_kernel.protocol import decode, encode

__all__ = ["Wheel", "bundled", "fetch", "installed", "remove", "unpack"]

#: Distributions whose modules the guest has in a form of its own, with the versions whose interface that is.
_REPLACED: Final = {"comm": "0.2.3", "ipython": "9.0.0"}
_NATIVE_SUFFIXES: Final = (".so", ".pyd", ".dll", ".dylib")
#: What is written beside the metadata of a distribution: its files, as a frame.
_FILES: Final = "planaria-files"
#: What packages may take unpacked.
_MOST_BYTES: Final = 1 << 30
_MOST_FILES: Final = 200_000
_DIST_INFO: Final = re.compile(r"[^/]+\.dist-info/METADATA")
_DIRECTORY: Final = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]+)\.dist-info")
_DATA: Final = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file of a distribution (the binary distribution format of packaging.python.org)."""

    path: Path
    name: str
    version: str
    tags: str
    """Of the file's name: the Pythons, ABIs and platforms that it is for."""

    @classmethod
    def of(cls, path: Path) -> Wheel:
        """Raises ImageError when the name of the file is not that of a wheel."""
        parts = path.name.removesuffix(".whl").split("-")
        if path.suffix != ".whl" or len(parts) not in (5, 6):
            raise ImageError(f"{path.name} is not a wheel")
        return cls(path, canonicalize_name(parts[0]), parts[1], "-".join(parts[-3:]))

    @property
    def is_pure(self) -> bool:
        return self.tags.endswith("-none-any")

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


@cache
def bundled() -> dict[str, str]:
    """The distributions that the runtime brings, or whose modules it replaces: versions by normal names."""
    found = dict(_REPLACED)
    with zipfile.ZipFile(artifact().standard_library) as archive:
        for member in archive.namelist():
            if _DIST_INFO.fullmatch(member):
                headers = HeaderParser().parsestr(archive.read(member).decode("utf-8", "replace"))
                found[canonicalize_name(headers["Name"])] = headers["Version"]
    return found


# -- fetching -----------------------------------------------------------------------------------------


def fetch(
    requirements: Sequence[str],
    directory: Path,
    *,
    find_links: Sequence[str] = (),
    index: bool = True,
    fixed: Mapping[str, str] = MappingProxyType({}),
) -> list[Wheel]:
    """Download the wheels that satisfy `requirements` (as pip takes them) and everything they depend on.

    What the runtime has is not among them. `find_links` are directories or pages with wheels, beside the
    index that pip is configured for; without `index` they are the only source. `fixed` are versions that
    must be kept, by name. Raises ImageError, which lists all packages that need native code.
    """
    parsed = [_requirement(one) for one in requirements]
    sources = [option for link in find_links for option in ("--find-links", os.fspath(link))]
    if not index:
        sources.append("--no-index")
    target = directory / "wheels"
    with PipProcess() as process:
        pip = Pip(process, sources)
        try:
            chosen = _resolve(parsed, pip, fixed, directory)
            remote = [one.pin for one in chosen if one.path is None]
            if remote:
                pip.download(remote, str(target))
        except Unresolvable as problem:
            _refuse_native(_native_packages(parsed, Pip(process, sources, COMMON_TAGS), fixed, directory))
            raise ImageError(
                f"no pure-Python wheels for Python {GUEST_PYTHON} satisfy {', '.join(requirements)} "
                f"(versions of what the runtime brings are fixed):\n{problem}"
            ) from None
    paths = [*(target.iterdir() if remote else ()), *(one.path for one in chosen if one.path is not None)]
    wheels = [Wheel.of(path) for path in sorted(paths, key=lambda path: path.name)]
    _refuse_native([wheel.name for wheel in wheels if not _is_pure_inside(wheel)])
    return wheels


def _requirement(text: str) -> Requirement:
    """A requirement as pip takes it: of PEP 508, or the path or address of a wheel. Raises ImageError."""
    if isinstance(text, str) and not text.lstrip().startswith("-"):
        place = text.strip()
        if urlsplit(place).path.endswith(".whl") and " @ " not in place:
            address = place if "://" in place else Path(place).expanduser().absolute().as_uri()
            return Requirement(f"{Wheel.of(Path(urlsplit(address).path)).name} @ {address}")
        try:
            return Requirement(place)
        except InvalidRequirement:
            pass
    raise ImageError(f"{text!r} is not a requirement; write it as 'attrs' or 'attrs>=24'")


def _resolve(
    requirements: Sequence[Requirement], pip: Pip, fixed: Mapping[str, str], directory: Path
) -> list[Candidate]:
    nowhere = str(directory / "nowhere")
    return resolve(requirements, pip, bundled=bundled(), fixed=fixed, nowhere=nowhere)


def _native_packages(
    requirements: Sequence[Requirement], pip: Pip, fixed: Mapping[str, str], directory: Path
) -> list[str]:
    """The packages with native code among those that a common computer would be given."""
    try:
        chosen = _resolve(requirements, pip, fixed, directory)
    except Unresolvable:
        return []
    return [one.name for one in chosen if not Wheel.of(Path(one.filename)).is_pure]


def _refuse_native(names: Iterable[str]) -> None:
    found = sorted(set(names))
    if found:
        listed = ", ".join(found)
        verb = "needs" if len(found) == 1 else "need"
        raise ImageError(
            f"{listed} {verb} native code, which the sandbox's runtime has only for the packages that it "
            f"brings ({', '.join(sorted(bundled()))}): leave out {listed}, or use a pure-Python package"
        )


def _is_pure_inside(wheel: Wheel) -> bool:
    if not wheel.is_pure:
        return False
    try:
        with zipfile.ZipFile(wheel.path) as archive:
            return not any(name.lower().endswith(_NATIVE_SUFFIXES) for name in archive.namelist())
    except (zipfile.BadZipFile, OSError) as error:
        raise ImageError(f"the wheel {wheel.path.name} is damaged: {error}") from error


# -- unpacking ------------------------------------------------------------------------------------------


def unpack(wheels: Iterable[Wheel], tree: FileSystem) -> None:
    """Unpack wheels into the guest's directory for packages in `tree`.

    Raises ImageError for one that is damaged, leads out of that directory, or is larger than packages may be.
    """
    site = SITE.encode()
    make_directories(tree, site)
    for wheel in wheels:
        try:
            data = io.BytesIO(wheel.path.read_bytes())
            import_zip(tree, site, data, max_bytes=_MOST_BYTES, max_nodes=_MOST_FILES)
            _spread_data(tree, site)
            _note_files(tree, data)
        except (FileSystemError, OSError) as error:
            raise ImageError(f"the wheel {wheel.path.name} cannot be unpacked: {error}") from error


def _spread_data(tree: FileSystem, site: bytes) -> None:
    """Put what a wheel has in a `.data` directory where it belongs; programs and headers are left out."""
    for entry in tree.scandir(site):
        if entry.name.endswith(b".data") and entry.kind is FileKind.DIRECTORY:
            place = site + b"/" + entry.name
            for kind in (b"purelib", b"platlib"):
                try:
                    copy_tree(tree, place + b"/" + kind, tree, site)
                except FileNotFoundError:
                    pass
            _remove(tree, place)


def _note_files(tree: FileSystem, data: io.BytesIO) -> None:
    """Write down which files a wheel has brought, for `remove`."""
    with zipfile.ZipFile(data) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    metadata = next((name for name in names if _DIST_INFO.fullmatch(name)), None)
    if metadata is None:
        raise OSError("it has no metadata")
    note = f"{metadata.partition('/')[0]}/{_FILES}"
    files = sorted({_DATA.sub("", name) for name in names} | {note})
    Files(tree, SITE).write_bytes(note, encode(files))


def _remove(tree: FileSystem, path: bytes) -> None:
    for entry in tree.scandir(path):
        inner = path + b"/" + entry.name
        if entry.kind is FileKind.DIRECTORY:
            _remove(tree, inner)
        else:
            tree.unlink(inner)
    tree.rmdir(path)


# -- what is there ----------------------------------------------------------------------------------------


def installed(tree: FileSystem) -> dict[str, str]:
    """The distributions in the guest's directory for packages: versions by normal names."""
    return {name: version for name, (version, _) in _directories(tree).items()}


def _directories(tree: FileSystem) -> dict[str, tuple[str, str]]:
    """Versions and the names of the directories with the metadata."""
    found: dict[str, tuple[str, str]] = {}
    try:
        entries = list(tree.scandir(SITE.encode()))
    except OSError:
        return {}
    for entry in entries:
        directory = entry.name.decode("utf-8", "replace")
        match = _DIRECTORY.fullmatch(directory)
        if match is not None and entry.kind is FileKind.DIRECTORY:
            found[canonicalize_name(match["name"])] = (match["version"], directory)
    return found


def remove(name: str, tree: FileSystem) -> bool:
    """Remove a distribution that `unpack` has put there; False when there is none.

    Raises ImageError when the note of its files is not there or damaged, which the guest may see to.
    """
    directory = _directories(tree).get(canonicalize_name(name), ("", ""))[1]
    if not directory:
        return False
    view = Files(tree, SITE)
    try:
        files = decode(view.read_bytes(f"{directory}/{_FILES}"))
    except (FileSystemError, ProtocolError) as error:
        raise ImageError(f"{name} cannot be removed: the record of its files: {error}") from None
    if not isinstance(files, list) or not all(isinstance(file, str) and _is_inside(file) for file in files):
        raise ImageError(f"{name} cannot be removed: the record of its files is damaged")
    folders: set[str] = set()
    for file in files:
        try:
            view.remove(file)
        except FileSystemError as error:
            if not isinstance(error, FileNotFoundError):
                raise ImageError(f"{name} cannot be removed: {file}: {error}") from None
        folder, _, name_of_file = file.rpartition("/")
        cached = f"{folder}/__pycache__" if folder else "__pycache__"
        _remove_compiled(view, cached, name_of_file)
        folders.add(cached)
        while folder:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(FileSystemError):  # it is not empty, or was never made
            view.remove(folder)
    return True


def _remove_compiled(view: Files, folder: str, source: str) -> None:
    if not source.endswith(".py"):
        return
    tag = f"{source[:-3]}.cpython-{GUEST_PYTHON.replace('.', '')}"
    for ending in (".pyc", ".opt-1.pyc", ".opt-2.pyc"):
        with contextlib.suppress(FileSystemError):
            view.remove(f"{folder}/{tag}{ending}")


def _is_inside(file: str) -> bool:
    return bool(file) and not file.startswith("/") and ".." not in file.split("/") and "\0" not in file
