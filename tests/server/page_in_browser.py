"""The page of a server in a browser."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

__all__ = ["CHROMIUM", "PATIENCE", "NotebookPage", "browser"]

#: What anything may take, in seconds; on a busy computer all of it is slow.
PATIENCE = 120

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)

expect.set_options(timeout=PATIENCE * 1000)


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


class NotebookPage:
    """One session on the page."""

    def __init__(self, page: Page, url: str, session: str) -> None:
        self.page = page
        self.session = session
        self.problems: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self._note(message))
        # For those who read why a test has failed.
        page.on("response", lambda one: None if one.ok else print(one.status, one.request.method, one.url))
        page.goto(f"{url}/#{session}")
        self.wait()

    def _note(self, message: Any) -> None:
        # What the server refuses stands there as well, without being a fault of the page.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def wait(self) -> None:
        """Wait until the cells are there."""
        expect(self.page.locator("#cells .cell").first).to_be_visible()
        expect(self.page.get_by_role("status")).to_have_text(re.compile("Ready|Running|Waiting"))

    def reload(self) -> None:
        self.page.reload()
        self.wait()

    def cell(self, number: int) -> Locator:
        return self.page.locator("#cells .cell").nth(number)

    def output(self, number: int) -> Locator:
        return self.cell(number).locator(".outputs")

    def add(self, source: str) -> int:
        """Write a new last cell; its number."""
        last = self.page.locator("#cells .cell").last
        if (
            last.locator(".cm-line").all_inner_texts() != ["\n"]
            and not last.locator(".cm-placeholder").count()
            and last.locator(".cm-content").inner_text().strip()
        ):
            last.locator(".cell-tools").get_by_role("button", name="Add a cell below").click()
        last = self.page.locator("#cells .cell").last
        # A click would miss it when an output above grows at that time, as figures do.
        content = last.locator(".cm-content")
        content.focus()
        expect(content).to_be_focused()
        self.page.keyboard.insert_text(source)
        return self.page.locator("#cells .cell").count() - 1

    def begin(self, source: str) -> int:
        """Write a cell and run it, as with Ctrl and Enter in it; its number."""
        number = self.add(source)
        self.page.keyboard.press("Control+Enter")
        return number

    def run(self, source: str) -> Locator:
        """Run a cell to its end; its output."""
        number = self.begin(source)
        expect(self.cell(number)).to_have_attribute("data-state", re.compile("done|failed"))
        return self.output(number)

    def state(self, execution: int) -> Locator:
        """A row of the tree."""
        return self.page.locator(f'.state[data-execution="{execution}"]')
