"""Packages for the guest: resolved and fetched on the host, unpacked into a tree, never executed.

The work of resolving is pip's. It is told to take nothing but wheels in pure Python, and that the guest is
what it resolves for; of what the runtime brings itself it is given wheels without contents, so that those
count as there, in the versions that they have.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from packaging.utils import canonicalize_name

from planaria.errors import FileSystemError, ImageError, ProtocolError
from planaria.files.archive import import_zip
from planaria.files.filesystem import FileKind, FileSystem
from planaria.files.layout import SITE, make_directories
from planaria.files.transfer import copy_tree
from planaria.files.view import Files
from planaria.runtime.artifact import artifact
from planaria_kernel.protocol import decode, encode

__all__ = ["Wheel", "bundled", "fetch", "installed", "remove", "unpack"]

#: The guest's Python, for which packages are chosen.
_PYTHON: Final = "3.15"
#: The newest Python for which projects usually have wheels; only used to find out which need native code.
_COMMON_PYTHON: Final = "3.13"
#: What the requirements of packages ask of the place they are for (PEP 508).
_ENVIRONMENT: Final = {
    "implementation_name": "cpython",
    "implementation_version": f"{_PYTHON}.0",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "WASI",
    "platform_version": "",
    "python_full_version": f"{_PYTHON}.0",
    "python_version": _PYTHON,
    "sys_platform": "wasi",
}
#: pip chooses files for another Python, but looks at markers with its own: those are replaced. And what a
#: requirement names by its address it would build, wheels only or not, which runs its code: refused.
_PIP: Final = f"""
from pip._internal.distributions.sdist import SourceDistribution
from pip._internal.exceptions import InstallationError
from pip._vendor.packaging import markers
def refuse(self, *arguments, **options):
    raise InstallationError(f"{{self.req}} is no wheel: nothing is built; a wheel is needed")
SourceDistribution.prepare_distribution_metadata  # an error where pip has it no more
SourceDistribution.prepare_distribution_metadata = refuse
markers.default_environment = lambda: {_ENVIRONMENT!r}
import runpy
runpy.run_module("pip", run_name="__main__")
"""
_PURE: Final = ("--implementation", "py", "--abi", "none", "--platform", "any", "--python-version", _PYTHON)
_NATIVE: Final = (
    *("--python-version", _COMMON_PYTHON, "--implementation", "cp"),
    *("--abi", f"cp{_COMMON_PYTHON.replace('.', '')}", "--abi", "abi3", "--abi", "none"),
    *("--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_17_x86_64"),
    *("--platform", "manylinux2014_x86_64", "--platform", "any"),
)
_NATIVE_SUFFIXES: Final = (".so", ".pyd", ".dll", ".dylib")
#: What is written beside the metadata of a distribution: its files, as a frame.
_FILES: Final = "planaria-files"
#: What packages may take unpacked.
_MOST_BYTES: Final = 1 << 30
_MOST_FILES: Final = 200_000
_DIST_INFO: Final = re.compile(r"[^/]+\.dist-info/METADATA")
_DIRECTORY: Final = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]+)\.dist-info")
_DATA: Final = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
#: Seconds that resolving and fetching may take.
_PATIENCE: Final = 600.0


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
    """The distributions that the runtime brings: versions by normal names."""
    return {name: version for name, (version, _) in _bundled_metadata().items()}


@cache
def _bundled_metadata() -> dict[str, tuple[str, bytes]]:
    found: dict[str, tuple[str, bytes]] = {}
    with zipfile.ZipFile(artifact().library) as archive:
        for member in archive.namelist():
            if re.fullmatch(r"[^/]+\.dist-info/METADATA", member):
                text = archive.read(member)
                headers = HeaderParser().parsestr(text.decode("utf-8", "replace"))
                found[canonicalize_name(headers["Name"])] = (headers["Version"], text)
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
    """Download the wheels that satisfy `requirements` (as pip takes them) and all that they need.

    What the runtime brings is not among them. `find_links` are directories or pages with wheels, beside the
    index that pip is configured for; without `index` there is nothing but them. `fixed` are versions that
    must be kept, by name. Raises ImageError, which names all packages that need native code.
    """
    for requirement in requirements:
        if not isinstance(requirement, str) or requirement.lstrip().startswith("-"):
            raise ImageError(f"{requirement!r} is no requirement; write it as 'attrs' or 'attrs>=24'")
    stand_ins = directory / "stand-ins"
    _write_stand_ins(stand_ins)
    links = ["--find-links", str(stand_ins)]
    for link in find_links:
        links += ["--find-links", os.fspath(link)]
    if not index:
        links.append("--no-index")
    constraints = directory / "constraints.txt"
    versions = {**fixed, **bundled()}
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()), "utf-8")
    common = [*links, "--constraint", str(constraints), *requirements]
    target = directory / "wheels"
    problem = _pip(["download", "--dest", str(target), "--only-binary", ":all:", *_PURE, *common])
    if problem is not None:
        raise _refusal(requirements, common, directory, problem)
    wheels = [Wheel.of(path) for path in sorted(target.iterdir())]
    wheels = [wheel for wheel in wheels if wheel.name not in bundled()]
    _refuse_native([wheel.name for wheel in wheels if not _is_pure_inside(wheel)])
    return wheels


def _write_stand_ins(directory: Path) -> None:
    """Wheels with the metadata of what the runtime brings, and nothing else."""
    directory.mkdir()
    for name, (version, text) in _bundled_metadata().items():
        stem = f"{name.replace('-', '_')}-{version}"
        with zipfile.ZipFile(directory / f"{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{stem}.dist-info/METADATA", _without_requirements(text))
            wheel.writestr(
                f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{stem}.dist-info/RECORD", "")


def _without_requirements(metadata: bytes) -> bytes:
    """What a bundled package needs is bundled with it, as far as it can be had at all."""
    headers, separator, body = metadata.replace(b"\r\n", b"\n").partition(b"\n\n")
    kept = [line for line in headers.split(b"\n") if not line.lower().startswith(b"requires-")]
    return b"\n".join(kept) + separator + body


def _pip(arguments: Sequence[str]) -> str | None:
    """Run pip; None, or what it complained about."""
    try:
        done = subprocess.run(
            [*_interpreter(), "-c", _PIP, *arguments, "--quiet", "--no-input", "--disable-pip-version-check"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {_PATIENCE:g} s"
    if done.returncode == 0:
        return None
    lines = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    return "\n".join(dict.fromkeys(lines)) or done.stderr.strip() or f"pip ended with {done.returncode}"


def _interpreter() -> list[str]:
    """A Python that has pip: this one, or one that uv gives it to."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable]
    uv = shutil.which("uv")
    if uv is None:
        raise ImageError(
            "packages= needs pip or uv on this computer, and neither is there: "
            "install one (python -m ensurepip, or docs.astral.sh/uv)"
        )
    return [uv, "run", "--quiet", "--no-project", "--with", "pip", "python"]


