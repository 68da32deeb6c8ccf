"""Definitions as they are written for other systems of the same dialect, with the commands that they are for."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from waiting import wait

from planaria import ToolCallError
from planaria.workspace.tools.argv import build_argv

CURL = """
    name: curl
    description: Make HTTP requests
    command: curl
    timeout: 60
    tags: [http]
    schema:
      options:
        silent: {type: boolean, short: s, description: Silent mode (no progress output)}
        location: {type: boolean, short: L, description: Follow redirects}
        output: {type: string, short: o}
        header: {type: array, short: H}
        data: {type: string, short: d}
        request: {type: string, short: X}
        fail: {type: boolean, short: f}
      positional:
        - {name: url, type: string, required: true, description: Target URL}
    recipes:
      get:
        preset: {silent: true, location: true}
        params: {url: {}}
      post:
        preset: {silent: true, location: true, request: POST, header: ["X-Two: b"]}
        params: {url: {}, data: {}}
      checked:
        preset: {silent: true, fail: true}
        params: {url: {}}
"""

JQ = """
    name: jq
    description: Process JSON data
    command: jq
    timeout: 30
    tags: [json]
    stdin: true
    schema:
      options:
        raw: {type: boolean, short: r}
        compact: {type: boolean, short: c}
        null_input: {type: boolean, short: n}
      positional:
        - {name: filter, type: string, required: true}
    recipes:
      query: {params: {filter: {}, stdin: {}}}
      compact: {preset: {compact: true, raw: true}, params: {filter: {}, stdin: {required: true}}}
"""

DIG = """
    name: dig
    command: dig
    option_prefixes: -+@
    schema:
      options:
        short: {type: boolean, flag: "+short"}
      positional:
        - {name: domain, type: string, required: true}
        - {name: type, type: string, required: false}
    recipes:
      mx:
        preset: {short: true}
        params:
          domain: {}
          type: {default: MX}
"""

NMAP = """
    name: nmap
    schema:
      options:
        sV: {type: boolean, flag: -sV}
        p: {type: string}
        T: {type: integer}
      positional: [{name: target, type: string, required: true}]
    recipes:
      full: {preset: {sV: true, p: "1-65535", T: 4}, params: {target: {}}}
"""


def needs(command: str) -> Any:
    return pytest.mark.skipif(shutil.which(command) is None, reason=f"there is no {command} here")


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        reported = {
            "method": self.command,
            "path": self.path,
            "two": self.headers["X-Two"],
            "body": self.rfile.read(length).decode(),
        }
        self.send_response(404 if self.path == "/missing" else 200)
        self.end_headers()
        self.wfile.write(json.dumps(reported).encode())

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    """Where a web server answers."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@needs("curl")
def test_curl_gets_and_posts(load: Any, address: str) -> None:
    """Recipes of curl fetch and send what they are asked to, quotes and all; a failure has curl's status."""
    registry = load(curl=CURL)
    got = json.loads(wait(registry.call("curl", "get", {"url": f"{address}/a?b=c"})))
    assert got == {"method": "GET", "path": "/a?b=c", "two": None, "body": ""}
    data = '{"key": "it\'s \\"quoted\\" $HOME"}'
    posted = json.loads(wait(registry.call("curl", "post", {"url": address, "data": data})))
    assert posted == {"method": "POST", "path": "/", "two": "b", "body": data}
    with pytest.raises(ToolCallError) as raised:
        wait(registry.call("curl", "checked", {"url": f"{address}/missing"}))
    assert raised.value.exit_code == 22


@needs("jq")
def test_jq_reads_its_standard_input(load: Any) -> None:
    """jq is given a document as its standard input, and a filter that looks like an option as a filter."""
    registry = load(jq=JQ)
    document = json.dumps({"a": [1, 2], "b": "text"})
    assert wait(registry.call("jq", "compact", {"filter": ".a, .b", "stdin": document})) == "[1,2]\ntext\n"
    assert json.loads(wait(registry.call("jq", "query", {"filter": ".a[1]", "stdin": document}))) == 2
    assert wait(registry.call("jq", None, {"filter": "1 + 1", "null_input": True})) == "2\n"


def test_options_with_other_prefixes(load: Any) -> None:
    """`flag` gives an option as it is written, `short` and names of one letter with one dash."""
    registry = load(dig=DIG, nmap=NMAP)
    dig, nmap = (registry.get(name).definition for name in ("dig", "nmap"))
    assert build_argv("dig", dig, {"short": True, "domain": "example.org", "type": "MX"}) == [
        *("+short", "example.org", "MX")
    ]
    assert build_argv("nmap", nmap, {"sV": True, "p": "1-65535", "T": 4, "target": "host"}) == [
        *("-sV", "-p", "1-65535", "-T", "4", "host")
    ]
    parameters = {one["name"]: one["default"] for one in registry.list()[0]["callables"][1]["parameters"]}
    assert parameters == {"domain": None, "type": "MX"}
