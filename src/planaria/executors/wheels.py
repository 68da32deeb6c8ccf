"""Packages for a session in the sandbox: wheels in pure Python, in its files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from planaria.errors import ImageError
from planaria.executors.executor import Installed, Uninstalled
from planaria.files.filesystem import FileSystem
from planaria.runtime.packages import bundled, fetch, installed, normal_name, remove, unpack

__all__ = ["install", "uninstall"]


def install(requirements: Sequence[str], files: FileSystem) -> Installed:
    """Fetch and unpack what is not there; requirements that cannot be met keep none of the others from it."""
    outcome = Installed()
    wanted = []
    for text in requirements:
        if _is_met(Requirement(text), {**installed(files), **bundled()}):
            outcome.already_present.append(text)
        else:
            wanted.append(text)
    if not wanted:
        return outcome
    reason = _install_together(wanted, files)
    if reason is None:
        outcome.installed.extend(wanted)
    elif len(wanted) == 1:
        outcome.failed[wanted[0]] = reason
    else:
        for text in wanted:
            reason = _install_together([text], files)
            if reason is None:
                outcome.installed.append(text)
            else:
                outcome.failed[text] = reason
    return outcome


def _install_together(requirements: Sequence[str], files: FileSystem) -> str | None:
    """None, or why nothing was changed."""
    present = installed(files)
    named = {normal_name(Requirement(text).name) for text in requirements}
    fixed = {name: version for name, version in present.items() if name not in named and _is_version(version)}
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


def _is_met(requirement: Requirement, versions: dict[str, str]) -> bool:
    version = versions.get(normal_name(requirement.name))
    if version is None or requirement.extras or requirement.url is not None or not _is_version(version):
        return False
    return requirement.specifier.contains(version, prereleases=True)


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def uninstall(names: Sequence[str], files: FileSystem) -> Uninstalled:
    outcome = Uninstalled()
    for name in names:
        try:
            if remove(name, files):
                outcome.removed.append(name)
            elif normal_name(name) in bundled():
                outcome.failed[name] = "the runtime brings it: it cannot be removed"
            else:
                outcome.not_found.append(name)
        except ImageError as error:
            outcome.failed[name] = str(error)
    return outcome
