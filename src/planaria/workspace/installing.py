"""A session's packages: what its workspace configures, installed where its kernel runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planaria.errors import DependencyError
from planaria.executors.executor import Executor, Packages

if TYPE_CHECKING:
    from planaria.workspace.workspace import Workspace

__all__ = ["Dependencies"]


class Dependencies:
    """Changes the packages of one session and, in step with them, the list in its workspace's storage.

    Raises DependencyError for an invalid requirement, CapabilityError where the executor cannot install.
    """

    def __init__(self, workspace: Workspace, executor: Executor) -> None:
        self._workspace = workspace
        self._executor = executor

    @property
    def paths(self) -> list[str]:
        """Where the kernel has to look for packages, beside where it looks by itself."""
        packages = self._executor.packages
        path = None if packages is None else packages.packages_path
        return [] if path is None else [path]

    @property
    def _packages(self) -> Packages:
        self._executor.require("deps_install")
        packages = self._executor.packages
        if packages is None:
            raise self._executor.missing("deps_install")
        return packages

    def list(self) -> list[str]:
        """The configured requirements: those of the storage, then those that only this session has."""
        listed = self._workspace.dependencies.list() if self._workspace.has_storage else []
        return list(dict.fromkeys([*listed, *self._workspace.extra_deps]))

    def add(self, package: str) -> dict[str, Any]:
        """Install a requirement and configure it; what cannot be installed is not configured."""
        from planaria.workspace.dependencies import canonical_requirement

        packages = self._packages
        requirement = canonical_requirement(package)
        configured = self._workspace.dependencies
        outcome = packages.install([requirement])
        if not outcome.failed:
            configured.add(requirement)
        return _installed(outcome.installed, outcome.already_present, outcome.failed)

    def remove(self, package: str) -> dict[str, Any]:
        """Remove a package and what is configured of it."""
        from planaria.workspace.dependencies import canonical_name

        packages = self._packages
        name = canonical_name(package)
        configured = self._workspace.dependencies
        outcome = packages.uninstall([name])
        return {
            "removed": outcome.removed,
            "not_found": outcome.not_found,
            "failed": outcome.failed,
            "removed_from_config": configured.remove(name),
        }

    def sync(self) -> dict[str, Any]:
        """Install all that is configured. Options of pip in the list, which are not followed, have failed."""
        packages = self._packages
        options = self._workspace.dependencies.options() if self._workspace.has_storage else []
        outcome = packages.install(self.list())
        unread = dict.fromkeys(options, "an option of pip, which is not followed here")
        return _installed(outcome.installed, outcome.already_present, {**outcome.failed, **unread})

    def check_unlocked(self) -> None:
        """Raises DependencyError when code may not change the dependencies."""
        if not self._workspace.allow_runtime_deps:
            raise DependencyError(
                "code may not change the packages of this session (allow_runtime_deps=False); "
                "what is configured can be installed with deps.sync()"
            )

    def check_has_no_address(self, package: str) -> None:
        """Raises DependencyError for `name @ address` where code cannot reach addresses and files itself."""
        from planaria.workspace.dependencies import canonical_requirement, has_address

        if "network_isolation" in self._executor.capabilities and has_address(package):
            raise DependencyError(
                f"{canonical_requirement(package)[:80]!r} has an address, which the host would read: "
                "code may add packages by name; the host adds others with session.add_dep()"
            )


def _installed(installed: list[str], present: list[str], failed: dict[str, str]) -> dict[str, Any]:
    return {"installed": installed, "already_present": present, "failed": failed}
