"""The kernel in JupyterLab, as people use it: in a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from lab import CHROMIUM, Lab, Server, open_server
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


HOST_CELLS = [
    "import planaria\nsession = planaria.Session()\n"
    "for code in ('x = 1', 'x = \"<b>bold</b>\"', 'x = 3'):\n    session.run(code)\n"
    "tree = planaria.widget(session)\ntree",
    "session.execute('x').value",
    "session.checkpoint('<i>here</i>')",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with open_server(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go of what the browser has shown."""
    chosen = os.environ.get("PLANARIA_SCREENSHOTS")
    return Path(chosen) if chosen else tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def lab(server: Server, widgets_kernel: str, screenshots: Path) -> Iterator[Lab]:
    with server.open(widgets_kernel, CELLS, screenshots / "kernel.png") as lab:
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
    box = lab.run(7).first
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


def test_session_tree(server: Server, screenshots: Path) -> None:
    """In a notebook of the host, the tree of a session rewinds, forks and compares when it is clicked."""
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    with server.open("python3", HOST_CELLS, screenshots / "tree.png") as lab:
        tree = lab.run(0).first
        rows = tree.locator(".planaria-row")
        expect(rows).to_have_count(4)
        expect(rows.nth(2)).to_contain_text('x = "<b>bold</b>"')
        rows.nth(1).locator("input").click()
        rows.nth(3).locator("input").click()
        expect(tree.locator(".planaria-comparison")).to_have_text("~ x: int = 1 -> int = 3")
        rows.nth(1).get_by_text("fork").click()
        expect(rows.nth(1)).to_contain_text("session 1")
        rows.nth(2).get_by_text("rewind 0").click()
        expect(rows.nth(2)).to_contain_text("session 0")
        lab.run(2)
        expect(rows.locator(".planaria-label")).to_have_text("<i>here</i>")
        expect(lab.run(1)).to_have_text("'<b>bold</b>'")
