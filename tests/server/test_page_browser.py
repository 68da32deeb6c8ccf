"""The page of a server, as people use it: in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")

from page_in_browser import CHROMIUM, NotebookPage, browser
from playwright.sync_api import Browser, expect
from session_server import Served, client_of, served

import planaria

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian's package: chromium)"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def page_server() -> Iterator[Served]:
    with served(store=planaria.MemoryStore(), page=True) as running:
        yield running


@pytest.fixture(scope="module")
def client(page_server: Served) -> Iterator[httpx.Client]:
    with client_of(page_server.url) as one:
        yield one


@pytest.fixture
def session(client: httpx.Client, request: pytest.FixtureRequest) -> str:
    """A new session named like the test, whose code can ask."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:60]
    client.post(
        "/v1/sessions", json={"id": name, "input": True, "callbacks": [{"name": "pay"}]}
    ).raise_for_status()
    return name


@pytest.fixture
def page(chromium: Browser, page_server: Served, session: str) -> Iterator[NotebookPage]:
    """The page with that session; nothing may go wrong on it."""
    opened = NotebookPage(
        chromium.new_page(viewport={"width": 1360, "height": 860}), page_server.url, session
    )
    yield opened
    assert opened.problems == []
    opened.page.close()


def test_write_and_run(page: NotebookPage) -> None:
    """A cell prints and has a value; Shift and Enter goes on to the next one, which is added."""
    page.add("print('hello')\n6 * 7")
    page.page.keyboard.press("Shift+Enter")
    expect(page.output(0).locator(".stdout")).to_have_text("hello\n")
    expect(page.output(0).locator(".value")).to_have_text("42")
    expect(page.cell(0).locator(".prompt")).to_have_text("[1]")
    page.page.keyboard.insert_text("1 / 0")
    page.page.keyboard.press("Control+Enter")
    expect(page.output(1)).to_contain_text("ZeroDivisionError: division by zero")
    expect(page.output(1)).to_contain_text('File "<cell 2>", line 1')


def test_streaming_and_interrupt(page: NotebookPage) -> None:
    """Output comes while the code runs; the button stops an endless loop, and variables stay."""
    number = page.begin("kept = 5\nprint('runs', flush=True)\nwhile True: pass")
    expect(page.output(number)).to_contain_text("runs")
    expect(page.cell(number)).to_have_attribute("data-state", "running")
    page.page.locator("#interrupt").click()
    expect(page.output(number)).to_contain_text("Interrupted")
    expect(page.run("kept")).to_have_text("5")


def test_plot_and_table(page: NotebookPage) -> None:
    """A figure is an image; a frame is a table within a frame of its own, whose text runs nowhere."""
    image = page.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()").locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") > 100
    output = page.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<i>']})")
    expect(output.frame_locator("iframe").locator("td", has_text="<i>")).to_be_visible()
    # The frame is as high as its table.
    expect(output.locator("iframe")).not_to_have_css("height", "40px")


def test_undo_rewind_fork_compare(page: NotebookPage) -> None:
    """States are undone, gone back to, forked and compared from the tree."""
    for code in ("x = 1", "x = 2", "x = 3"):
        page.run(code)
    expect(page.page.locator(".state")).to_have_count(4)
    page.page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.state(2)).to_have_attribute("aria-current", "true")
    expect(page.cell(2)).to_contain_text("not part of the present state")
    expect(page.run("x")).to_have_text("2")
    page.state(1).click()
    page.page.get_by_role("button", name="Compare", exact=True).click()
    dialog = page.page.get_by_role("dialog")
    expect(dialog.locator(".changes .changed")).to_contain_text("x int 1 → int 2")
    dialog.get_by_role("button", name="Close").click()
    page.page.get_by_role("button", name="Fork from here").click()
    fork = page.page.locator(".state.forked")
    expect(fork).to_contain_text(f"{page.session}-fork-1")
    page.page.get_by_role("button", name="Rewind to here").click()
    expect(page.state(1)).to_have_attribute("aria-current", "true")
    # The state that was left can be gone to again.
    expect(page.page.locator(".state .label", has_text="left 1")).to_be_visible()
    expect(page.run("x")).to_have_text("1")
    fork.click()
    page.wait()
    expect(page.page).to_have_title(f"{page.session}-fork-1 – planaria")
    expect(page.run("x + 100")).to_have_text("101")
