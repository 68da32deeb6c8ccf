"""`%pip`: what there is, and what a workspace can install."""

from __future__ import annotations

import importlib.metadata
import re
from importlib.util import find_spec
from typing import Any, Final

__all__ = ["CannotInstallError", "pip"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Options of pip that change nothing here.
_HARMLESS: Final = frozenset(
    {"-q", "-qq", "-qqq", "--quiet", "-U", "--upgrade", "--user", "--no-cache-dir", "--progress-bar=off"}
)
#: Names under which packages are imported, where these are others.
_MODULES: Final = {"scikit-learn": "sklearn", "pillow": "PIL", "pyyaml": "yaml", "beautifulsoup4": "bs4"}


class CannotInstallError(Exception):
    """Packages cannot be installed in this session, or not in that way."""


def pip(words: list[str], deps: Any) -> None:
    """Do what a line for pip says. Raises CannotInstallError."""
    command, rest = (words[0], words[1:]) if words else ("", [])
    if command in ("list", "freeze"):
        for name in sorted({f"{one.name}=={one.version}" for one in importlib.metadata.distributions()}):
            print(name)
        return
    wanted = [word for word in rest if word not in _HARMLESS]
    options = [word for word in wanted if word.startswith("-")]
    options = [word for word in options if not (command == "uninstall" and word in ("-y", "--yes"))]
    if command not in ("install", "uninstall") or options or not wanted:
        raise CannotInstallError(
            f"%pip {' '.join(words)}: use %pip install REQUIREMENT ..., %pip uninstall NAME ... or %pip list"
        )
    wanted = [word for word in wanted if not word.startswith("-")]
    if command == "uninstall":
        _change(deps, "remove", wanted)
        return
    missing = [one for one in wanted if not _is_present(one)]
    for one in wanted:
        if one not in missing:
            print(f"Requirement already satisfied: {one}")
    if missing:
        _change(deps, "add", missing)


def _is_present(requirement: str) -> bool:
    """Whether a package is there, and no version is asked for."""
    match = _NAME.fullmatch(requirement)
    if match is None:
        return False
    module = _MODULES.get(requirement.lower(), requirement.lower().replace("-", "_"))
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _change(deps: Any, operation: str, packages: list[str]) -> None:
    if deps is None:
        raise CannotInstallError(
            f"{', '.join(packages)}: packages come with an image (planaria.Image.build), or with a workspace "
            "(--base), which this session does not have"
        )
    for package in packages:
        outcome = getattr(deps, operation)(package)
        for kind, names in outcome.items():
            if names and kind != "removed_from_config":
                shown = names if isinstance(names, (list, tuple)) else [str(names)]
                print(f"{kind.replace('_', ' ')}: {', '.join(map(str, shown))}")
