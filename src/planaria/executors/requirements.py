"""Requirements of packages (PEP 508): which ones are met, and how those that are not are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from planaria.executors.executor import Installed

__all__ = ["install_missing", "is_met", "is_version"]


def install_missing(
    requirements: Sequence[str],
    present: Mapping[str, str],
    install: Callable[[Sequence[str]], str | None],
) -> Installed:
    """Install what is not present in a version that fits: together, or one by one when that fails.

    `present` has the versions of what is there, by normal name. `install` returns None, or why nothing was
    changed.
    """
    outcome = Installed()
    wanted: list[str] = []
    for requirement in requirements:
        (outcome.already_present if is_met(requirement, present) else wanted).append(requirement)
    if not wanted:
        return outcome
    failure = install(wanted)
    if failure is None:
        outcome.installed.extend(wanted)
    elif len(wanted) == 1:
        outcome.failed[wanted[0]] = failure
    else:
        for requirement in wanted:
            failure = install([requirement])
            if failure is None:
                outcome.installed.append(requirement)
            else:
                outcome.failed[requirement] = failure
    return outcome


def is_met(requirement: str, present: Mapping[str, str]) -> bool:
    """Whether an installed version fits; a requirement that names a place or extras is never met."""
    try:
        wanted = Requirement(requirement)
    except InvalidRequirement:
        return False  # the installer says what is wrong with it
    version = present.get(canonicalize_name(wanted.name))
    if version is None or wanted.url or wanted.extras or not is_version(version):
        return False
    return wanted.specifier.contains(version, prereleases=True)


def is_version(text: str) -> bool:
    """Whether a text is a version as PEP 440 has them; those of old packages need not be."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
