"""Nothing that a server has answered is lost, whatever happens to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "server_faults.py"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_nothing_answered_is_lost() -> None:
    """With connections cut and the server killed and started again, each answer continues the one before."""
    options = ["--clients", "3", "--sessions", "6", "--seconds", "6", "--kill-every", "2.5", "--live", "4"]
    done = subprocess.run(
        [sys.executable, PROGRAM, *options], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 kills" not in done.stdout
