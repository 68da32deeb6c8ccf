"""Attacks on the allow-list: each tries to reach a host, port, scheme, method or path that no rule is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from recording_server import RecordingServer, Resolver

import planaria
from planaria import Network

pytestmark = pytest.mark.slow

PREPARE = r"""
import http.client, socket, ssl, urllib.request
def get(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20).read()
def connect(host, port=None):
    with socket.create_connection((host, port or PORT), timeout=20) as connection:
        connection.sendall(f"GET /open/ HTTP/1.1\r\nHost: allowed.test:{PORT}\r\n\r\n".encode())
        return connection.recv(1000)
def raw(first, *others, host=None):
    lines = [first, f"Host: {host or f'allowed.test:{PORT}'}", *others, "", ""]
    with socket.create_connection(("allowed.test", PORT), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        return connection.recv(1000)
def target(path):
    return raw(f"GET {path} HTTP/1.1")
"""

#: The rule is `GET http://allowed.test:PORT/open/`; every name leads to the server.
HOSTS = {
    "another host": "get(f'http://evil.test:{PORT}/open/')",
    "a host that begins like the allowed one": "get(f'http://allowed.test.evil.test:{PORT}/open/')",
    "a host that ends like the allowed one": "get(f'http://notallowed.test:{PORT}/open/')",
    "a subdomain of the allowed host": "get(f'http://sub.allowed.test:{PORT}/open/')",
    "the parent domain of the allowed host": "get(f'http://test:{PORT}/open/')",
    "the allowed host as user": "get(f'http://allowed.test@evil.test:{PORT}/open/')",
    "the allowed host as user and password": "get(f'http://allowed.test:{PORT}@evil.test:{PORT}/open/')",
    "the allowed host as fragment": "get(f'http://evil.test:{PORT}#@allowed.test/open/')",
    "the allowed host as query": "get(f'http://evil.test:{PORT}?@allowed.test/open/')",
    "the allowed host after a backslash": r"get(f'http://evil.test:{PORT}\\@allowed.test:{PORT}/open/')",
    "the allowed host in the path": "get(f'http://evil.test:{PORT}/http://allowed.test/open/')",
    "a homograph with a Cyrillic letter": r"get(f'http://\u0430llowed.test:{PORT}/open/')",
    "a homograph in punycode": "get(f'http://xn--llowed-2of.test:{PORT}/open/')",
    "a homograph with a dotless letter": r"connect('allowed.test\u0131')",
    "a host with a null character": r"connect('allowed.test\0.evil.test')",
    "a host with a line break": r"connect('allowed.test\r\nevil.test')",
    "a host with a space": "connect('allowed.test evil.test')",
    "a host with a tab": r"connect('allowed.test\tevil.test')",
    "a host with a comma": "connect('allowed.test,evil.test')",
    "a host with a slash": "connect('evil.test/allowed.test')",
    "a host with a percent sign": "connect('evil.test%2eallowed.test')",
    "a leading dot": "connect('.allowed.test')",
    "a wildcard as host": "connect('*.test')",
    "an empty host": "connect('')",
    "a host as bytes": "connect(b'evil.test')",
    "a host of ten thousand letters": "connect('a' * 10_000)",
    "an international host of ten thousand letters": r"connect('\u00e4' * 10_000)",
    "a label of sixty-four letters": "connect('a' * 64 + '.test')",
    "a host in brackets": "connect('[evil.test]')",
    "a service of another port": "connect('allowed.test', 80)",
    "a port above 65535 that wraps around": "connect('allowed.test', PORT + 65536)",
    "a negative port": "connect('allowed.test', PORT - 65536)",
    "port zero": "socket.create_connection(('allowed.test', 0))",
    "a port that is a string": "connect('allowed.test', str(PORT) + ' ')",
    "an address that a name stands for": "connect('198.18.0.99')",
    "https where http is allowed": "get(f'https://allowed.test:{PORT}/open/')",
    "ftp": "urllib.request.urlopen(f'ftp://allowed.test:{PORT}/open/', timeout=1)",
    "a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('allowed.test', PORT))",
    "a raw socket": "socket.socket(socket.AF_INET, 3).connect(('allowed.test', PORT))",
    "a Unix socket": "socket.socket(1).connect('/var/run/docker.sock')",
    "listening": "socket.create_server(('', PORT))",
    "a proxy in the environment":
        "__import__('os').environ.update(http_proxy=f'http://evil.test:{PORT}') or get(f'http://x.test/open/')",
    "the host's call with another host": "__import__('planaria_kernel.network.link', fromlist=['x'])"
        ".blocking('open', 'evil.test', PORT)",
    "the host's call with a list as host": "__import__('planaria_kernel.network.link', fromlist=['x'])"
        ".blocking('open', ['allowed.test'], PORT)",
    "the host's call with a false number": "__import__('planaria_kernel.network.link', fromlist=['x'])"
        ".blocking('send', 1, b'GET / HTTP/1.1')",
    "the host's call with an unhashable number": "__import__('planaria_kernel.network.link', fromlist=['x'])"
        ".blocking('receive', [1], 1, 0)",
    "a name that stands for an address, changed": "__import__('planaria_kernel.network.link', fromlist=['x'])"
        "._names.update({'198.18.0.1': 'evil.test'}) or connect('198.18.0.1')",
}  # fmt: skip

REQUESTS = {
    "another path": "target('/closed')",
    "the path without its slash": "target('/open')",
    "a path that begins like the allowed one": "target('/opened/')",
    "capitals in the path": "target('/OPEN/')",
    "a step up": "target('/open/../closed')",
    "two steps up": "target('/open/a/../../closed')",
    "a step up at the end": "target('/open/..')",
    "an encoded dot": "target('/open/%2e%2e/closed')",
    "an encoded dot in capitals": "target('/open/.%2E/closed')",
    "an encoded slash": "target('/open/..%2fclosed')",
    "an encoded slash and dots": "target('/open%2f%2e%2e%2fclosed')",
    "a double encoding": "target('/open/%252e%252e/closed')",
    "a triple encoding": "target('/open/%25252e%25252e/closed')",
    "a backslash": r"target('/open/..\\closed')",
    "an encoded backslash": "target('/open/..%5cclosed')",
    "empty steps": "target('/open//../closed')",
    "a path that begins with two slashes": "target('//evil.test/open/')",
    "path parameters": "target('/open/..;/closed')",
    "path parameters with a value": "target('/open/..;a=b/closed')",
    "an empty step with parameters": "target('/open/;a=b/../closed')",
    "a dot with parameters": "target('/open/.;a/../closed')",
    "an overlong dot": "target('/open/%c0%ae%c0%ae/closed')",
    "an overlong slash": "target('/open/..%c0%afclosed')",
    "an overlong slash of three bytes": "target('/open/..%e0%80%afclosed')",
    "an overlong backslash": "target('/open/..%c1%9cclosed')",
    "a full-width dot": "target('/open/%ef%bc%8e%ef%bc%8e/closed')",
    "a full-width slash": "target('/open/..%ef%bc%8fclosed')",
    "a null character before a step": "target('/open/..%00/closed')",
    "a space after dots": "target('/open/..%20/closed')",
    "a fragment": "target('/open/#/../../closed')",
    "a fragment before a step": "target('/open/x#/../../closed')",
    "the path as query": "target('/?/open/')",
    "the path as encoded query": "target('/closed%3f/open/')",
    "POST": "raw('POST /open/ HTTP/1.1', 'Content-Length: 0')",
    "DELETE": "raw('DELETE /open/ HTTP/1.1')",
    "HEAD": "raw('HEAD /open/ HTTP/1.1')",
    "small letters": "raw('get /open/ HTTP/1.1')",
    "an unknown method": "raw('GETX /open/ HTTP/1.1')",
    "a method in a header": "raw('GET /open/ HTTP/1.1', 'X-HTTP-Method-Override: DELETE')",
    "a method in another header": "raw('GET /open/ HTTP/1.1', 'X-Method-Override: put')",
    "a method in Microsoft's header": "raw('GET /open/ HTTP/1.1', 'X-HTTP-Method: MERGE')",
    "a method in a header with underscores": "raw('GET /open/ HTTP/1.1', 'X_HTTP_Method_Override: DELETE')",
    "a path in a header with underscores": "raw('GET /open/ HTTP/1.1', 'X_Original-URL: /closed')",
    "a path in a proxy's header": "raw('GET /open/ HTTP/1.1', 'X-Envoy-Original-Path: /closed')",
    "another path in a proxy's header": "raw('GET /open/ HTTP/1.1', 'X-Forwarded-Uri: /closed')",
    "a length in a header with an underscore": "raw('GET /open/ HTTP/1.1', 'CONTENT_LENGTH: 4')",
    "a method in the query": "target('/open/?_method=DELETE')",
    "an encoded method in the query": "target('/open/?%5fmethod=%44ELETE')",
    "a method in the query after a semicolon": "target('/open/?a=1;_method=DELETE')",
    "a path in a header": "raw('GET /open/ HTTP/1.1', 'X-Original-URL: /closed')",
    "a path in a header for the path alone": "raw('GET /open/ HTTP/1.1', 'X-Original-Path: /closed')",
    "a path in a rewritten path's header": "raw('GET /open/ HTTP/1.1', 'X-Replaced-Path: /closed')",
    "a host in a header": "raw('GET /open/ HTTP/1.1', 'X-Forwarded-Host: evil.test')",
    "a host in a header with underscores": "raw('GET /open/ HTTP/1.1', 'X_Forwarded_Host: evil.test')",
    "two hosts in a header": "raw('GET /open/ HTTP/1.1', f'X-Forwarded-Host: allowed.test:{PORT}, evil.test')",
    "a host in another header": "raw('GET /open/ HTTP/1.1', 'X-Host: evil.test')",
    "a host in an overriding header": "raw('GET /open/ HTTP/1.1', 'X-HTTP-Host-Override: evil.test')",
    "a host in an original header": "raw('GET /open/ HTTP/1.1', 'X-Original-Host: evil.test')",
    "a host in the header of RFC 7239": "raw('GET /open/ HTTP/1.1', 'Forwarded: for=1.2.3.4;host=evil.test')",
    "a quoted host in the header of RFC 7239":
        "raw('GET /open/ HTTP/1.1', 'Forwarded: for=x, proto=http ; HOST = \"evil.test:80\"')",
    "an address in a mesh's header": "raw('GET /open/ HTTP/1.1', 'X-Envoy-Original-Dst-Host: 10.0.0.1:80')",
    "a destination elsewhere": "raw('GET /open/ HTTP/1.1', 'Destination: /closed')",
    "a destination as URL": "raw('GET /open/ HTTP/1.1', f'Destination: http://allowed.test:{PORT}/closed')",
    "a destination at another host": "raw('GET /open/ HTTP/1.1', 'Destination: http://evil.test/open/')",
    "a source of a copy": "raw('GET /open/ HTTP/1.1', 'X-Amz-Copy-Source: closed/key')",
    "a source of a copy as URL": "raw('GET /open/ HTTP/1.1', 'X-Ms-Copy-Source: http://evil.test/open/x')",
    "a source of a copy in Swift": "raw('GET /open/ HTTP/1.1', 'X-Copy-From: /closed/key')",
    "steps up with parameters from a closed path": "target('/closed/..;/open/')",
    "steps up with backslashes from a closed path": r"target('/closed/..\\open/')",
    "steps up with encoded backslashes from a closed path": "target('/closed/..%5copen/')",
    "steps up encoded twice from a closed path": "target('/closed/%252e%252e/open/')",
    "encoded slashes from a closed path": "target('/closed%2f..%2fopen/')",
    "an encoded slash after dots from a closed path": "target('/closed/..%2fopen/')",
    "overlong dots from a closed path": "target('/closed/%c0%ae%c0%ae/open/')",
    "full-width dots from a closed path": "target('/closed/%ef%bc%8e%ef%bc%8e/open/')",
    "wide dots from a closed path": "target('/closed/%u002e%u002e/open/')",
    "dots and a space from a closed path": "target('/closed/..%20/open/')",
    "dots and a null character from a closed path": "target('/closed/..%00/open/')",
    "a null character between dots": "target('/open/.%00./closed')",
    "a tab between dots": "target('/open/.%09./closed')",
    "a line feed after dots": "target('/open/..%0a/closed')",
    "a delete character between dots from a closed path": "target('/closed/.%7f./open/')",
    "a path in another header": "raw('GET /open/ HTTP/1.1', 'X-Rewrite-URL: /closed')",
    "an absolute target of another host": "target(f'http://evil.test:{PORT}/open/')",
    "an absolute target of the allowed host": "target(f'http://allowed.test:{PORT}/closed')",
    "an absolute target with https": "target(f'https://allowed.test:{PORT}/open/')",
    "a target that is an authority": "target('allowed.test:80')",
    "a target that is an asterisk": "raw('OPTIONS * HTTP/1.1')",
    "a tunnel": "raw(f'CONNECT evil.test:443 HTTP/1.1')",
    "a tunnel to the allowed host": "raw(f'CONNECT allowed.test:{PORT} HTTP/1.1')",
    "another Host": "raw('GET /open/ HTTP/1.1', host='evil.test')",
    "another Host at the port": "raw('GET /open/ HTTP/1.1', host=f'evil.test:{PORT}')",
    "another port in Host": "raw('GET /open/ HTTP/1.1', host='allowed.test:1')",
    "a port in Host with foreign digits": r"raw('GET /open/ HTTP/1.1', host='allowed.test:\xb2')",
    "a user in Host": "raw('GET /open/ HTTP/1.1', host='allowed.test@evil.test')",
    "a path in Host": "raw('GET /open/ HTTP/1.1', host='evil.test/allowed.test')",
    "a list in Host": "raw('GET /open/ HTTP/1.1', host='allowed.test, evil.test')",
    "an empty Host": "raw('GET /open/ HTTP/1.1', host=' ')",
    "a second Host": "raw('GET /open/ HTTP/1.1', 'Host: evil.test')",
    "no Host": "http.client.HTTPConnection('allowed.test', PORT)"
        ".request('GET', '/open/', headers={'Host': ''})",
    "HTTP/1.0 without Host": r"""
with socket.create_connection(('allowed.test', PORT), timeout=1) as connection:
    connection.sendall(b'GET /open/ HTTP/1.0\r\n\r\n')
    connection.recv(1)""",
    "HTTP/0.9": r"""
with socket.create_connection(('allowed.test', PORT), timeout=1) as connection:
    connection.sendall(b'GET /closed\r\n')
    connection.recv(1)""",
    "the preface of HTTP/2": r"""
with socket.create_connection(('allowed.test', PORT), timeout=1) as connection:
    connection.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    connection.recv(1)""",
    "TLS of the code's own": r"""
with socket.create_connection(('allowed.test', PORT), timeout=1) as connection:
    connection.sendall(b'\x16\x03\x01\x00\x05hello')
    connection.recv(1)""",
    "a WebSocket where none is allowed": "raw('GET /open/ HTTP/1.1', 'Upgrade: websocket',"
        " 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==')",
    "another protocol": r"""
with socket.create_connection(('allowed.test', PORT), timeout=1) as connection:
    connection.sendall(b'EHLO evil.test\r\nMAIL FROM:<a@b.test>\r\n')
    connection.recv(1)""",
}  # fmt: skip

#: Hidden forms of what is allowed, or of nothing: the server gets the allowed request in its plain form.
HARMLESS = {
    "capitals in the host": "get(f'http://ALLOWED.test:{PORT}/open/')",
    "two trailing dots": "connect('allowed.test..')",
    "a trailing dot": "connect('allowed.test.')",
    "full-width letters in the host": r"connect('\uff41llowed.test')",
    "a Host in capitals": "raw('GET /open/ HTTP/1.1', host=f'Allowed.TEST:{PORT}')",
    "a Host with a trailing dot": "raw('GET /open/ HTTP/1.1', host=f'allowed.test.:{PORT}')",
    "an upgrade to HTTP/2": "raw('GET /open/ HTTP/1.1', 'Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings',"
        " 'HTTP2-Settings: AAMAAABkAAQAAP__')",
    "authority for a proxy": "raw('GET /open/ HTTP/1.1', 'Proxy-Authorization: Basic eDp5')",
    "its own host in a header": "raw('GET /open/ HTTP/1.1', f'X-Forwarded-Host: Allowed.test:{PORT}')",
    "its own host in the header of RFC 7239": "raw('GET /open/ HTTP/1.1', 'Forwarded: host=allowed.test;for=x')",
    "a destination below the path": "raw('GET /open/ HTTP/1.1', f'Destination: http://allowed.test:{PORT}/open/x')",
    "the Host as a header of one connection": "raw('GET /open/ HTTP/1.1', 'Connection: host')",
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared() -> Iterator[dict[str, planaria.Session]]:
    """Sessions by their policies; each attack is made in a fork."""
    sessions: dict[str, planaria.Session] = {}
    yield sessions
    for session in sessions.values():
        session.close()


def attacked(
    prepared: dict[str, planaria.Session], server: RecordingServer, attack: str, **changes: Any
) -> Any:
    allow = [f"GET http://allowed.test:{server.port}/open/"]
    policy = {"allow": allow, "private": True, "timeout": 20, **changes}
    if repr(policy) not in prepared:
        prepared[repr(policy)] = planaria.Session(network=Network(**policy))
        prepared[repr(policy)].execute(f"{PREPARE}\nPORT = {server.port}")
    [copy] = prepared[repr(policy)].fork()
    with copy as session:
        return session.run(attack)


@pytest.mark.parametrize("attack", HOSTS.values(), ids=HOSTS.keys())
def test_host(attack: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Another place is refused without a connection, and without a look at the DNS."""
    result = attacked(prepared, server, attack)
    assert result.error is not None, result.value
    assert server.requests == []
    assert set(resolver.asked) <= {"allowed.test"}
    assert not any(request.allowed for request in result.requests)


@pytest.mark.parametrize("attack", REQUESTS.values(), ids=REQUESTS.keys())
def test_request(attack: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Another request to the allowed place is refused, and the server gets nothing of it."""
    result = attacked(prepared, server, attack)
    assert result.error is not None, result.value
    assert server.requests == []
    assert not any(request.allowed for request in result.requests)


@pytest.mark.parametrize("attack", HARMLESS.values(), ids=HARMLESS.keys())
def test_plain_form(attack: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """The allowed request in another form reaches the server in the usual one."""
    result = attacked(prepared, server, attack)
    assert result.error is None, result.error
    [request] = server.requests
    lines = request.lower().split(b"\r\n")
    assert lines[0] == b"get /open/ http/1.1"
    assert [line for line in lines if line.startswith(b"host:")] == [
        f"host: allowed.test:{server.port}".encode()
    ]
    assert not any(line.startswith((b"upgrade:", b"http2-", b"proxy-")) for line in lines)


@pytest.mark.parametrize(
    "target",
    [
        "/admin", "/ADMIN", "/Admin/", "//admin", "/./admin", "/x/../admin", "/%61dmin", "/%2561dmin",
        "/x/%2e%2e/admin", "/x/..;/admin", "/admin;x", "/admin;x=1/users", "/;x/admin", "/admin%00", "/admin%20",
        "/admin.", "/admin./users", "/admin%2fusers", "/admin%5cusers", r"/\admin", "/%c0%afadmin",
        "/x/%c0%ae%c0%ae/admin", "/%ef%bc%8fadmin", "/admin?x", "/admin/..;/admin", "/admin.json", "/ADMIN.Xml;x",
        "/admin/..;/open", r"/admin/..\open", "/admin/%252e%252e/open", "/admin%2f..%2fopen", "/x/.%00./admin",
    ],
)  # fmt: skip
def test_denied_path(target: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A denied path is refused in whatever form a server may take for it."""
    changes = {"allow": [f"http://allowed.test:{server.port}"], "deny": [f"allowed.test:{server.port}/admin"]}
    result = attacked(prepared, server, f"target({target!r})", **changes)
    assert "is denied by a rule" in result.error.message
    assert server.requests == []


@pytest.mark.parametrize("method", ["DELETE", "delete", "Delete"])
def test_denied_method(method: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A denied method is refused in whatever case a server may read it."""
    place = f"allowed.test:{server.port}"
    changes = {"allow": [f"http://{place}"], "deny": [f"DELETE {place}"]}
    result = attacked(prepared, server, f"raw('{method} /open/ HTTP/1.1')", **changes)
    assert "is denied by a rule" in result.error.message
    assert server.requests == []


@pytest.mark.parametrize(
    "path", ["/open/v1.2/x", "/open/a%2Fb", "/open/a;b/c", "/open/%2541", "/open/..x/y.json"]
)
def test_usual_paths(path: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Paths with parameters, encoded slashes and dots in names are allowed as any other, and stay as they are."""
    assert attacked(prepared, server, f"target({path!r})").error is None
    assert server.requests[0].startswith(f"GET {path} HTTP/1.1".encode())


ADDRESSES = [
    "127.0.0.1", "127.1", "127.0.1", "127.000.000.001", "2130706433", "0x7f000001", "0x7F.0.0.1", "0x7f.1",
    "0177.0.0.1", "0177.1", "017700000001", "127.0.0.1.", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0",
    "::1", "::", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1", "64:ff9b:1:7f00:0:100:808:808", "2002:7f00:1::", "2001:0:808:808::80ff:fffe",
    "::ffff:0:127.0.0.1", "::1%lo", "fe80::1%eth0", "::ffff:127.0.0.1%1", "169.254.169.254", "0xa9fea9fe",
    "fd00:ec2::254", "100.100.100.200", "10.0.0.1", "172.17.0.1", "192.168.0.1", "224.0.0.1",
    "255.255.255.255", "localhost", "LOCALHOST.", "a.localhost", "ip6-localhost",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_private_address(address: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """Every host at this port is allowed, and still no address that is not public, however it is written."""
    changes = {"allow": [f"*:{server.port}"], "private": False}
    result = attacked(prepared, server, f"connect({address!r})", **changes)
    assert "is not a public address" in result.error.message
    assert server.addresses == []


@pytest.mark.parametrize("address", ADDRESSES[:13])
def test_denied_address(address: str, prepared: Any, server: RecordingServer, resolver: Resolver) -> None:
    """A denied address is refused in every form, also with `private=True`, and when a name leads to it."""
    changes = {"allow": [f"*:{server.port}"], "deny": ["127.0.0.0/8"]}
    assert attacked(prepared, server, f"connect({address!r})", **changes).error is not None
    changes = {"allow": [f"*:{server.port}"], "deny": ["127.0.0.1"]}
    assert attacked(prepared, server, "connect('a-name.test')", **changes).error is not None
    assert server.addresses == []
