"""Virtual environments for kernels.

Environments with requirements are made once and shared by all sessions of this user; they are never changed.
A session has a small environment of its own over such a one, which costs a few system calls: what it
installs goes there, and goes with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from packaging.utils import canonicalize_name

from planaria.errors import RuntimeSetupError
from planaria.executors.executor import Installed, Uninstalled
from planaria.executors.installer import Installer
from planaria.executors.interpreters import Interpreter, find_interpreter
from planaria.executors.requirements import install_missing
from planaria.runtime.cache import CompileCache, cache_failure
from planaria.runtime.guest_files import guest_digest, guest_sources
from planaria.storage.atomic import write_atomically

__all__ = ["Environment", "guest_directory", "guest_place", "prepare"]

_READY: Final = "planaria-ready.json"
#: In a session's environment: makes those of the shared one importable.
_LINK: Final = "planaria_base.pth"


def guest_place(cache: CompileCache) -> Path:
    """Where the cache has `guest_directory`, if it has it."""
    return cache.directory / f"guest-{guest_digest()[:32]}"


def guest_directory() -> Path:
    """The directory that has the part of planaria that kernels are made of, and nothing else."""
    cache = CompileCache()
    cache.prepare()
    place = guest_place(cache)
    if not place.is_dir():
        try:
            _write_guest(cache, place)
        except OSError as error:
            raise cache_failure(place, "written", error) from error
    return place


def _write_guest(cache: CompileCache, place: Path) -> None:
    making = Path(tempfile.mkdtemp(prefix="guest-", suffix=".partial", dir=cache.directory))
    try:
        for name, source in guest_sources().items():
            path = making / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source)
        try:
            making.rename(place)
        except OSError:
            if not place.is_dir():  # no other process was quicker
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def prepare(
    version: str | None,
    deps: Sequence[str],
    *,
    venv_path: Path | str | None,
    cached: bool,
    timeout: float,
) -> Environment:
    """The environment for one session.

    With `venv_path`, that one, made when it is not there; else one that ends with the session, over a shared
    one with `deps` when `cached`. Raises RuntimeSetupError when it cannot be made.
    """
    if venv_path is not None:
        return _at(Path(venv_path).expanduser().absolute(), version, deps, timeout)
    interpreter = find_interpreter(version)
    base = _shared(interpreter, deps, timeout) if deps and cached else None
    directory = Path(tempfile.mkdtemp(prefix="planaria-environment-"))
    try:
        _lay_out(directory, interpreter)
        environment = Environment(directory, interpreter.short, timeout, base=base, temporary=True)
        if deps and base is None:
            _require(environment, deps)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return environment


class Environment:
    """A virtual environment that one session may change, perhaps over another that it must not."""

    def __init__(
        self,
        directory: Path,
        version: str,
        timeout: float,
        *,
        base: Path | None = None,
        temporary: bool = False,
    ) -> None:
        self.directory = directory
        self.python = directory / "bin" / "python"
        self.packages = _packages(directory, version)
        self._base = base
        self._base_packages = None if base is None else _packages(base, version)
        self._installer = Installer(self.python, timeout)
        self._end = weakref.finalize(self, _remove, directory, os.getpid()) if temporary else None
        if self._base_packages is not None:
            # As `site` does it, so that what the packages there ask of it is done too.
            line = f"import site; site.addsitedir({str(self._base_packages)!r})\n"
            (self.packages / _LINK).write_text(line, "utf-8")

    @property
    def programs(self) -> list[str]:
        """Directories for PATH."""
        return [str(one / "bin") for one in (self.directory, self._base) if one is not None]

    @property
    def package_directories(self) -> list[Path]:
        """Where modules are imported from, the session's own first."""
        return [one for one in (self.packages, self._base_packages) if one is not None]

    def install(self, requirements: Sequence[str]) -> Installed:
        """Install what is not there in a version that fits."""
        return install_missing(requirements, self._present(), self._installer.install)

    def uninstall(self, names: Sequence[str]) -> tuple[Uninstalled, Path | None]:
        """Remove packages; also the directory of packages that is to be left, if there is one now."""
        outcome = Uninstalled()
        left = None
        here = {canonicalize_name(name) for name, _ in _distributions(self.packages)}
        below = set()
        if self._base_packages is not None:
            below = {canonicalize_name(name) for name, _ in _distributions(self._base_packages)}
        for name in names:
            if canonicalize_name(name) in below:
                left = left or self._take_over()
                below = set()
                here = {canonicalize_name(one) for one, _ in _distributions(self.packages)}
            if canonicalize_name(name) not in here:
                outcome.not_found.append(name)
                continue
            failure = self._installer.uninstall(name)
            if failure is None:
                outcome.removed.append(name)
            else:
                outcome.failed[name] = failure
        return outcome, left

    def _take_over(self) -> Path:
        """Copy what the shared environment has, so that it can be changed here; what is here stays.

        Returns its directory of packages.
        """
        assert self._base_packages is not None
        base = self._base_packages
        for entry in base.iterdir():
            target = self.packages / entry.name
            if target.exists():
                continue
            if entry.is_dir():
                shutil.copytree(entry, target, symlinks=True)
            else:
                shutil.copy2(entry, target, follow_symlinks=False)
        (self.packages / _LINK).unlink(missing_ok=True)
        self._base = self._base_packages = None
        return base

    def _present(self) -> dict[str, str]:
        """The versions of what is installed, by normal name."""
        found: dict[str, str] = {}
        for directory in reversed(self.package_directories):
            found.update((canonicalize_name(name), version) for name, version in _distributions(directory))
        return found

    def close(self) -> None:
        if self._end is not None:
            self._end()


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a child of a fork, which has a copy of this object
        shutil.rmtree(directory, ignore_errors=True)


