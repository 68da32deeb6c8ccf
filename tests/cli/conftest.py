"""The program `planaria` as a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from planaria_process import PreloadedPlanaria, Run


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PLANARIA_BACKGROUND_COMPILE": "0", "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture(scope="session")
def preloaded() -> Iterator[PreloadedPlanaria]:
    """The process from which those of a run are forked."""
    with PreloadedPlanaria() as preloaded:
        yield preloaded


@pytest.fixture
def planaria(tmp_path: Path, environment: dict[str, str], preloaded: PreloadedPlanaria) -> Run:
    """Run `planaria` in an empty directory and wait for its end."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return preloaded.run(map(str, arguments), stdin=stdin, directory=tmp_path, environment=environment)

    return run
