"""Requests of code in a session, by the libraries that people use, to real servers."""

from __future__ import annotations

import hashlib
import json
import socket
import socketserver
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from http_servers import Handler
from small_servers import serving

import planaria
from planaria import Network, NetworkRequest, Secret

pytestmark = pytest.mark.slow

VALUE = "s3cr3t-value"

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


def test_secret(connected: Any, https_port: int) -> None:
    """The server gets the value in the place of the placeholder; the code never sees it, nor do the records."""
    session = connected(secrets=[Secret("TOKEN", VALUE, hosts=[f"https://localhost:{https_port}"])])
    result = session.run(
        "get(f'{secure}/echo?key=' + os.environ['TOKEN'], Authorization='Bearer ' + os.environ['TOKEN'])"
    )
    reported = json.loads(result.value)
    assert reported["headers"]["authorization"] == "Bearer " + "*" * len(VALUE)
    assert reported["target"] == "/echo?key=" + "*" * len(VALUE)
    assert VALUE not in str(result.requests) + str(result)
    assert VALUE.encode() not in bytes(session.snapshot_state())
    assert session.execute("os.environ['TOKEN']").value == "planaria-secret-TOKEN-placeholder"


def test_secret_goes_nowhere_else(connected: Any, http_port: int, https_port: int) -> None:
    """Another host, and one without TLS, gets the placeholder."""
    session = connected(secrets=[Secret("TOKEN", VALUE, hosts=[f"localhost:{http_port}", "example.com"])])
    for place in ("plain", "secure"):
        reported = json.loads(session.execute(f"get(f'{{{place}}}/echo', X=os.environ['TOKEN'])").value)
        assert reported["headers"]["x"] == "planaria-secret-TOKEN-placeholder"


def test_secret_injected(connected: Any, https_port: int) -> None:
    """With `header=` the code needs nothing, and cannot replace the header."""
    secret = Secret(
        "TOKEN", lambda: VALUE, hosts=["localhost:" + str(https_port)], header="Authorization: Bearer {}"
    )
    session = connected(secrets=[secret])
    assert session.execute("'TOKEN' in os.environ").value is False
    reported = json.loads(session.execute("get(f'{secure}/echo', Authorization='mine')").value)
    assert reported["headers"]["authorization"] == "Bearer " + "*" * len(VALUE)


def test_secret_in_body(connected: Any, https_port: int) -> None:
    """With `in_body` the body is exchanged too, and its length is right."""
    code = "urllib.request.urlopen(f'{secure}/echo', data=b'key=' + os.environ['TOKEN'].encode()).read()"
    hosts = [f"https://localhost:{https_port}"]
    reported = json.loads(
        connected(secrets=[Secret("TOKEN", VALUE, in_body=True, hosts=hosts)]).execute(code).value
    )
    assert reported["body"] == "key=" + "*" * len(VALUE)
    assert reported["headers"]["content-length"] == str(len("key=" + VALUE))
    reported = json.loads(connected(secrets=[Secret("TOKEN", VALUE, hosts=hosts)]).execute(code).value)
    assert reported["body"] == "key=planaria-secret-TOKEN-placeholder"


def test_compressed_answer_with_secret(connected: Any, https_port: int) -> None:
    """Where values are looked for, a compressed answer is passed on without its compression."""
    session = connected(secrets=[Secret("TOKEN", VALUE, hosts=[f"localhost:{https_port}"])])
    assert session.execute("get(f'{secure}/gzip')").value == b"compressed " * 100


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [(False, "was refused"), ("not on Sundays", "not on Sundays"), (None, ""), (True, "")],
)
def test_on_request(connected: Any, decision: Any, outcome: str) -> None:
    """`on_request` sees each request and decides."""
    seen = []

    def decide(request: NetworkRequest) -> Any:
        seen.append(request.method)
        return decision

    result = connected(on_request=decide).run("get(f'{plain}/echo')")
    assert seen == ["GET"]
    if outcome:
        assert outcome in result.error.message
    else:
        assert result.error is None


def test_on_request_rewrites(connected: Any) -> None:
    """`on_request` may be asynchronous, allow what no rule does, and give other headers."""

    async def decide(request: NetworkRequest) -> Any:
        return {**dict(request.headers), "x-added": "1"}

    reported = json.loads(
        connected(allow=["localhost:1"], on_request=decide, private=True)
        .execute("get(f'{plain}/echo')")
        .value
    )
    assert reported["headers"]["x-added"] == "1"


AWAITED = """
import asyncio
async def fetch(path):
    host, port = secure.removeprefix("https://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=True)
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer
"""


def test_asyncio(connected: Any) -> None:
    """asyncio's streams connect with TLS, also many at once."""
    session = connected()
    session.execute(AWAITED)
    result = session.run("await asyncio.gather(*(fetch(f'/bytes/{n}') for n in range(20)))")
    assert result.error is None
    assert [len(one.partition(b"\r\n\r\n")[2]) for one in result.value] == list(range(20))
    assert len(result.requests) == 20


def test_blocking_and_awaiting(connected: Any) -> None:
    """While a task awaits what a connection receives, code may send by it and block."""
    code = """
import asyncio
host, port = plain.removeprefix("http://").split(":")
reader, writer = await asyncio.open_connection(host, int(port))
connection, found = writer.get_extra_info("socket"), []
for number in range(3):
    answer = asyncio.create_task(reader.readuntil(b"x" * 3000))
    await asyncio.sleep(0)
    connection.sendall(f"GET /bytes/3000 HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    found.append((await answer)[:12])
writer.close()
found
"""
    assert connected().execute(code).value == [b"HTTP/1.1 200"] * 3


