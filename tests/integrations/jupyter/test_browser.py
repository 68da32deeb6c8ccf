"""The kernel in JupyterLab, as people use it: in a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from lab import CHROMIUM, Lab, open_lab
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian's package: chromium)"),
]

CELLS = [
    "print('hello from', __import__('sys').platform)\n6 * 7",
    "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()",
    "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<i>']})",
    "kept = 5\nprint('runs')\nwhile True: pass",
    "kept = 6",
    "%undo",
    "kept",
    "import ipywidgets\nslider = ipywidgets.IntSlider(3, description='n')\n"
    "out = ipywidgets.Output()\n"
    "def told(change):\n    with out:\n        print('moved to', change['new'])\n"
    "slider.observe(told, 'value')\nipywidgets.VBox([slider, out])",
    "slider.value",
    "from tqdm.auto import tqdm\nfor n in tqdm(range(20)): pass",
    "name = input('Who? ')\nname",
    "%%bash\necho $((6 * 7))",
]


@pytest.fixture(scope="module")
def lab(widgets_kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    # Where to look at what the browser has shown.
    chosen = os.environ.get("PLANARIA_SCREENSHOTS")
    directory = tmp_path_factory.mktemp("lab")
    with open_lab(directory, widgets_kernel, CELLS, Path(chosen) if chosen else None) as lab:
        yield lab


def test_run(lab: Lab) -> None:
    """A cell prints and has a value."""
    output = lab.run(0)
    expect(output.nth(0)).to_have_text("hello from wasi")
    expect(output.nth(1)).to_have_text("42")


def test_plot(lab: Lab) -> None:
    """A figure is shown as an image."""
    image = lab.run(1).locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") > 100


def test_table(lab: Lab) -> None:
    """A data frame is shown as a table, with its text escaped."""
    expect(lab.run(2).locator("td", has_text="<i>")).to_be_visible()


def test_interrupt(lab: Lab) -> None:
    """The button that interrupts stops a cell, and variables stay."""
    lab.begin(3)
    expect(lab.output(3).first).to_contain_text("runs")
    lab.page.get_by_title("Interrupt the kernel").click()
    expect(lab.output(3).last).to_contain_text("KeyboardInterrupt")
    expect(lab.run(6)).to_have_text("5")


def test_undo(lab: Lab) -> None:
    """%undo takes back the cell before it."""
    lab.run(4)
    expect(lab.run(6)).to_have_text("6")
    lab.write(5, "%undo 2")  # the question, and the assignment
    expect(lab.run(5)).to_contain_text("took back 2 cells")
    expect(lab.run(6)).to_have_text("5")


def test_widget(lab: Lab) -> None:
    """A slider that is moved by its keys calls who observes it, whose output goes to the Output widget."""
    box = lab.run(7)
    handle = box.locator(".noUi-handle")
    handle.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(box).to_contain_text("moved to 4")
    lab.page.keyboard.press("ArrowRight")
    expect(box).to_contain_text("moved to 5")
    expect(lab.run(8)).to_have_text("5")


def test_progress(lab: Lab) -> None:
    """`tqdm.auto` draws a bar."""
    output = lab.run(9)
    expect(output.locator(".progress-bar, .jupyter-widget-inline-hbox progress").first).to_be_visible()
    expect(output).to_contain_text("20/20")


def test_input(lab: Lab) -> None:
    """A line that is asked for is typed below the cell."""
    lab.begin(10)
    field = lab.cell(10).locator(".jp-Stdin-input")
    field.fill("Ada")
    field.press("Enter")
    expect(lab.output(10).last).to_have_text("'Ada'")


def test_bash(lab: Lab) -> None:
    """A script of bash prints."""
    expect(lab.run(11)).to_have_text("42")


def test_restart(lab: Lab) -> None:
    """After a restart by the menu the session is new."""
    lab.menu("Kernel", "Restart Kernel…")
    lab.accept()
    lab.wait_for_kernel()
    expect(lab.run(6).last).to_contain_text("NameError")
    expect(lab.run(0).nth(1)).to_have_text("42")