# -- making them ------------------------------------------------------------------------------------------


def _lay_out(directory: Path, interpreter: Interpreter) -> None:
    """What makes a directory a virtual environment, as PEP 405 has it: nothing but links is needed."""
    programs = directory / "bin"
    programs.mkdir(parents=True)
    _packages(directory, interpreter.short).mkdir(parents=True)
    for name in ("python", "python3", f"python{interpreter.short}"):
        (programs / name).symlink_to(interpreter.path)
    version = ".".join(map(str, interpreter.version))
    (directory / "pyvenv.cfg").write_text(
        f"home = {interpreter.path.parent}\ninclude-system-site-packages = false\nversion = {version}\n",
        "utf-8",
    )


def _packages(directory: Path, version: str) -> Path:
    return directory / "lib" / f"python{version}" / "site-packages"


def _require(environment: Environment, deps: Sequence[str]) -> None:
    failed = environment.install(deps).failed
    if failed:
        reasons = "\n".join(f"{name}: {reason}" for name, reason in failed.items())
        raise RuntimeSetupError(f"the requirements of this session cannot be installed:\n{reasons}")


def _shared(interpreter: Interpreter, deps: Sequence[str], timeout: float) -> Path:
    """The environment of this user with just these requirements; made when there is none."""
    cache = CompileCache()
    cache.prepare()
    key_of: dict[str, Any] = {
        "interpreter": [str(interpreter.path), interpreter.version, interpreter.tag],
        "machine": [platform.system(), platform.machine()],
        "requirements": sorted(set(deps)),
    }
    key = "environment-" + hashlib.sha256(json.dumps(key_of).encode()).hexdigest()[:32]
    directory = cache.directory / key
    if not (directory / _READY).exists():
        with cache.lock(key):
            if not (directory / _READY).exists():
                # What an interrupted process left behind.
                shutil.rmtree(directory, ignore_errors=True)
                try:
                    _lay_out(directory, interpreter)
                    _require(Environment(directory, interpreter.short, timeout), deps)
                    write_atomically(directory / _READY, (json.dumps(key_of).encode(),))
                except OSError as error:
                    shutil.rmtree(directory, ignore_errors=True)
                    raise cache_failure(directory, "written", error) from error
    return directory


def _at(directory: Path, version: str | None, deps: Sequence[str], timeout: float) -> Environment:
    """The environment that the user keeps in a directory of their own."""
    settings = directory / "pyvenv.cfg"
    if not settings.exists():
        if directory.exists() and any(directory.iterdir()):
            raise RuntimeSetupError(f"venv_path={directory}: not a virtual environment")
        _lay_out(directory, find_interpreter(version))
    lines = dict(line.split(" = ", 1) for line in settings.read_text("utf-8").splitlines() if " = " in line)
    there = lines.get("version", lines.get("version_info", ""))
    short = ".".join(there.split(".")[:2])
    if not re.fullmatch(r"3\.\d+", short):
        raise RuntimeSetupError(f"{settings} does not give the version of its Python")
    if version is not None and version.split(".")[:2] != there.split(".")[:2]:
        raise RuntimeSetupError(f"venv_path={directory} has Python {there}, not {version}")
    environment = Environment(directory, short, timeout)
    _require(environment, deps)
    return environment


# -- what is installed ------------------------------------------------------------------------------------


def _distributions(packages: Path) -> Iterator[tuple[str, str]]:
    """Names and versions, from the names of directories: what is in them, others have written."""
    try:
        entries = os.listdir(packages)
    except OSError:
        return
    for entry in entries:
        stem, suffix = os.path.splitext(entry)
        if suffix == ".dist-info" and "-" in stem:
            name, _, version = stem.partition("-")
            yield name, version
