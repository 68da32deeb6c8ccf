"""Requests by a proxy of the host's, where the policy asks for one."""

from __future__ import annotations

import base64
import http.client
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from small_servers import running

from planaria import Network, Secret
from planaria.network.proxy_settings import parse_proxy, proxy_for

PASSWORD = "p4ss:word"
EXPECTED = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()


class ForwardProxy(http.server.BaseHTTPRequestHandler):
    """A proxy for clients that have the password."""

    protocol_version = "HTTP/1.1"
    requests: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.requests.append((self.command, self.path))
        if not self.is_known():
            return
        parts = urlsplit(self.path)
        server = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        headers = {key: value for key, value in self.headers.items() if not key.lower().startswith("proxy-")}
        server.request("GET", self.path.removeprefix(f"http://{parts.netloc}"), headers=headers)
        answer = server.getresponse()
        body = answer.read()
        server.close()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self.requests.append((self.command, self.path))
        self.close_connection = True
        if not self.is_known():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as server:
            self.send_response(200, "Connection established")
            self.end_headers()
            back = threading.Thread(target=copy, args=(server, self.connection))
            back.start()
            copy(self.connection, server)
            back.join()

    def is_known(self) -> bool:
        if self.headers["Proxy-Authorization"] == EXPECTED:
            return True
        self.send_error(407, "who are you")
        return False

    def log_message(self, *arguments: object) -> None:
        pass


def copy(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until their end."""
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side is gone


@pytest.fixture(scope="module")
def proxy_port() -> Iterator[int]:
    """The port of the proxy."""
    ForwardProxy.requests = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ForwardProxy)
    with running(server):
        yield server.server_port


GET = """
import json, urllib.request
def get(url, **headers):
    return json.load(urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20))
"""


@pytest.fixture(scope="module")
def network(http_port: int, https_port: int, certificates: Path, proxy_port: int) -> Network:
    """A network that sends requests by the proxy."""
    return Network(
        allow=[f"http://localhost:{http_port}", f"https://localhost:{https_port}"],
        certificates=certificates,
        proxy=f"http://me:p4ss%3Aword@127.0.0.1:{proxy_port}",
        secrets=[Secret("TOKEN", "v4lue-of-token", hosts=[f"https://localhost:{https_port}"])],
    )


def test_requests_by_a_proxy(new_session: Any, network: Network, http_port: int, https_port: int) -> None:
    """A proxy gets the URL of a request over http with its credentials, and bytes alone of one over https."""
    ForwardProxy.requests.clear()
    session = new_session(network=network)
    result = session.run(
        f"{GET}\nplain = get('http://localhost:{http_port}/echo?a=1', **{{'Proxy-Authorization': 'mine'}})\n"
        f"import os\nsecure = get('https://localhost:{https_port}/echo', Authorization=os.environ['TOKEN'])"
    )
    assert result.error is None
    assert [one.status for one in result.requests] == [200, 200]
    plain, secure = session.execute("plain, secure").value
    assert plain["target"] == "/echo?a=1"
    assert "proxy-authorization" not in plain["headers"]
    assert secure["headers"]["authorization"] == "*" * 14
    assert ForwardProxy.requests == [
        ("GET", f"http://localhost:{http_port}/echo?a=1"),
        ("CONNECT", f"localhost:{https_port}"),
    ]
    assert PASSWORD not in repr(network)


def test_rules_hold_by_a_proxy(new_session: Any, network: Network, proxy_port: int) -> None:
    """A proxy is asked for nothing that the rules refuse, nor for an address that is not public."""
    ForwardProxy.requests.clear()
    session = new_session(network=Network(allow=["*"], proxy=network.proxy))
    session.execute(GET)
    for host in ("127.0.0.1", "169.254.169.254", "localhost", "[::ffff:10.0.0.1]"):
        error = session.run(f"get('http://{host}/')").error
        assert error.type == "PermissionError"
        assert "is not a public address" in error.message
    assert ForwardProxy.requests == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_that_refuses(
    new_session: Any, network: Network, scheme: str, http_port: int, https_port: int, proxy_port: int
) -> None:
    """What a proxy refuses is an answer of its over http, and an error that says so over https."""
    changed = Network(
        allow=network.allow, certificates=network.certificates, proxy=f"http://127.0.0.1:{proxy_port}"
    )
    session = new_session(network=changed)
    port = http_port if scheme == "http" else https_port
    error = session.run(f"{GET}\nget('{scheme}://localhost:{port}/echo')").error
    assert "407" in error.message
    assert "who are you" in error.message


def test_proxy_that_is_not_there(new_session: Any, network: Network, http_port: int) -> None:
    """A proxy that cannot be reached is an error that names it."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        session = new_session(network=Network(allow=network.allow, proxy=place))
        error = session.run(f"{GET}\nget('http://localhost:{http_port}/echo')").error
    assert f"the proxy {place} could not be reached" in error.message


def test_proxies_of_the_environment(
    new_session: Any, network: Network, http_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment's proxies are used when that was asked for, except for hosts that NO_PROXY names."""
    ForwardProxy.requests.clear()
    monkeypatch.setenv("HTTP_PROXY", str(network.proxy))
    monkeypatch.delenv("REQUEST_METHOD", raising=False)
    session = new_session(network=Network(allow=network.allow, proxy="environment"))
    plain = new_session(network=Network(allow=network.allow))
    code = f"{GET}\nget('http://localhost:{http_port}/echo')['target']"
    assert plain.execute(code).value == "/echo"
    assert ForwardProxy.requests == []
    assert session.execute(code).value == "/echo"
    assert len(ForwardProxy.requests) == 1
    monkeypatch.setenv("NO_PROXY", "localhost")
    assert session.execute(code).value == "/echo"
    assert len(ForwardProxy.requests) == 1


def test_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the environment are read as urllib does: by scheme, then ALL_PROXY, and NO_PROXY first."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "https://secure.test")
    monkeypatch.setenv("ALL_PROXY", "other.test:3128")
    monkeypatch.setenv("NO_PROXY", ".internal.test,exact.test:8080")
    assert proxy_for("environment", "wss", "a.test", 443) == parse_proxy("https://secure.test:443")
    assert proxy_for("environment", "http", "a.test", 80) == parse_proxy("http://other.test:3128")
    assert proxy_for("environment", "http", "x.internal.test", 80) is None
    assert proxy_for("environment", "http", "exact.test", 8080) is None
    assert proxy_for("environment", "http", "exact.test", 80) is not None
    assert proxy_for(None, "http", "a.test", 80) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("socks5://a.test", "'socks5'"),
        ("http://", "no host"),
        ("http://a.test:port", "not a number"),
        ("http://me:secret@a.test:99999", "not a number"),
    ],
)
def test_mistyped_proxy(url: str, reason: str) -> None:
    """A proxy that is none is an error of the constructor, which never shows a password."""
    with pytest.raises(ValueError, match=f"^proxy=: .*{reason}") as raised:
        Network(proxy=url)
    assert "secret" not in str(raised.value)
