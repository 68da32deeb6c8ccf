"""`pip` of the shell, `python -m pip` and `%pip`: what there is, and what a workspace can install."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final, TextIO

from planaria_kernel.notebook.package_options import CannotInstallError, Command, parsed

__all__ = ["CannotInstallError", "run_pip"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Names under which packages are imported, where these are others.
_MODULES: Final = {"scikit-learn": "sklearn", "pillow": "PIL", "pyyaml": "yaml", "beautifulsoup4": "bs4"}
_USAGE: Final = """
Usage:
  pip install [-q] [-U] [-r FILE] REQUIREMENT ...
  pip uninstall [-y] [-r FILE] NAME ...
  pip list [--format columns|freeze|json]
  pip freeze
  pip show NAME ...

What is installed is kept by the `deps` of the session's workspace.
"""


def run_pip(words: list[str], deps: Any, out: TextIO, errors: TextIO, *, name: str = "pip") -> int:
    """Do what a command line of pip says; its exit status."""
    try:
        command = parsed(words, name)
        match command.name:
            case "help":
                out.write(_USAGE)
            case "version":
                place = os.path.dirname(os.path.dirname(__file__))
                out.write(
                    f"pip (planaria) from {place} (python {sys.version_info[0]}.{sys.version_info[1]})\n"
                )
            case "list":
                _list(command, out)
            case "freeze":
                out.writelines(f"{package}=={version}\n" for package, version in _distributions().items())
            case "show":
                return _show(command.wanted, out, errors)
            case "uninstall":
                return _uninstall(command, deps, out, errors)
            case _:
                return _install(command, deps, out, errors)
    except CannotInstallError as error:
        errors.write(f"ERROR: {error}\n")
        return error.status
    except Exception as error:  # of the host's too: the text is the message
        errors.write(f"ERROR: {error}\n")
        return 1
    return 0


# -- what there is ---------------------------------------------------------------------------------------


def _distributions() -> dict[str, str]:
    """The versions of what is installed, by name and in its order; what is found first counts."""
    found: dict[str, str] = {}
    for one in importlib.metadata.distributions():
        found.setdefault(one.name, one.version)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _list(command: Command, out: TextIO) -> None:
    rows = list(_distributions().items())
    match command.values.get("--format", "columns"):
        case "json":
            shown = [{"name": package, "version": version} for package, version in rows]
            out.write(json.dumps(shown) + "\n")
        case "freeze":
            out.writelines(f"{package}=={version}\n" for package, version in rows)
        case "columns":
            heads = ("Package", "Version")
            wide = [max(len(row[at]) for row in [heads, *rows]) for at in (0, 1)]
            lines = [heads, ("-" * wide[0], "-" * wide[1]), *rows]
            out.writelines(f"{package:{wide[0]}} {version}\n" for package, version in lines)
        case other:
            raise CannotInstallError(
                f"option --format: invalid choice: {other!r} (choose from columns, freeze, json)", 2
            )


def _show(names: list[str], out: TextIO, errors: TextIO) -> int:
    found, missing = [], []
    for name in names:
        try:
            found.append(importlib.metadata.distribution(name))
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        errors.write(f"WARNING: Package(s) not found: {', '.join(missing)}\n")
    out.write("---\n".join(map(_description, found)))
    return 0 if found else 1


def _description(one: importlib.metadata.Distribution) -> str:
    fields: Any = one.metadata  # a message, whose protocol has no `get`
    lines = {
        "Name": one.name,
        "Version": one.version,
        "Summary": fields.get("Summary", ""),
        "Home-page": fields.get("Home-page", ""),
        "Author": fields.get("Author", ""),
        "License": fields.get("License-Expression") or fields.get("License", ""),
        "Location": str(one.locate_file("")),
        "Requires": ", ".join(sorted(_needs(one))),
        "Required-by": ", ".join(
            sorted(
                {
                    other.name
                    for other in importlib.metadata.distributions()
                    if _normal(one.name) in map(_normal, _needs(other))
                }
            )
        ),
    }
    return "".join(f"{title}: {text}".rstrip() + "\n" for title, text in lines.items())


def _needs(one: importlib.metadata.Distribution) -> Iterator[str]:
    """The names of what a package needs, without its extras."""
    for requirement in one.requires or ():
        match = _NAME.match(requirement)
        if match is not None and not re.search(r";.*\bextra\b", requirement):
            yield match[0]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# -- what a workspace changes ----------------------------------------------------------------------------


def _install(command: Command, deps: Any, out: TextIO, errors: TextIO) -> int:
    wanted = []
    for requirement in command.wanted:
        version = _present_version(requirement)
        if version is None:
            wanted.append(requirement)
        else:
            _say_satisfied(command, requirement, out)
    before = _distributions()
    failed = False
    for requirement in wanted:
        if "://" in requirement.partition("@")[0] or requirement.startswith((".", "/", "~")):
            raise CannotInstallError(f"{requirement}: packages are installed by name here, as attrs>=24")
        outcome = _deps(deps, wanted).add(requirement)
        for one in outcome["already_present"]:
            _say_satisfied(command, one, out)
        for one, reason in outcome["failed"].items():
            failed = True
            errors.write(f"ERROR: {one}: {reason}\n")
        for one in outcome["installed"]:
            if ";" in one and (match := _NAME.match(one)) and _version(match[0]) is None:
                out.write(f"Ignoring {one}: its markers do not match this environment\n")
    new = [f"{name}-{version}" for name, version in _distributions().items() if before.get(name) != version]
    if new and not command.is_quiet:
        out.write(f"Successfully installed {' '.join(new)}\n")
    return 1 if failed else 0


def _say_satisfied(command: Command, requirement: str, out: TextIO) -> None:
    if not command.is_quiet:
        match = _NAME.match(requirement)
        version = match and _version(match[0])
        out.write(f"Requirement already satisfied: {requirement}{f' ({version})' if version else ''}\n")
        if command.has("--upgrade"):
            out.write(f"A version that fits is kept: to change it, ask for one, as {requirement}==VERSION\n")


def _uninstall(command: Command, deps: Any, out: TextIO, errors: TextIO) -> int:
    failed = False
    for name in command.wanted:
        match = _NAME.match(name)
        version = match and _version(match[0])
        outcome = _deps(deps, command.wanted).remove(name)
        for one in outcome["removed"]:
            if not command.is_quiet:
                out.write(f"Successfully uninstalled {one}{f'-{version}' if version else ''}\n")
        for one in outcome["not_found"]:
            errors.write(f"WARNING: Skipping {one} as it is not installed.\n")
        for one, reason in outcome["failed"].items():
            failed = True
            errors.write(f"ERROR: {one}: {reason}\n")
    return 1 if failed else 0


def _deps(deps: Any, packages: list[str]) -> Any:
    if deps is None:
        raise CannotInstallError(
            f"{', '.join(packages)}: packages come with an image (planaria.Image.build, "
            "`planaria image build`), or with a workspace (--base), which this session does not have"
        )
    return deps


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _present_version(requirement: str) -> str | None:
    """The version of a package that is there, if none is asked for; empty for a module without one."""
    if _NAME.fullmatch(requirement) is None:
        return None
    version = _version(requirement)
    if version is not None:
        return version
    module = _MODULES.get(requirement.lower(), requirement.lower().replace("-", "_"))
    try:
        return "" if find_spec(module) is not None else None
    except (ImportError, ValueError):
        return None