def _refusal(requirements: Sequence[str], common: list[str], directory: Path, problem: str) -> ImageError:
    """Why there is no solution: what needs native code, or else what pip said."""
    report = directory / "report.json"
    other = _pip(
        [
            *("install", "--dry-run", "--ignore-installed", "--only-binary", ":all:"),
            *("--report", str(report), "--target", str(directory / "nowhere"), *_NATIVE, *common),
        ]
    )
    if other is None:
        chosen = json.loads(report.read_text("utf-8"))["install"]
        files = [one["download_info"]["url"].rpartition("/")[2].partition("#")[0] for one in chosen]
        wheels = [Wheel.of(Path(file)) for file in files]
        native = [wheel.name for wheel in wheels if not wheel.is_pure and wheel.name not in bundled()]
        try:
            _refuse_native(native)
        except ImageError as refusal:
            return refusal
    wanted = ", ".join(requirements)
    return ImageError(
        f"no wheels in pure Python for Python {_PYTHON} satisfy {wanted} (versions of what the runtime "
        f"brings "
        f"are fixed):\n{problem}"
    )


def _refuse_native(names: Iterable[str]) -> None:
    found = sorted(set(names))
    if found:
        listed = ", ".join(found)
        verb = "needs" if len(found) == 1 else "need"
        raise ImageError(
            f"{listed} {verb} native code, which the sandbox's runtime has only for the packages that it "
            f"brings ({', '.join(sorted(bundled()))}): leave out {listed}, or use a package in pure Python"
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
        raise ImageError(f"{name} cannot be removed: the note of its files: {error}") from None
    if not isinstance(files, list) or not all(isinstance(file, str) and _is_inside(file) for file in files):
        raise ImageError(f"{name} cannot be removed: the note of its files is damaged")
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
    tag = f"{source[:-3]}.cpython-{_PYTHON.replace('.', '')}"
    for ending in (".pyc", ".opt-1.pyc", ".opt-2.pyc"):
        with contextlib.suppress(FileSystemError):
            view.remove(f"{folder}/{tag}{ending}")


def _is_inside(file: str) -> bool:
    return bool(file) and not file.startswith("/") and ".." not in file.split("/") and "\0" not in file
