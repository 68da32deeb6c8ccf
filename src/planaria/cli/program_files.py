"""What a program that is run from a file finds in the sandbox: itself, the modules beside it, a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from planaria import Session
from planaria.errors import FileSystemError
from planaria.files.storage import Mount
from planaria.session.kernel_queries import evaluate

__all__ = [
    "HOME",
    "copy_modules",
    "describe_terminal",
    "home_files",
    "place_of",
    "save_files",
    "set_up",
    "terminal_environment",
]

#: Where the code begins, and where programs are put that no mount shows.
HOME: Final = "/home/user"

_IMPORT: Final = re.compile(
    rb"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE
)
#: Python files of a program that are copied; more than these want a mount.
_MOST_FILES: Final = 2000
#: Files of the home directory that are listed.
_MOST_LISTED: Final = 10_000

_SET_UP: Final = (
    "(lambda sys: (globals().update(__file__={file!r}), sys.path.__setitem__(0, {directory!r})) and None)"
    "(__import__('sys'))"
)
_TERMINAL: Final = (
    "[getattr(__import__('sys'), name).__dict__.update(isatty=lambda: True) for name in {!r}] and None"
)


def place_of(file: Path, mounts: Iterable[Mount]) -> str | None:
    """The path in the sandbox of an absolute path that a mount shows; None when none does."""
    for mount in mounts:
        for host in (Path(mount.host_path).absolute(), Path(mount.host_path).resolve()):
            if file.is_relative_to(host):
                return f"{mount.guest_path.rstrip('/')}/{file.relative_to(host).as_posix()}"
    return None


def copy_modules(session: Session, directory: Path, source: bytes) -> None:
    """Copy the modules and packages of a directory that a program, or one of them, imports."""
    copied = 0
    seen: set[str] = set()
    waiting = [source]
    while waiting:
        for name in _imported(waiting.pop()):
            if name in seen:
                continue
            seen.add(name)
            for file in _files_of(directory, name):
                if copied == _MOST_FILES:
                    return
                copied += 1
                data = file.read_bytes()
                path = f"{HOME}/{file.relative_to(directory).as_posix()}"
                session.files.mkdir(path.rpartition("/")[0], parents=True, exist_ok=True)
                session.files.write_bytes(path, data)
                waiting.append(data)


def _imported(source: bytes) -> Iterator[str]:
    """The first parts of the names of modules that a source imports, absolutely."""
    for match in _IMPORT.finditer(source):
        for name in (match[1] or match[2]).decode("ascii", "ignore").split(","):
            first = name.strip().partition(" ")[0].partition(".")[0]
            if first.isidentifier():
                yield first


def _files_of(directory: Path, name: str) -> list[Path]:
    module = directory / f"{name}.py"
    if module.is_file():
        return [module]
    package = directory / name
    return sorted(package.rglob("*.py")) if package.is_dir() else []


def set_up(session: Session, path: str, real: str) -> None:
    """Give the program its `__file__`, and have it find modules beside the file that this is, or leads to."""
    evaluate(session._engine, _SET_UP.format(file=path, directory=real.rpartition("/")[0] or "/"))


def describe_terminal(session: Session) -> None:
    """Have the streams that are a terminal here say so in the sandbox."""
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
    terminals = [name for name, stream in streams.items() if stream is not None and stream.isatty()]
    if terminals:
        evaluate(session._engine, _TERMINAL.format(terminals))


def terminal_environment() -> dict[str, str]:
    """The kind and size of the terminal that standard output is, as environment variables."""
    if sys.stdout is None or not sys.stdout.isatty():
        return {}
    size = shutil.get_terminal_size()
    return {"TERM": os.environ.get("TERM", "dumb"), "COLUMNS": str(size.columns), "LINES": str(size.lines)}


def home_files(session: Session, mounts: Iterable[Mount]) -> list[str]:
    """The paths of files in the home directory, without hidden ones and those that a mount shows."""
    shown = {mount.guest_path.rstrip("/") for mount in mounts}
    found: list[str] = []
    if any(place == HOME or HOME.startswith(f"{place}/") for place in shown):
        return found
    try:
        for directory, directories, names in session.files.walk(HOME):
            directories[:] = [
                name
                for name in directories
                if not name.startswith(".") and name != "__pycache__" and f"{directory}/{name}" not in shown
            ]
            found += [f"{directory}/{name}" for name in names if not name.startswith(".")]
            if len(found) >= _MOST_LISTED:
                break
    except FileSystemError:  # the program has removed its home
        return found
    return found


def save_files(session: Session, paths: Iterable[str], directory: Path) -> list[str]:
    """Copy files of the home directory into a directory of the host; those that are there already.

    Nothing is written over.
    """
    refused: list[str] = []
    for path in paths:
        target = directory / path.removeprefix(f"{HOME}/")
        if target.exists() or target.is_symlink():
            refused.append(str(target))
        else:
            session.files.copy_out(path, target)
    return refused
