"""The program `planaria` as a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from planaria_process import COMMAND, Run


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PLANARIA_BACKGROUND_COMPILE": "0", "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def planaria(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Run `planaria` in an empty directory and wait for its end."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
            check=False,
        )

    return run
