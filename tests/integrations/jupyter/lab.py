"""JupyterLab in a browser: a server, a page of Chromium, and the cells of a notebook on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO

import nbformat
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

#: What anything may take, in seconds; on a busy computer all of it is slow.
PATIENCE = 300

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)

expect.set_options(timeout=PATIENCE * 1000)


class Lab:
    """A notebook that is open in JupyterLab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def cell(self, number: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def output(self, number: int) -> Locator:
        """What a cell has printed and shown."""
        return self.cell(number).locator(".jp-OutputArea-output")

    def begin(self, number: int) -> None:
        """Run a cell, as with Shift and Enter in it, and do not wait for its end."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def run(self, number: int) -> Locator:
        """Run a cell and wait until it has ended; its output."""
        prompt = self.cell(number).locator(".jp-InputPrompt")
        before = prompt.inner_text()
        self.begin(number)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))
        if before.strip() != "[ ]:":
            expect(prompt).not_to_have_text(before)
        return self.output(number)

    def wait_for_kernel(self) -> None:
        """Wait until the kernel has nothing to do; what is run before it is connected is lost."""
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def write(self, number: int, source: str) -> None:
        """Replace the source of a cell."""
        self.cell(number).locator(".cm-content").fill(source)

    def menu(self, *labels: str) -> None:
        """Choose an entry of the menus."""
        self.page.locator(".lm-MenuBar-item", has_text=labels[0]).first.click()
        for label in labels[1:]:
            self.page.locator(".lm-Menu-item", has_text=label).first.click()

    def accept(self) -> None:
        """Press the button by which a dialogue goes on."""
        self.page.locator(".jp-Dialog .jp-mod-accept").click()


class Server:
    """A server of JupyterLab and a browser."""

    def __init__(self, address: str, work: Path, browser: Browser) -> None:
        self._address = address
        self._work = work
        self._browser = browser

    @contextmanager
    def open(self, kernel: str, cells: Sequence[str], screenshot: Path) -> Iterator[Lab]:
        """A new notebook of these cells; a picture of the page is taken at the end."""
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}}
        )
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
        file = self._work / f"{kernel}.ipynb"
        nbformat.write(notebook, file)
        page = self._browser.new_page(viewport={"width": 1200, "height": 1800})
        try:
            page.set_default_timeout(PATIENCE * 1000)
            page.goto(self._address.replace("/lab", f"/lab/workspaces/{kernel}/tree/{file.name}"))
            page.locator(".jp-Notebook .jp-Cell").first.wait_for()
            lab = Lab(page)
            lab.wait_for_kernel()
            yield lab
        finally:
            page.screenshot(path=screenshot)
            page.close()


@contextmanager
def open_server(directory: Path) -> Iterator[Server]:
    """A server that keeps its files in a directory, and a browser."""
    work = directory / "work"
    work.mkdir()
    with _server(directory, work) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield Server(address, work, browser)
        finally:
            browser.close()


@contextmanager
def _server(directory: Path, work: Path) -> Iterator[str]:
    """The address of a server of JupyterLab, with its token."""
    command: list[str] = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"]
    settings = {
        "ServerApp.port": 0,
        "ServerApp.root_dir": work,
        "ServerApp.terminals_enabled": False,
        "LabApp.news_url": "None",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    }
    command += [f"--{name}={value}" for name, value in settings.items()]
    own = {
        name: str(directory / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    }
    process = subprocess.Popen(
        command, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    with process.stdout as output, (directory / "server.log").open("w") as log:
        rest = Thread(target=log.writelines, args=(output,))
        try:
            address = _address(output, log)
            rest.start()
            yield address
        finally:
            process.terminate()
            process.wait(PATIENCE)
            if rest.ident is not None:
                rest.join()


def _address(output: IO[str], log: IO[str]) -> str:
    for line in output:
        log.write(line)
        found = re.search(r"http://(?:127\.0\.0\.1|localhost):[1-9]\d*/lab\?token=\w+", line)
        if found is not None:
            return found[0]
    raise AssertionError("the server of JupyterLab has ended")
