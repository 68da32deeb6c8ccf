"""Attacks by the owner of an allowed name, who decides which address it leads to, each time anew."""

from __future__ import annotations

from typing import Any

import pytest
from recording_server import RecordingServer, Resolver

from planaria import Network

PREPARE = """
import socket
def ask(host, port):
    with socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(f"GET / HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
        return connection.recv(1000)[:15]
"""
ANSWER = b"HTTP/1.1 200 OK"

#: Answers of which every address is refused.
PRIVATE = {
    "loopback": ["127.0.0.1"],
    "another loopback address": ["127.8.8.8"],
    "this host": ["0.0.0.0"],
    "loopback in IPv6": ["::1"],
    "any address in IPv6": ["::"],
    "mapped loopback": ["::ffff:127.0.0.1"],
    "compatible loopback": ["::127.0.0.1"],
    "loopback by NAT64": ["64:ff9b::7f00:1"],
    "a private address by local NAT64": ["64:ff9b:1:a00:0:100:808:808"],
    "loopback by 6to4": ["2002:7f00:1::1"],
    "a link-local address with a zone": ["fe80::1%lo"],
    "the metadata service": ["169.254.169.254"],
    "the metadata service in IPv6": ["fd00:ec2::254"],
    "the metadata service of a mapped address": ["::ffff:169.254.169.254"],
    "a private network": ["10.0.0.1", "172.16.0.1", "192.168.0.1"],
    "a network of a carrier": ["100.64.0.1"],
    "multicast": ["224.0.0.1", "ff02::1"],
    "broadcast": ["255.255.255.255"],
    "no address at all": [],
}


def ask(new_session: Any, network: Network, *places: tuple[str, int]) -> Any:
    session = new_session(network=network)
    session.execute(PREPARE)
    return session.run(f"[ask(*place) for place in {places!r}]")


@pytest.mark.parametrize("addresses", PRIVATE.values(), ids=PRIVATE.keys())
def test_private(addresses: list[str], new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """An allowed name that leads to an address which is not public is not connected to."""
    resolver.answers = [addresses]
    place = ("rebound.test", server.port)
    result = ask(new_session, Network(allow=[f"rebound.test:{server.port}"]), place)
    assert "rebound.test is not allowed" in result.error.message
    assert "not a public address" in result.error.message or not addresses
    assert server.addresses == []


def test_answers_differ(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """The address that was checked is the one connected to: a connection asks the resolver once."""
    resolver.answers = [["127.0.0.1"], ["127.0.0.2"]]
    network = Network(allow=[f"rebound.test:{server.port}", f"127.0.0.1:{server.port}"])
    assert ask(new_session, network, ("rebound.test", server.port)).value == [ANSWER]
    assert server.addresses == ["127.0.0.1"]
    assert resolver.asked == ["rebound.test"]


def test_second_connection(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """What a name led to before is not what it may lead to next."""
    resolver.answers = [["127.0.0.1"], ["127.0.0.2"]]
    network = Network(allow=[f"rebound.test:{server.port}", f"127.0.0.1:{server.port}"])
    place = ("rebound.test", server.port)
    result = ask(new_session, network, place, place)
    assert "127.0.0.2 is not a public address" in result.error.message
    assert server.addresses == ["127.0.0.1"]


@pytest.mark.parametrize("order", [1, -1])
def test_mixed_answer(order: int, new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Of several addresses the refused ones are not tried, in whatever order they come."""
    resolver.answers = [["127.0.0.1", "127.0.0.2", "169.254.169.254"][::order]]
    network = Network(allow=[f"rebound.test:{server.port}", f"127.0.0.1:{server.port}"])
    place = ("rebound.test", server.port)
    assert ask(new_session, network, place, place).value == [ANSWER] * 2
    assert server.addresses == ["127.0.0.1"] * 2


def test_denied_range(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A denied range holds for what names lead to, although private addresses are allowed."""
    resolver.answers = [["127.0.0.2", "127.0.0.1"]]
    network = Network(allow=[f"*:{server.port}"], deny=["127.0.0.2/32"], private=True)
    assert ask(new_session, network, ("rebound.test", server.port)).value == [ANSWER]
    assert server.addresses == ["127.0.0.1"]


def test_port_of_another_rule(
    new_session: Any, server: RecordingServer, other_server: RecordingServer, resolver: Resolver
) -> None:
    """A rule for one port of a private address does not open another port to names that lead there."""
    network = Network(allow=[f"127.0.0.1:{other_server.port}", f"rebound.test:{server.port}"])
    result = ask(new_session, network, ("rebound.test", server.port))
    assert "127.0.0.1 is not a public address" in result.error.message
    assert server.addresses == []


def test_path_of_another_rule(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A rule for one path of a private address does not open its other paths to names that lead there."""
    network = Network(
        allow=[f"http://127.0.0.1:{server.port}/public/", f"http://rebound.test:{server.port}/"]
    )
    result = ask(new_session, network, ("rebound.test", server.port))
    assert "127.0.0.1 is not a public address" in result.error.message
    assert server.addresses == []


def test_localhost_is_not_every_name(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A rule for localhost is not for other names that lead to loopback addresses."""
    network = Network(allow=[f"localhost:{server.port}", f"rebound.test:{server.port}"])
    result = ask(new_session, network, ("localhost", server.port), ("rebound.test", server.port))
    assert "rebound.test is not allowed" in result.error.message
    assert server.addresses == ["127.0.0.1"]


def test_localhost_elsewhere(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Where localhost leads to another host, a rule for it does not open that."""
    resolver.answers = [["169.254.169.254"]]
    result = ask(new_session, Network(allow=[f"localhost:{server.port}"]), ("localhost", server.port))
    assert "169.254.169.254 is not a public address" in result.error.message


def test_reconnection(new_session: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A kept connection that the server closed is opened anew to an address that is checked anew."""
    resolver.answers = [["127.0.0.1"], ["127.0.0.2"]]
    server.answer = lambda request: [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"]
    network = Network(allow=[f"rebound.test:{server.port}", f"127.0.0.1:{server.port}"])
    session = new_session(network=network)
    result = session.run(f"""
import http.client
connection = http.client.HTTPConnection("rebound.test", {server.port}, timeout=20)
for _ in range(2):
    connection.request("GET", "/")
    connection.getresponse().read()
""")
    assert "127.0.0.2 is not a public address" in result.error.message
    assert server.addresses == ["127.0.0.1"]
