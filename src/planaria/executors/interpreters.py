"""The Python interpreters of this machine."""

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

from planaria.errors import RuntimeSetupError

__all__ = ["Interpreter", "find_interpreter", "find_uv"]

#: What the kernel needs.
OLDEST: Final = (3, 11)
#: Where looking for others ends.
_NEWEST: Final = 20
_VERSION: Final = re.compile(r"3\.\d{1,3}(\.\d{1,3})?")
_PROBE: Final = (
    "import sys, json; print(json.dumps([sys._base_executable, sys.version_info[:3], "
    "sys.implementation.cache_tag]))"
)
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

    Looked for where this process is from, on PATH, among those of pyenv and of uv. Raises ValueError for
    what is no version, RuntimeSetupError when there is none, with those that there are.
    """
    ours = _ours()
    if version is None:
        if ours is None:
            raise RuntimeSetupError("the interpreter of this process has no executable: give python_version=")
        return ours
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise ValueError(f'python_version={version!r}: a text such as "3.12" or "3.12.1"')
    if tuple(map(int, version.split(".")))[:2] < OLDEST:
        raise ValueError(f"python_version={version!r}: the kernel needs Python 3.11 or newer")
    found: dict[Interpreter, None] = {}
    for candidate in _candidates(version):
        if candidate.fits(version):
            return candidate
        if candidate.version[:2] >= OLDEST:
            found[candidate] = None
    known = ", ".join(f"{'.'.join(map(str, one.version))} ({one.path})" for one in found) or "none"
    raise RuntimeSetupError(f"there is no Python {version} on this machine; found: {known}")


def _ours() -> Interpreter | None:
    path = getattr(sys, "_base_executable", None) or sys.executable
    if not path or not os.path.exists(path):
        return None
    return Interpreter(Path(path), sys.version_info[:3], sys.implementation.cache_tag or "python")


def _candidates(version: str) -> Iterator[Interpreter]:
    """Interpreters, the likeliest first."""
    ours = _ours()
    if ours is not None:
        yield ours
    short = ".".join(version.split(".")[:2])
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    paths = [
        *sorted(map(str, pyenv.glob(f"{short}*/bin/python")), reverse=True),
        shutil.which(f"python{short}"),
    ]
    uv = find_uv()
    if uv is not None:
        paths.append(_output([uv, "python", "find", "--no-python-downloads", version]))
    # Only to tell what there is instead.
    for minor in range(OLDEST[1], _NEWEST):
        paths += sorted(map(str, pyenv.glob(f"3.{minor}*/bin/python")))
        paths.append(shutil.which(f"python3.{minor}"))
    for path in dict.fromkeys(paths):
        interpreter = _probe(path) if path else None
        if interpreter is not None:
            yield interpreter


@cache
def _probe(path: str) -> Interpreter | None:
    """What an executable says that it is; None when it is no Python that can be started."""
    text = _output([path, "-I", "-S", "-c", _PROBE])
    try:
        base, version, tag = json.loads(text or "")
        major, minor, micro = map(int, version)
        return Interpreter(Path(str(base)), (major, minor, micro), str(tag))
    except (ValueError, TypeError):
        return None


def find_uv() -> str | None:
    """The program uv, on PATH or beside this interpreter."""
    return shutil.which("uv") or shutil.which("uv", path=os.path.dirname(sys.executable or ""))


def _output(command: list[str]) -> str | None:
    """What a program prints; None when it fails."""
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return run.stdout.strip() if run.returncode == 0 else None
