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


@pytest.mark.slow
def test_the_workspace_runs() -> None:
    """The code in the example calls a command, an MCP server and an HTTP interface, and saves a workflow."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "run_workspace.py"], stdout=subprocess.PIPE, check=True, text=True
    )
    assert "delivery (cost, days): What it costs to send something, and how long it takes" in done.stdout
    assert "Kettle 49.5 €" in done.stdout
    assert "'total': 194.5, 'days': '3 to 9'" in done.stdout
    assert "cheapest to France: 3 × Filters" in done.stdout
    assert "we do not deliver to 'XX'" in done.stdout.splitlines()[-1]
