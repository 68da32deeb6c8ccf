"""Packages for a session in the sandbox: wheels in pure Python, in its files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from planaria.errors import ImageError
from planaria.executors.executor import Installed, Uninstalled
from planaria.executors.requirements import install_missing, is_version
from planaria.files.filesystem import FileSystem
from planaria.files.layout import SITE
from planaria.runtime.packages import bundled, fetch, installed, remove, unpack

__all__ = ["SandboxPackages"]


class SandboxPackages:
    """Packages of a sandboxed kernel; `changes` is called before its files change."""

    packages_path: Final = SITE

    def __init__(self, files: FileSystem, changes: Callable[[], None]) -> None:
        self._files = files
        self._changes = changes

    def install(self, requirements: Sequence[str]) -> Installed:
        """Fetch wheels in pure Python and unpack them; what is there, also from the runtime, is left.

        Requirements that cannot be met keep none of the others from it. Takes as long as pip does.
        """
        self._changes()
        files = self._files
        present = {**installed(files), **bundled()}
        return install_missing(requirements, present, lambda wanted: _install_together(wanted, files))

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        """Remove what `install` has put there; what the runtime brings cannot be removed."""
        self._changes()
        outcome = Uninstalled()
        for name in names:
            try:
                if remove(name, self._files):
                    outcome.removed.append(name)
                elif canonicalize_name(name) in bundled():
                    outcome.failed[name] = "the runtime brings it: it cannot be removed"
                else:
                    outcome.not_found.append(name)
            except ImageError as error:
                outcome.failed[name] = str(error)
        return outcome


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
