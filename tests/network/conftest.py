"""A server of HTTP and one of HTTPS, which answer what they were asked."""

from __future__ import annotations

import os
import ssl
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from http_servers import serve

from planaria import Image


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
def requests_image() -> Iterator[str]:
    """The name of an image with requests and httpx, which no other process uses."""
    name = f"network-requests-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    Image.build(name, packages=["requests", "httpx"])
    yield name
    Image.remove(name)
