"""A small HTTP interface that stands for one of yours: products and their prices, for who has the token."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PRODUCTS = {
    "Grinder": {"name": "Grinder", "price": 89.0, "kilograms": 2.5},
    "Kettle": {"name": "Kettle", "price": 49.5, "kilograms": 1.2},
    "Filters": {"name": "Filters", "price": 4.2, "kilograms": 0.1},
}
TOKEN = "a token that only the host knows"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name = unquote(parts.path.rpartition("/")[2])
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "the token is missing or wrong"})
        elif parts.path == "/products":
            at_most = float(parse_qs(parts.query).get("at_most", ["inf"])[0])
            self.answer(200, [one for one, product in PRODUCTS.items() if product["price"] <= at_most])
        elif name in PRODUCTS:
            self.answer(200, PRODUCTS[name])
        else:
            self.answer(404, {"error": f"there is no {name!r}"})

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Requests are not printed."""


@contextmanager
def serving() -> Iterator[str]:
    """The interface on a free port of this machine; gives its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
