"""Servers and a resolver that attacks are tried on."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest
import trustme
from recording_server import RecordingServer, Resolver


@pytest.fixture(scope="module")
def running_server() -> Iterator[RecordingServer]:
    """A server of HTTP at every loopback address."""
    one = RecordingServer()
    yield one
    one.close()


@pytest.fixture
def server(running_server: RecordingServer) -> RecordingServer:
    """That server, of which nothing was asked yet."""
    running_server.reset()
    return running_server


@pytest.fixture
def other_server() -> Iterator[RecordingServer]:
    """Another one."""
    one = RecordingServer()
    yield one
    one.close()


@pytest.fixture
def secure_server(running_secure_server: RecordingServer) -> RecordingServer:
    """A server of HTTPS, of which nothing was asked yet."""
    running_secure_server.reset()
    return running_secure_server


@pytest.fixture(scope="module")
def running_secure_server(authority: trustme.CA) -> Iterator[RecordingServer]:
    """A server of HTTPS that is certified as localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    one = RecordingServer(context)
    yield one
    one.close()


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """The resolver that the host asks."""
    one = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", one.getaddrinfo)
    return one
