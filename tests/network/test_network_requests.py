"""Requests of code in a session, by the libraries that people use, to real servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from http_servers import Handler

import planaria
from planaria import Network, NetworkRequest

pytestmark = pytest.mark.slow


def test_urllib(connected: Any) -> None:
    """urllib reads over HTTP and HTTPS; the result has a record of each request."""
    session = connected()
    result = session.run("[get(f'{place}/echo?x=1') for place in (plain, secure)]")
    assert result.error is None
    assert [json.loads(one)["target"] for one in result.value] == ["/echo?x=1"] * 2
    first, second = result.requests
    assert isinstance(first, NetworkRequest)
    assert (first.method, first.status, first.allowed) == ("GET", 200, True)
    assert first.bytes_received == len(result.value[0])
    assert second.url.startswith("https://localhost:")
    assert session.run("1").requests == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("chunked", b"one two three"),
        ("until-close", b"to the end"),
        ("close-after", b"then closed"),
        ("bytes/300000", b"x" * 300_000),
    ],
)
def test_framing(connected: Any, path: str, expected: bytes) -> None:
    """Answers of every framing arrive whole."""
    assert connected().execute(f"get(f'{{plain}}/{path}')").value == expected


def test_cut_off(connected: Any) -> None:
    """An answer that ends too early is an error of the library."""
    session = connected()
    result = session.run("get(f'{plain}/half')")
    assert result.error.type == "IncompleteRead"
    assert result.error.message == "IncompleteRead(7 bytes read, 93 more expected)"
    assert [one.reason for one in result.requests] == [
        "the server closed the connection before the end of its answer"
    ]
    assert session.run("get(f'{plain}/nothing')").error.type == "RemoteDisconnected"


def test_request_before_the_answer(connected: Any) -> None:
    """A request that is sent before the answer to the one before it is refused; that answer arrives whole."""
    code = """
host, port = plain.removeprefix("http://").split(":")
request = f"GET /bytes/5000 HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode()
with socket.create_connection((host, int(port)), timeout=20) as connection:
    try:
        connection.sendall(request * 2)
    except PermissionError as error:
        refused = str(error)
    answer = b"".join(iter(lambda: connection.recv(1000), b""))
refused, answer.count(b"HTTP/1.1 200"), len(answer.partition(b"\\r\\n\\r\\n")[2])
"""
    result = connected().run(code)
    reason = "a request was sent before the answer to the one before it"
    assert result.value == (reason, 1, 5000), result.error
    assert [(one.method, one.status, one.reason) for one in result.requests] == [
        ("GET", 200, ""),
        ("?", None, reason),
    ]


def test_bodies(connected: Any) -> None:
    """Bodies go up and come back as they are, with a length and in chunks."""
    code = """
