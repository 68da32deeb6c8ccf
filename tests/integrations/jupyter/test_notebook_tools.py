"""Programs that run notebooks, on a notebook with pandas and matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

CELLS = [
    "%matplotlib inline\nimport pandas as pd\nimport matplotlib.pyplot as plt",
    "frame = pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})\nframe",
    "frame.plot()\nplt.show()",
    "%%bash\necho $((6 * 7))",
]


def notebook() -> Any:
    """A notebook for the kernel of these tests, with a cell of parameters."""
    made = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "planaria-tests", "display_name": "tests", "language": "python"}}
    )
    parameters = nbformat.v4.new_code_cell("n = 1", metadata={"tags": ["parameters"]})
    made.cells = [parameters, *map(nbformat.v4.new_code_cell, CELLS), nbformat.v4.new_code_cell("n")]
    return made


def check(executed: Any, last: str) -> None:
    """Whether the cells have the outputs that they should have."""
    table, figure, script, value = [cell.outputs for cell in executed.cells][-4:]
    assert "<table" in table[0].data["text/html"]
    assert figure[-1].data["image/png"].startswith("iVBOR")
    assert script[0].text == "42\n"
    assert value[0].data["text/plain"] == last


@pytest.mark.full
def test_nbclient() -> None:
    """nbclient executes a notebook, with tables, figures and scripts."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    made = notebook()
    nbclient.NotebookClient(made, timeout=300, startup_timeout=120).execute()
    check(made, "1")


@pytest.mark.full
def test_papermill(tmp_path: Path) -> None:
    """papermill executes a notebook with parameters."""
    papermill = pytest.importorskip("papermill", reason="papermill is not installed")
    nbformat.write(notebook(), tmp_path / "in.ipynb")
    papermill.execute_notebook(
        tmp_path / "in.ipynb", tmp_path / "out.ipynb", {"n": 42}, progress_bar=False, start_timeout=120
    )
    check(nbformat.read(tmp_path / "out.ipynb", 4), "42")
