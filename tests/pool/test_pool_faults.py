"""The run of a pool under faults, with few sessions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "pool_faults.py"


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is NOT INSTALLED (make tools)")
def test_nothing_is_lost_under_faults() -> None:
    """Workers are killed, Redis is restarted, an object store answers errors: each step has its effect once."""
    command = [
        sys.executable,
        str(PROGRAM),
        "--sessions",
        "30",
        "--steps",
        "24",
        "--kills",
        "0.2",
        "--objects",
        "0.2",
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 restarts of Redis" in run.stdout
