"""A server of HTTP and one of HTTPS, which answer what they were asked, and an image with their clients."""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from http_servers import serve

from planaria import Image, Network

#: Long enough for a machine that has other work to do.
TIMEOUT = 120
CLIENTS = [
    *("aiohttp", "certifi", "httpx", "httpx2", "pg8000", "pymysql", "redis", "requests", "urllib3"),
    "websockets",
]


@pytest.fixture(scope="session")
def http_port() -> Iterator[int]:
    """The port of a server of HTTP on localhost."""
    yield from serve(None)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def https_port(authority: trustme.CA) -> Iterator[int]:
    """The port of a server of HTTPS on localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    yield from serve(context)


@pytest.fixture(scope="session")
def certificates(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority that the server of HTTPS is certified by."""
    path = tmp_path_factory.mktemp("certificates") / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def clients() -> Iterator[str]:
    """The name of an image with clients of the network, which no other process uses."""
    name = f"network-clients-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    Image.build(name, packages=CLIENTS)
    yield name
    Image.remove(name)


@pytest.fixture
def value_of() -> Callable[[Any, str], Any]:
    """A function for the value of code in a session, which must succeed."""

    def find(session: Any, code: str) -> Any:
        result = session.run(code, timeout=TIMEOUT)
        assert result.error is None, result.error.traceback
        return result.value

    return find


PREPARE = """
import http.client, os, socket, ssl, urllib.error, urllib.request
def get(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20).read()
"""


@pytest.fixture
def connected(new_session: Any, http_port: int, https_port: int, certificates: Path) -> Callable[..., Any]:
    """A function that creates a session which may reach both servers."""

    def connect(**changes: Any) -> Any:
        allow = [f"http://localhost:{http_port}", f"https://localhost:{https_port}"]
        network = Network(**{"allow": allow, "certificates": certificates, **changes})
        session = new_session(network=network)
        session.execute(
            f"{PREPARE}\nplain, secure = 'http://localhost:{http_port}', 'https://localhost:{https_port}'"
        )
        return session

    return connect
