"""Programs that run notebooks, on a notebook with pandas and matplotlib."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

VIEW = "application/vnd.jupyter.widget-view+json"
CELLS = [
    "%matplotlib inline\nimport pandas as pd\nimport matplotlib.pyplot as plt",
    "frame = pd.DataFrame({'a': [1, 2, 3], 'b': [4, 5, 6]})\nframe",
    "frame.plot()\nplt.show()",
    "%%bash\necho $((6 * 7))",
]


def notebook(kernel: str = "planaria-tests") -> Any:
    """A notebook for the kernel of these tests, with a cell of parameters."""
    made = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": kernel, "display_name": "tests", "language": "python"}}
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
    nbclient.NotebookClient(made, timeout=600, startup_timeout=600).execute()
    check(made, "1")


@pytest.mark.full
def test_papermill(tmp_path: Path) -> None:
    """papermill executes a notebook with parameters."""
    papermill = pytest.importorskip("papermill", reason="papermill is not installed")
    nbformat.write(notebook(), tmp_path / "in.ipynb")
    papermill.execute_notebook(
        tmp_path / "in.ipynb", tmp_path / "out.ipynb", {"n": 42}, progress_bar=False, start_timeout=600
    )
    check(nbformat.read(tmp_path / "out.ipynb", 4), "42")


@pytest.mark.full
def test_nbconvert(widgets_kernel: str, tmp_path: Path) -> None:
    """`jupyter nbconvert --execute` makes a page of a notebook, with its figures and the state of its widgets."""
    pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    made = notebook(widgets_kernel)
    made.cells.insert(
        1, nbformat.v4.new_code_cell("import ipywidgets\nslider = ipywidgets.IntSlider(7)\nslider")
    )
    nbformat.write(made, tmp_path / "in.ipynb")
    command = [sys.executable, "-m", "jupyter", "nbconvert"]
    waits = ["--ExecutePreprocessor.timeout=600", "--ExecutePreprocessor.startup_timeout=600"]
    for options in (
        ["--execute", *waits, "--to", "notebook", "--output", "out", "in.ipynb"],
        ["--to", "html", "out.ipynb"],
    ):
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=1200
        )
        assert done.returncode == 0, done.stderr
    executed = nbformat.read(tmp_path / "out.ipynb", 4)
    check(executed, "1")
    model = executed.cells[1].outputs[0].data[VIEW]["model_id"]
    states = executed.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    assert states[model]["state"]["value"] == 7
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "data:image/png;base64,iVBOR" in page
    assert model in page


@pytest.mark.full
def test_nbval(widgets_kernel: str, tmp_path: Path) -> None:
    """nbval finds the outputs of a notebook as they are stored, and sees one that differs."""
    pytest.importorskip("nbval", reason="nbval is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    made = notebook(widgets_kernel)
    made.cells.append(nbformat.v4.new_code_cell("import ipywidgets\nipywidgets.IntSlider(7).value"))
    nbclient.NotebookClient(made, timeout=600, startup_timeout=600).execute()
    nbformat.write(made, tmp_path / "same.ipynb")
    made.cells[-1].outputs[0].data["text/plain"] = "8"
    nbformat.write(made, tmp_path / "other.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--nbval", "--rootdir", "."]
    command += ["--nbval-cell-timeout=600", "--nbval-kernel-startup-timeout=600", "-c", os.devnull]
    done = subprocess.run(
        [*command, "same.ipynb", "other.ipynb"], cwd=tmp_path, capture_output=True, text=True, timeout=1200
    )
    count = len(made.cells)
    assert f"1 failed, {2 * count - 1} passed" in done.stdout, done.stdout + done.stderr
    assert "other.ipynb::Cell" in done.stdout
