"""The Python interpreters of this computer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from findpython.providers import ALL_PROVIDERS

from planaria.errors import RuntimeSetupError

__all__ = ["Interpreter", "find_interpreter", "find_uv"]

#: The oldest version that the kernel runs on.
OLDEST: Final = (3, 11)
_VERSION: Final = re.compile(r"3\.\d{1,3}(\.\d{1,3})?")
_PROBE: Final = (
    "import sys, json; print(json.dumps([sys._base_executable, sys.version_info[:3], "
    "sys.implementation.cache_tag]))"
)
#: Seconds that an interpreter has to answer.
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python, outside of any virtual environment."""

    path: Path
    version: tuple[int, int, int]
    tag: str
    """As "cpython-312"."""

    @property
    def short(self) -> str:
        return f"{self.version[0]}.{self.version[1]}"

    def fits(self, wanted: str) -> bool:
        """Whether it is of a version such as "3.12" or "3.12.1"."""
        numbers = tuple(map(int, wanted.split(".")))
        return self.version[: len(numbers)] == numbers


def find_interpreter(version: str | None = None) -> Interpreter:
    """An interpreter of a version such as "3.12", by default that of this process.

    Searched for where this process is from, then wherever findpython looks: PATH, pyenv, uv and others.
    Raises ValueError for an invalid version, RuntimeSetupError when no interpreter has it, with those found.
    """
    ours = _ours()
    if version is None:
        if ours is None:
            raise RuntimeSetupError("this process has no Python executable: give python_version=")
        return ours
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise ValueError(f'python_version={version!r}: expected a string such as "3.12" or "3.12.1"')
    if tuple(map(int, version.split(".")))[:2] < OLDEST:
        raise ValueError(f"python_version={version!r}: the kernel needs Python 3.11 or newer")
    found: dict[Interpreter, None] = {}
    for candidate in _candidates(version):
        if candidate.fits(version):
            return candidate
        if candidate.version[:2] >= OLDEST:
            found[candidate] = None
    known = ", ".join(f"{'.'.join(map(str, one.version))} ({one.path})" for one in found) or "none"
    raise RuntimeSetupError(f"Python {version} was not found on this computer; found: {known}")


def _ours() -> Interpreter | None:
    path = getattr(sys, "_base_executable", None) or sys.executable
    if not path or not os.path.exists(path):
        return None
    return Interpreter(Path(path), sys.version_info[:3], sys.implementation.cache_tag or "python")


def _candidates(version: str) -> Iterator[Interpreter]:
    """Interpreters, the likeliest first; each is started only when those before it did not fit."""
    ours = _ours()
    if ours is not None:
        yield ours
    providers = (provider.create() for provider in ALL_PROVIDERS.values())
    paths = {
        one.executable.resolve(): str(one.executable)
        for provider in providers
        if provider is not None
        for one in provider.find_pythons()
    }
    short = ".".join(version.split(".")[:2])
    # Most paths tell the version: .../3.12.1/bin/python, or python3.12.
    for path in sorted(paths.values(), key=lambda path: short not in path):
        interpreter = _probe(path)
        if interpreter is not None:
            yield interpreter


@cache
def _probe(path: str) -> Interpreter | None:
    """What an executable says it is; None when it is not a Python that starts."""
    try:
        run = subprocess.run(
            [path, "-I", "-S", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=True,
        )
        base, version, tag = json.loads(run.stdout)
        major, minor, micro = map(int, version)
        return Interpreter(Path(str(base)), (major, minor, micro), str(tag))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None


def find_uv() -> str | None:
    """The program uv, on PATH or beside this interpreter."""
    return shutil.which("uv") or shutil.which("uv", path=os.path.dirname(sys.executable or ""))
