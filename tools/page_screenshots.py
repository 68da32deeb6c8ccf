"""Take the pictures of the page in the documents, into docs/images.

    PYTHONPATH=src python tools/page_screenshots.py

It needs playwright and Debian's chromium.
"""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Page, expect, sync_playwright

from planaria.server import ServerSettings, create_app

IMAGES = Path(__file__).parent.parent / "docs/images"
SALES = "region,month,units\n" + "".join(
    f"{region},{month},{units}\n"
    for region, start in (("north", 12), ("south", 19), ("west", 7))
    for month, units in enumerate((start, start + 4, start + 1, start + 9, start + 13), 1)
)
CELLS = (
    "import pandas as pd\n\nsales = pd.read_csv('sales.csv')\n"
    "sales.groupby('region').units.describe().round(1)",
    "ax = sales.pivot(index='month', columns='region', values='units').plot(figsize=(6.4, 2.6))\n"
    "ax.set_ylabel('units')\nNone",
    "forecast = {name: float(group.units.tail(2).mean()) for name, group in sales.groupby('region')}\n"
    "forecast",
)
#: What anything may take, in milliseconds.
PATIENCE = 300_000


@contextmanager
def served() -> Iterator[str]:
    """A server with the page; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(ServerSettings(page=True)), log_level="error", timeout_graceful_shutdown=1
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def prepare(page: Page) -> None:
    """A session with a history, a branch and a fork."""
    post = page.request.post
    post("/v1/sessions", data={"id": "sales", "callbacks": [{"name": "publish"}]})
    page.request.put(
        "/v1/sessions/sales/files?path=sales.csv",
        data=SALES.encode(),
        headers={"Content-Type": "application/octet-stream"},
    )
    run = "/v1/sessions/sales/run"
    post(run, data={"code": CELLS[0], "cell": "one"}, timeout=PATIENCE)
    post("/v1/sessions/sales/checkpoint", data={"label": "loaded"})
    for code in ("sales['units'] = sales.units * 10", "sales = sales[sales.units > 100]"):
        post(run, data={"code": code, "cell": "tried"}, timeout=PATIENCE)
    post("/v1/sessions/sales/checkpoint", data={"label": "left 1"})
    post("/v1/sessions/sales/rewind", data={"to": "loaded"})
    page.request.delete("/v1/sessions/sales/notebook/cells/tried")
    post(run, data={"code": CELLS[1], "cell": "two"}, timeout=PATIENCE)
    post("/v1/sessions/sales/fork", data={"ids": ["sales-fork-1"]})
    post(run, data={"code": CELLS[2], "cell": "three"}, timeout=PATIENCE)
    post(run, data={"code": "await publish(forecast, to='board')", "cell": "four"}, timeout=PATIENCE)


def main() -> None:
    """Take them: in light and dark, and on a phone."""
    chromium = shutil.which("chromium")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(base_url=url, viewport={"width": 1360, "height": 850})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        prepare(page)
        for name, scheme, width, height in (
            ("page", "light", 1360, 850),
            ("page-dark", "dark", 1360, 850),
            ("page-phone", "light", 390, 760),
        ):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{url}/#sales")
            page.reload()
            expect(page.locator(".cell iframe")).not_to_have_css("height", "40px", timeout=PATIENCE)
            if width > 860:
                expect(page.locator(".variables")).to_be_visible(timeout=PATIENCE)
                expect(page.locator(".state.forked")).to_be_visible(timeout=PATIENCE)
            page.locator(".centre").evaluate("pane => pane.scrollTo(0, 0)")
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
