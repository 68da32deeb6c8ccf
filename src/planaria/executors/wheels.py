"""Packages for a session in the sandbox: wheels in pure Python, in its files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from planaria.errors import ImageError
from planaria.executors.executor import Installed, Uninstalled
from planaria.executors.requirements import install_missing, is_version
from planaria.files.filesystem import FileSystem
from planaria.runtime.packages import bundled, fetch, installed, remove, unpack

__all__ = ["install", "uninstall"]


def install(requirements: Sequence[str], files: FileSystem) -> Installed:
    """Fetch and unpack what is not there; requirements that cannot be met keep none of the others from it."""
    present = {**installed(files), **bundled()}
    return install_missing(requirements, present, lambda wanted: _install_together(wanted, files))


def _install_together(requirements: Sequence[str], files: FileSystem) -> str | None:
    """None, or why nothing was changed."""
    present = installed(files)
    named = {canonicalize_name(Requirement(text).name) for text in requirements}
    fixed = {name: version for name, version in present.items() if name not in named and is_version(version)}
    with tempfile.TemporaryDirectory(prefix="planaria-") as directory:
        try:
            wheels = fetch(requirements, Path(directory), fixed=fixed)
            new = [wheel for wheel in wheels if present.get(wheel.name) != wheel.version]
            for wheel in new:
                remove(wheel.name, files)
            unpack(new, files)
        except ImageError as error:
            return str(error)
    return None


def uninstall(names: Sequence[str], files: FileSystem) -> Uninstalled:
    outcome = Uninstalled()
    for name in names:
        try:
            if remove(name, files):
                outcome.removed.append(name)
            elif canonicalize_name(name) in bundled():
                outcome.failed[name] = "the runtime brings it: it cannot be removed"
            else:
                outcome.not_found.append(name)
        except ImageError as error:
            outcome.failed[name] = str(error)
    return outcome