class SlowReader(socketserver.BaseRequestHandler):
    """Takes so many bytes as the first eight say, a few at a time, and answers with their digest."""

    def handle(self) -> None:
        left = int.from_bytes(self.request.recv(8, socket.MSG_WAITALL))
        digest = hashlib.sha256()
        while left:
            part = self.request.recv(min(left, 5000))
            digest.update(part)
            left -= len(part)
        self.request.sendall(digest.digest())


def test_slow_reader(new_session: Any) -> None:
    """What a server does not take at once arrives in order, whole, and once."""
    with serving(SlowReader) as port:
        session = new_session(network=Network(allow=[f"tcp://localhost:{port}"]))
        code = f"""
import hashlib, random, socket
parts = [random.randbytes(60_000) for _ in range(100)]
with socket.create_connection(("localhost", {port})) as connection:
    connection.sendall(sum(map(len, parts)).to_bytes(8))
    for part in parts:
        connection.sendall(part)
    digest = connection.recv(100)
digest == hashlib.sha256(b"".join(parts)).digest()
"""
        assert session.execute(code).value is True


def test_approval(connected: Any) -> None:
    """A request whose approval is awaited waits for `resolve`, and continues or is refused."""

    def ask(request: NetworkRequest) -> Any:
        raise planaria.Suspend(f"approve {request.method} {request.url}?")

    session = connected(on_request=ask)
    session.execute(AWAITED)
    for decision in (True, False):
        result = session.run("(await fetch('/echo'))[:15]")
        [call] = result.suspended
        execution = session.run_in_progress
        execution.resolve(call.id, decision)
        result = execution.result()
        if decision:
            assert result.value == b"HTTP/1.1 200 OK"
        else:
            assert "was refused" in result.error.message


def test_restored(connected: Any, new_session: Any) -> None:
    """A connection that was open is reset in a restored session, and the next one works."""
    session = connected()
    session.execute("kept = http.client.HTTPConnection(plain.removeprefix('http://')); kept.connect()")
    snapshot = session.snapshot_state()
    other = new_session(network=session._engine.settings.network)
    other.restore_state(snapshot)
    assert other.run("kept.request('GET', '/echo'); kept.getresponse()").error.type == "ConnectionResetError"
    assert other.run("get(f'{plain}/echo')").error is None
    lonely = new_session()
    lonely.restore_state(snapshot)
    assert "a network; this one does not" in lonely.run("get(f'{plain}/echo')").error.message


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("max_requests", "get(f'{plain}/echo'); get(f'{plain}/echo')"),
        ("max_received", "get(f'{plain}/bytes/100000')"),
        ("max_sent", "urllib.request.urlopen(f'{plain}/body', data=bytes(100000))"),
        ("max_connections", "[socket.create_connection(('localhost', int(plain[17:]))) for _ in range(3)]"),
    ],
)
def test_limits(connected: Any, limit: str, code: str) -> None:
    """A limit that is reached is an error that names it; the next execution begins anew."""
    session = connected(**{limit: {"max_requests": 1, "max_connections": 2}.get(limit, 50_000)})
    assert f"{limit}=" in session.run(code).error.message
    if limit != "max_connections":
        assert session.run("get(f'{plain}/echo')").error is None


@pytest.mark.parametrize(
    "read", ["answer.read()", "[len(one) for one in iter(lambda: answer.read(10), b'')]"]
)
def test_request_timeout(connected: Any, read: str) -> None:
    """A request that takes longer than `request_timeout` in total is a TimeoutError, though no wait is long."""
    session = connected(request_timeout=1.5)
    assert session.run("get(f'{plain}/echo')").error is None
    result = session.run(f"answer = urllib.request.urlopen(f'{{plain}}/drip', timeout=60)\n{read}")
    assert result.error.type == "TimeoutError"
    assert "the limit request_timeout=1.5 s of a request to localhost is reached" in result.error.message
    [record] = result.requests
    assert record.reason == "the limit request_timeout=1.5 s of a request to localhost is reached"
    assert session.run("get(f'{plain}/echo')").error is None


@pytest.mark.parametrize("value", [0, -1, True, "5"])
def test_request_timeout_is_checked(value: Any) -> None:
    """A `request_timeout` that is not a positive number is an error of the constructor."""
    with pytest.raises(ValueError, match="request_timeout="):
        Network(request_timeout=value)


def test_data_before_a_limit(connected: Any) -> None:
    """What came within `max_received` reaches the code, and the error comes after it."""
    code = """
connection = http.client.HTTPConnection(plain.removeprefix("http://"))
connection.request("GET", "/bytes/1000000")
answer, got = connection.getresponse(), 0
try:
    while data := answer.read1(50_000):
        got += len(data)
except PermissionError as error:
    message = str(error)
got, message
"""
    got, message = connected(max_received=500_000).execute(code).value
    assert 400_000 < got <= 500_000
    assert message == "the limit max_received=500000 of one execution is reached"


def test_unread_answers_within_a_limit(connected: Any) -> None:
    """An answer that the code does not read on takes a small part of `max_received`, whatever its length."""
    code = """
for _ in range(5):
    connection = http.client.HTTPConnection(plain.removeprefix("http://"))
    connection.request("GET", "/bytes/5000000")
    connection.getresponse()
    connection.close()
"""
    assert connected(max_received=2_000_000).run(code).error is None


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
