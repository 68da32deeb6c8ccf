"""`%pip`, and `pip` of the shell: what there is, and what a workspace can install."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final, TextIO

__all__ = ["CannotInstallError", "pip", "run_pip"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Options of pip that change nothing here.
_HARMLESS: Final = frozenset(
    {"-q", "-qq", "-qqq", "--quiet", "-U", "--upgrade", "--user", "--no-cache-dir", "--progress-bar=off"}
)
#: Names under which packages are imported, where these are others.
_MODULES: Final = {"scikit-learn": "sklearn", "pillow": "PIL", "pyyaml": "yaml", "beautifulsoup4": "bs4"}


class CannotInstallError(Exception):
    """Packages cannot be installed in this session, or not in that way."""


def run_pip(words: list[str], deps: Any, out: TextIO, errors: TextIO, *, name: str = "pip") -> int:
    """Do what a command line of pip says; its exit status."""
    try:
        return 0 if pip(words, deps, out, name=name) else 1
    except Exception as error:  # of the host's too: the text is the message
        errors.write(f"ERROR: {error}\n")
        return 1


def pip(words: list[str], deps: Any, out: TextIO | None = None, *, name: str = "%pip") -> bool:
    """Do what a line for pip says, and whether that was done in full. Raises CannotInstallError."""
    command, rest = (words[0], words[1:]) if words else ("", [])
    if command in ("list", "freeze"):
        for package in sorted({f"{one.name}=={one.version}" for one in importlib.metadata.distributions()}):
            print(package, file=out)
        return True
    wanted = [word for word in _with_files(rest) if word not in _HARMLESS]
    options = [word for word in wanted if word.startswith("-")]
    options = [word for word in options if not (command == "uninstall" and word in ("-y", "--yes"))]
    if command not in ("install", "uninstall") or options or not wanted:
        raise CannotInstallError(
            f"{name} {' '.join(words)}: use {name} install REQUIREMENT ..., {name} uninstall NAME ... or "
            f"{name} list"
        )
    wanted = [word for word in wanted if not word.startswith("-")]
    if command == "uninstall":
        return _change(deps, "remove", wanted, out)
    missing = [one for one in wanted if not _is_present(one)]
    for one in wanted:
        if one not in missing:
            print(f"Requirement already satisfied: {one}", file=out)
    return not missing or _change(deps, "add", missing, out)


def _with_files(words: Iterable[str]) -> list[str]:
    """The words, with the lines of the files of requirements that they name in the place of these."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-r", "--requirement") and (path := next(rest, None)) is not None:
            with open(path, encoding="utf-8") as file:
                lines = [line.partition(" #")[0].strip() for line in file]
            found += [line for line in lines if line and not line.startswith("#")]
        else:
            found.append(word)
    return found


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


def _change(deps: Any, operation: str, packages: list[str], out: TextIO | None) -> bool:
    """Add or remove packages; whether none has failed."""
    if deps is None:
        raise CannotInstallError(
            f"{', '.join(packages)}: packages come with an image (planaria.Image.build, "
            "`planaria image build`), or with a workspace (--base), which this session does not have"
        )
    is_done = True
    for package in packages:
        outcome = getattr(deps, operation)(package)
        for kind, found in outcome.items():
            if not found or kind == "removed_from_config":
                continue
            if kind == "failed":
                is_done = False
                found = [f"{name}: {why}" for name, why in found.items()]
            shown = found if isinstance(found, (list, tuple)) else [str(found)]
            print(f"{kind.replace('_', ' ')}: {', '.join(map(str, shown))}", file=out)
    return is_done
