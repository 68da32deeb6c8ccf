"""A server of our own that stands for the network, and curl as a tool that finds it under every name."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

__all__ = ["CURL", "local_network"]

#: A definition of curl as a tool; `{home}` is where it finds its configuration.
CURL = """
name: curl
command: curl
description: Make HTTP requests.
timeout: 10
tags: [http]
env: {{CURL_HOME: "{home}"}}
schema:
  options:
    silent: {{type: boolean, short: s}}
    fail: {{type: boolean, short: f}}
  positional:
    - {{name: url, type: string, required: true}}
recipes:
  get:
    description: Fetch a URL.
    preset: {{silent: true, fail: true}}
    params: {{url: {{}}}}
"""

_ANSWERS = {"/users/octocat": {"login": "octocat", "public_repos": 8}, "/": {"current_user_url": "…"}}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = _ANSWERS.get(self.path)
        body = json.dumps(answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def local_network(directory: Path) -> Iterator[Path]:
    """Serve while inside; gives the directory to be named as `CURL`'s home. Skips where curl is missing."""
    for program in ("curl", "openssl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: examples that fetch from a server are NOT tested")
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    (directory / ".curlrc").write_text(
        f'connect-to = "::127.0.0.1:{server.server_port}"\ninsecure\nnoproxy = "*"\n'
    )
    try:
        yield directory
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