data = bytes(range(256)) * 4000
with_length = urllib.request.urlopen(f"{plain}/body", data=data).read() == data
connection = http.client.HTTPConnection(plain.removeprefix("http://"))
connection.request("POST", "/echo", iter([b"one ", b"two"]), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
with_length, connection.getresponse().status
"""
    assert connected().execute(code).value == (True, 200)


def test_redirects(connected: Any) -> None:
    """A redirect is a request of its own, which the policy decides on."""
    session = connected()
    assert session.run("get(f'{plain}/redirect?to=/echo')").error is None
    result = session.run("get(f'{plain}/redirect?to=http://evil.test/')")
    assert "evil.test is not allowed" in result.error.message
    assert [one.allowed for one in result.requests] == [True, False]


def test_not_allowed(connected: Any) -> None:
    """A host that no rule is for is refused before anything is sent, with what is allowed."""
    result = connected(allow=["api.github.com"]).run("get('https://evil.test')")
    assert "evil.test is not allowed; allowed are api.github.com" in result.error.message
    [record] = result.requests
    assert not record.allowed
    assert "evil.test is not allowed" in record.reason


def test_kept_connection(connected: Any) -> None:
    """Requests share a connection that the server keeps open, and survive one that it closes between them."""
    session = connected()
    code = """
connection = http.client.HTTPConnection(plain.removeprefix("http://"))
def first(path):
    connection.request("GET", path)
    return connection.getresponse().read()[:4]
[first(path) for path in ("/echo", "/close-after")]
"""
    Handler.closed_after.clear()
    assert session.execute(code).value == [b'{"me', b"then"]
    assert Handler.closed_after.wait(60)
    code = '[first(path) for path in ("/echo", "/chunked", "/echo")]'
    assert session.execute(code).value == [b'{"me', b"one ", b'{"me']


def test_certificate(connected: Any) -> None:
    """A server that cannot be verified is an SSL error, whatever the code asks for."""
    session = connected(certificates=None)
    result = session.run("get(f'{secure}/echo')")
    assert "certificate verify failed" in result.error.message
    code = "urllib.request.urlopen(f'{secure}/echo', context=ssl._create_unverified_context())"
    assert "certificate verify failed" in session.run(code).error.message


def test_certificate_at_the_first_request(connected: Any) -> None:
    """A server that is connected to when a request was allowed is verified too, with the same error."""
    session = connected(allow=[], on_request=lambda request: True, certificates=None, private=True)
    error = session.run("get(secure + '/echo')").error
    assert "certificate verify failed" in error.message
    assert (
        session.execute("""
try:
    http.client.HTTPSConnection(secure.removeprefix("https://")).request("GET", "/")
except ssl.SSLCertVerificationError as error:
    found = error.reason
found
""").value
        == "CERTIFICATE_VERIFY_FAILED"
    )


def test_names_of_headers(connected: Any) -> None:
    """Names of headers arrive in the case that they were written in, at the server and in the code."""
    session = connected()
    result = session.run("""
connection = http.client.HTTPConnection(plain.removeprefix("http://"))
connection.request("GET", "/status/200", headers={"X-SoMe": "a"})
[name for name, _ in connection.getresponse().getheaders()]
""")
    assert result.value[-2:] == ["Content-Type", "Content-Length"]
    assert ("x-some", "a") in result.requests[0].headers


def test_no_network(new_session: Any) -> None:
    """Without `network=` there is none; with a policy that allows nothing, nothing is reached."""
    result = new_session().run("import socket; socket.create_connection(('localhost', 80))")
    assert "the sandbox has no network" in result.error.message
    result = new_session(network=Network()).run("import socket; socket.create_connection(('localhost', 80))")
    assert "the network allows nothing" in result.error.message


#: Each tries to have another request made than the one that is allowed: GET on /open/ of one server.
ATTACKS = {
    "another path": "send('GET /closed HTTP/1.1', HOST)",
    "a step up": "send('GET /open/../closed HTTP/1.1', HOST)",
    "an encoded step up": "send('GET /open/%2e%2e/closed HTTP/1.1', HOST)",
    "a double encoding": "send('GET /open/%252e%252e%252fclosed HTTP/1.1', HOST)",
    "a backslash": r"send('GET /open/..\\closed HTTP/1.1', HOST)",
    "another method": "send('POST /open/ HTTP/1.1', HOST, 'Content-Length: 0')",
    "a method in small letters": "send('get /open/ HTTP/1.1', HOST)",
    "an absolute target": "send('GET http://evil.test/open/ HTTP/1.1', HOST)",
    "a tunnel": "send('CONNECT evil.test:443 HTTP/1.1', HOST)",
    "a target without a path": "send('OPTIONS * HTTP/1.1', HOST)",
    "another Host": "send('GET /open/ HTTP/1.1', 'Host: evil.test')",
    "another port in Host": "send('GET /open/ HTTP/1.1', 'Host: localhost:1')",
    "two Hosts": "send('GET /open/ HTTP/1.1', HOST, 'Host: evil.test')",
    "a Host with a user": "send('GET /open/ HTTP/1.1', 'Host: localhost@evil.test')",
    "a Host with a list": "send('GET /open/ HTTP/1.1', 'Host: localhost, evil.test')",
    "both lengths": "send('GET /open/ HTTP/1.1', HOST, 'Content-Length: 4', 'Transfer-Encoding: chunked')",
    "two lengths": "send('GET /open/ HTTP/1.1', HOST, 'Content-Length: 4', 'Content-Length: 40')",
    "a signed length": "send('GET /open/ HTTP/1.1', HOST, 'Content-Length: +4')",
    "a length in hexadecimal": "send('GET /open/ HTTP/1.1', HOST, 'Content-Length: 0x4')",
    "an unknown coding": "send('GET /open/ HTTP/1.1', HOST, 'Transfer-Encoding: gzip, chunked')",
    "a hidden coding": r"send('GET /open/ HTTP/1.1', HOST, 'Transfer-Encoding: \x0bchunked')",
    "a space before the colon": "send('GET /open/ HTTP/1.1', HOST, 'X-Header : 1')",
    "a bare line feed in a header": r"send('GET /open/ HTTP/1.1', HOST, 'X: a\rGET /closed HTTP/1.1')",
    "a null character": r"send('GET /open/ HTTP/1.1', HOST, 'X: a\0b')",
    "another protocol": "send('PRI * HTTP/2.0', 'SM')",
    "an older protocol": "send('GET /closed')",
    "spaces in the target": "send('GET /open/ /closed HTTP/1.1', HOST)",
    "a request after a refused one": "send('GET /closed HTTP/1.1', HOST, '', 'GET /open/ HTTP/1.1', HOST)",
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_attack(connected: Any, http_port: int, attack: str) -> None:
    """A request that is not the allowed one is refused, and the server does not see it."""
    session = connected(allow=[f"GET http://localhost:{http_port}/open/"])
    session.execute(f"""
HOST = "Host: localhost:{http_port}"
def send(*lines):
    with socket.create_connection(("localhost", {http_port}), timeout=5) as connection:
        connection.sendall("\\r\\n".join([*lines, "", ""]).encode("latin-1"))
        return connection.recv(100)
""")
    assert session.execute("send('GET /open/ HTTP/1.1', HOST)").value.startswith(b"HTTP/1.1 200")
    result = session.run(attack)
    assert result.error is not None, result.value
    assert not any(record.status for record in result.requests)


def test_folded_header(connected: Any, http_port: int) -> None:
    """An obsolete folded header reaches the server as one line."""
    code = f"""
with socket.create_connection(("localhost", {http_port}), timeout=5) as connection:
    connection.sendall(b"GET /echo HTTP/1.1\\r\\nHost: localhost:{http_port}\\r\\nX-Long: a\\r\\n  Y: b\\r\\n\\r\\n")
    answer = connection.recv(10000)
answer
"""
    reported = json.loads(connected().execute(code).value.partition(b"\r\n\r\n")[2])
    assert reported["headers"]["x-long"] == "a Y: b"
    assert "y" not in reported["headers"]


def test_peeked_data(connected: Any) -> None:
    """A socket gives what it received in parts of any size, and again after a look at it with MSG_PEEK."""
    code = """
host, port = plain.removeprefix("http://").split(":")
with socket.create_connection((host, int(port))) as connection:
    connection.sendall(f"GET /bytes/70000 HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    seen = [connection.recv(8, socket.MSG_PEEK), connection.recv(4)]
    buffer = bytearray(8)
    seen.append((connection.recv_into(buffer, 4), bytes(buffer)))
    rest = b"".join(iter(lambda: connection.recv(1000), b""))
seen, len(rest.partition(b"\\r\\n\\r\\n")[2])
"""
    assert connected().execute(code).value == (
        [b"HTTP/1.1", b"HTTP", (4, b"/1.1\0\0\0\0")],
        70_000,
    )


def test_other_executors() -> None:
    """A network is the sandbox's: elsewhere it would not hold."""
    with pytest.raises(TypeError, match="network= is for the sandbox"):
        planaria.Session(executor=planaria.InProcessExecutor(), network=Network())


@pytest.mark.slow
def test_libraries(new_session: Any, clients: str, https_port: int, certificates: Path) -> None:
    """requests and httpx, with and without await, work unchanged."""
    network = Network(allow=[f"https://localhost:{https_port}"], certificates=certificates)
    session = new_session(network=network, image=clients)
    result = session.run(f"""
import httpx, requests
url = "https://localhost:{https_port}/"
with requests.Session() as kept:
    codes = [kept.get(url + "chunked").status_code for _ in range(3)]
codes.append(requests.post(url + "body", json={{"a": 1}}).json()["a"])
codes.append(len(requests.get(url + "bytes/200000", stream=True).content))
with httpx.Client() as client:
    codes += [client.get(url + "gzip").text[:10] for _ in range(2)]
async with httpx.AsyncClient() as client:
    codes.append((await client.get(url + "echo")).json()["method"])
    async with client.stream("GET", url + "bytes/100000") as answer:
        codes.append(sum([len(part) async for part in answer.aiter_bytes()]))
codes
""")
    assert result.error is None, result.error.traceback
    assert result.value == [200, 200, 200, 1, 200_000, "compressed", "compressed", "GET", 100_000]
    assert "evil.test is not allowed" in session.run("requests.get('https://evil.test')").error.message


def test_refusal_of_urllib(connected: Any) -> None:
    """What urllib raises for a refusal is a URLError and a PermissionError, with the reason as its text."""
    session = connected(allow=["api.github.com"])
    code = """
caught = []
for kind in (urllib.error.URLError, PermissionError, OSError):
    try:
        urllib.request.urlopen("https://evil.test")
    except kind as error:
        caught.append((str(error), error.errno, type(error.reason).__name__))
import errno
(len(caught), *set(caught)), errno.EACCES
"""
    found, number = session.execute(code).value
    assert found == (3, ("evil.test is not allowed; allowed are api.github.com", number, "PermissionError"))


def test_other_errors_of_urllib(connected: Any) -> None:
    """Errors of urllib that are not refusals stay as they are."""
    session = connected()
    code = """
errors = [urllib.error.URLError("why"), urllib.error.URLError(OSError(5, "x"), "f"), urllib.error.URLError(reason="r")]
described = [(type(one).__name__, str(one), len(one.args), one.errno, one.filename) for one in errors]
try:
    get(f"{plain}/status/404")
except urllib.error.HTTPError as error:
    described.append((type(error).__name__, str(error), error.code, error.errno, error.filename == error.url))
described
"""
    assert session.execute(code).value == [
        ("URLError", "<urlopen error why>", 1, None, None),
        ("URLError", "<urlopen error [Errno 5] x>", 1, None, "f"),
        ("URLError", "<urlopen error r>", 1, None, None),
        ("HTTPError", "HTTP Error 404: Not Found", 404, None, True),
    ]
