from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.full
def test_the_analysis_of_the_demo_runs(tmp_path: Path) -> None:
    """What `make demo` runs prints its table and leaves a plot."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "analyse_sales.py"],
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        check=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:7]] == ["Beans", "Espresso", "Filters", "Grinder", "Kettle"]
    assert "The best month was December, with 33,266." in lines
    assert (tmp_path / "out" / "sales.png").read_bytes().startswith(b"\x89PNG\r\n")
