"""The part of the sandbox's executor that installs packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from planaria.executors.executor import Installed, Uninstalled
from planaria.files.filesystem import FileSystem
from planaria.files.layout import SITE

__all__ = ["SandboxPackages"]


class SandboxPackages:
    """Packages in a session's files; `change_files` gives these when they are about to be changed.

    What the packages themselves need, such as pip, is imported when one is installed, which is seldom.
    """

    packages_path: Final = SITE

    def __init__(self, change_files: Callable[[], FileSystem]) -> None:
        self._change_files = change_files

    def install(self, requirements: Sequence[str]) -> Installed:
        """Unpack wheels in pure Python at `packages_path`.

        What the runtime brings is already present. Takes as long as pip does.
        """
        from planaria.executors.wheels import install

        return install(requirements, self._change_files())

    def uninstall(self, names: Sequence[str]) -> Uninstalled:
        """Remove what `install` has put there; what the runtime brings cannot be removed."""
        from planaria.executors.wheels import uninstall

        return uninstall(names, self._change_files())
