"""The program `planaria` as a process of its own."""

from __future__ import annotations

import os
import pkgutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from planaria_process import PROGRAM, Run
from preloaded_python import PreloadedPython

from planaria import cli


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PLANARIA_BACKGROUND_COMPILE": "0", "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture(scope="session")
def preloaded() -> Iterator[PreloadedPython]:
    """The process from which those of `planaria` are forked."""
    program = [module.name for module in pkgutil.iter_modules(cli.__path__, "planaria.cli.")]
    with PreloadedPython([*program, "planaria.session._sync.session"]) as preloaded:
        yield preloaded


@pytest.fixture
def planaria(tmp_path: Path, environment: dict[str, str], preloaded: PreloadedPython) -> Run:
    """Run `planaria` in an empty directory and wait for its end."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return preloaded.run(
            PROGRAM,
            ["-c", *map(str, arguments)],
            stdin=stdin,
            directory=tmp_path,
            environment=environment,
        )

    return run
