"""Attacks on secrets: each tries to get a value into the sandbox, or to a server that it is not for."""

from __future__ import annotations

import base64
import gzip
import html
import json
import logging
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from recording_server import OK, RecordingServer

import planaria
from planaria import Network, Secret

pytestmark = pytest.mark.slow

#: With the characters that encodings change.
VALUE = "s3cr3t/Ab+=&\"<v\\al'ue9"
RAW = VALUE.encode()
PLACEHOLDER = b"planaria-secret-TOKEN-placeholder"

PREPARE = r"""
import base64, gc, http.client, io, os, socket, ssl, sys, traceback, urllib.error, urllib.request
TOKEN = os.environ.get("TOKEN", "planaria-secret-TOKEN-placeholder")
def raw(lines, body=b"", port=None, tls=True):
    with socket.create_connection(("localhost", port or SECURE), timeout=20) as connection:
        if tls:
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname="localhost")
        head = [lines[0], f"Host: localhost:{port or SECURE}", *lines[1:], "", ""]
        connection.sendall("\r\n".join(head).encode("latin-1") + body)
        received = b""
        try:
            while data := connection.recv(65536):
                received += data
        except OSError as error:
            received += repr(error).encode()
        return received
def ask(*headers):
    return raw(["GET / HTTP/1.1", "Connection: close", f"X: {TOKEN}", *headers])
"""


@pytest.fixture(scope="module")
def prepared() -> Iterator[list[planaria.Session]]:
    """The session that attacks are made in forks of, once it was created."""
    sessions: list[planaria.Session] = []
    yield sessions
    for session in sessions:
        session.close()


@pytest.fixture
def attacker(
    prepared: list[planaria.Session],
    new_session: Any,
    secure_server: RecordingServer,
    server: RecordingServer,
    certificates: Path,
) -> Iterator[Callable[..., Any]]:
    """A function that creates a session with a secret for the server of HTTPS alone."""
    forks: list[planaria.Session] = []

    def create(**changes: Any) -> Any:
        if changes:
            return created(**changes)
        if not prepared:
            prepared.append(created())
        forks.extend(prepared[0].fork())
        return forks[-1]

    def created(**changes: Any) -> Any:
        secure, plain = f"https://localhost:{secure_server.port}", f"http://localhost:{server.port}"
        options = {"hosts": [secure], **changes.pop("secret", {})}
        network = {
            "allow": [secure, plain],
            "secrets": [Secret("TOKEN", options.pop("value", VALUE), **options)],
            "certificates": certificates,
            "timeout": 20,
        }
        create = new_session if changes else planaria.Session
        session = create(network=Network(**{**network, **changes}))
        session.execute(f"SECURE, PLAIN = {secure_server.port}, {server.port}\n{PREPARE}")
        return session

    yield create
    for fork in forks:
        fork.close()


def with_length(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> list[bytes]:
    return [
        b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n"
        % (status, len(body), b"".join(h + b"\r\n" for h in headers)),
        body,
    ]


def in_chunks(parts: list[bytes], end: bytes = b"0\r\n\r\n") -> list[bytes]:
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *chunks, end]


def compressed(*members: bytes, coding: bytes = b"gzip") -> list[bytes]:
    return with_length(b"".join(members), b"Content-Encoding: " + coding)


SINGLE = [RAW[at : at + 1] for at in range(len(RAW))]
BASE64 = base64.b64encode(RAW).rstrip(b"=")[:-1]

#: What the server answers, and what the code must not find in it.
ANSWERS: dict[str, tuple[list[bytes], bytes]] = {
    "in the body": (with_length(RAW), RAW),
    "in an error page": (with_length(b"<p>bad token " + RAW, status=b"403 Forbidden"), RAW),
    "in a body until the end": ([b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + RAW], RAW),
    "in a body of HTTP/1.0": ([b"HTTP/1.0 200 OK\r\n\r\n" + RAW], RAW),
    "in a header": (with_length(b"", b"X-Echo: " + RAW), RAW),
    "in a cookie": (with_length(b"", b"Set-Cookie: a=" + quote(VALUE, safe="").encode()), quote(VALUE, safe="").encode()),
    "in a redirect": (with_length(b"", b"Location: /?" + RAW, status=b"302 Found"), RAW),
    "in a challenge": (with_length(b"", b'WWW-Authenticate: Basic realm="' + RAW, status=b"401 No"), RAW),
    "in the name of a header": (with_length(b"", b"X-" + RAW.hex().encode() + b": y"), RAW.hex().encode()),
    "in the reason": (with_length(b"", status=b"200 " + RAW), RAW),
    "in an interim answer": ([b"HTTP/1.1 103 Early Hints\r\nLink: " + RAW + b"\r\n\r\n", OK], RAW),
    "in the reason of an interim answer": ([b"HTTP/1.1 100 " + RAW + b"\r\n\r\n", OK], RAW),
    "in a trailer": (in_chunks([b"ok"], b"0\r\nX: " + RAW + b"\r\n\r\n"), RAW),
    "in an extension of a chunk": (in_chunks([b"ok"], b"0;" + RAW + b"\r\n\r\n"), RAW),
    "in a header that is not valid": ([b"HTTP/1.1 200 OK\r\n" + RAW + b"\r\n\r\n"], RAW),
    "in a status line that is not valid": ([b"HTTP/1.1 " + RAW + b"\r\n\r\n"], RAW),
    "in the size of a chunk": ([*in_chunks([])[:1], RAW + b"\r\n\r\n"], RAW),
    "in a length that is not valid": ([b"HTTP/1.1 200 OK\r\nContent-Length: " + RAW + b"\r\n\r\n"], RAW),
    "in a coding that is not valid": ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + RAW + b"\r\n\r\n"], RAW),
    "in a compression that is not known": (with_length(b"x", b"Content-Encoding: " + RAW), RAW),
    "after the answer": ([OK + RAW], RAW),
    "before it breaks off": ([b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n" + RAW], RAW),
    "in two packets": ([with_length(RAW)[0], RAW[:9], RAW[9:]], RAW),
    "in single bytes": ([with_length(RAW)[0], *SINGLE], RAW),
    "in two chunks": (in_chunks([b"a" + RAW[:9], RAW[9:] + b"b"]), RAW),
    "in a chunk for each byte": (in_chunks(SINGLE), RAW),
    "ten times in a row": (in_chunks([(RAW * 10)[:31], (RAW * 10)[31:]]), RAW),
    "after a part of itself": (with_length(RAW[:5] + RAW), RAW),
    "percent-encoded": (with_length(quote(VALUE, safe="").encode()), quote(VALUE, safe="").encode()),
    "percent-encoded but for slashes": (with_length(quote(VALUE).encode()), quote(VALUE).encode()),
    "percent-encoded in small letters":
        (with_length(b"s3cr3t%2fAb%2b%3d%26%22%3cv%5cal%27ue9"), b"s3cr3t%2fAb%2b%3d%26%22%3cv%5cal%27ue9"),
    "percent-encoded as a form": (with_length(quote_plus(VALUE).encode()), quote_plus(VALUE).encode()),
    "percent-encoded in every byte":
        (with_length(b"".join(b"%%%02x" % one for one in RAW)), b"".join(b"%%%02x" % one for one in RAW)),
    "percent-encoded twice": (
        with_length(quote(quote(VALUE, safe=""), safe="").encode()), quote(quote(VALUE, safe=""), safe="").encode(),
    ),
    "in JSON": (with_length(json.dumps({"a": VALUE}).encode()), json.dumps(VALUE)[1:-1].encode()),
    "in JSON of PHP":
        (with_length(json.dumps(VALUE).replace("/", r"\/").encode()), json.dumps(VALUE).replace("/", r"\/")[1:-1].encode()),
    "in escapes of JSON":
        (with_length(b"".join(rb"\u00%02x" % one for one in RAW)), b"".join(rb"\u00%02x" % one for one in RAW)),
    "in HTML": (with_length(html.escape(VALUE).encode()), html.escape(VALUE).encode()),
    "in HTML of PHP":
        (with_length(html.escape(VALUE).replace("&#x27;", "&#39;").encode()), html.escape(VALUE).replace("&#x27;", "&#39;").encode()),
    "as Python writes it": (with_length(repr(RAW).encode()), repr(RAW)[2:-1].encode()),
    "in hexadecimal": (with_length(RAW.hex().encode()), RAW.hex().encode()),
    "in hexadecimal in capitals": (with_length(RAW.hex().upper().encode()), RAW.hex().upper().encode()),
    "backwards": (with_length(RAW[::-1]), RAW[::-1]),
    "in base64": (with_length(base64.b64encode(RAW)), BASE64),
    "in base64 after one byte": (with_length(base64.b64encode(b"a" + RAW)), base64.b64encode(b"a" + RAW)[2:-4]),
    "in base64 after two bytes": (with_length(base64.b64encode(b"ab" + RAW)), base64.b64encode(b"ab" + RAW)[3:-4]),
    "in base64 for URLs": (with_length(base64.urlsafe_b64encode(RAW)), base64.urlsafe_b64encode(RAW)[:-4]),
    "in base64 in two packets": ([with_length(base64.b64encode(RAW))[0], base64.b64encode(RAW)[:11], base64.b64encode(RAW)[11:]], BASE64),
    "compressed": (compressed(gzip.compress(RAW)), RAW),
    "compressed under another name": (compressed(gzip.compress(RAW), coding=b"x-gzip"), RAW),
    "compressed by deflate": (compressed(zlib.compress(RAW), coding=b"Deflate"), RAW),
    "compressed in two members": (compressed(gzip.compress(RAW[:9]), gzip.compress(RAW[9:])), RAW),
    "compressed with a false second coding":
        (with_length(gzip.compress(RAW, mtime=0), b"Content-Encoding: gzip", b"Content-Encoding: identity"), gzip.compress(RAW, mtime=0)),
    "compressed twice": (compressed(gzip.compress(gzip.compress(RAW, mtime=0), mtime=0), coding=b"gzip, gzip"), gzip.compress(gzip.compress(RAW, mtime=0), mtime=0)),
    "compressed as what is not known": (compressed(b"br" + RAW, coding=b"br"), RAW),
    "compressed and cut off": ([b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n", gzip.compress(RAW * 50)[:-12]], RAW),
    "compressed without end": (compressed(gzip.compress(b"\0" * (64 << 20)) + gzip.compress(RAW)), RAW),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "needle"), ANSWERS.values(), ids=ANSWERS.keys())
def test_echo(
    answer: list[bytes],
    needle: bytes,
    attacker: Any,
    secure_server: RecordingServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A server that sends the value back gives the code asterisks, or an error without it."""
    caplog.set_level(logging.DEBUG)
    secure_server.answer = lambda request: iter(answer)
    secure_server.closes = True
    session = attacker()
    result = session.run("ask()")
    assert any(RAW in request for request in secure_server.requests)
    assert result.error is None
    assert result.value
    seen = result.value.lower()
    assert needle.lower() not in seen
    assert RAW.lower() not in seen
    assert needle not in repr(result.requests).encode()
    assert VALUE not in caplog.text
    assert RAW not in bytes(session.snapshot_state())


def test_parts_by_range(attacker: Any, secure_server: RecordingServer) -> None:
    """Parts of an echo cannot be asked for one by one: a request with a value has no Range."""

    def answer(request: bytes) -> list[bytes]:
        ranges = [line for line in request.lower().split(b"\r\n") if line.startswith(b"range: bytes=")]
        if not ranges:
            return with_length(RAW)
        start = int(ranges[0].partition(b"=")[2].partition(b"-")[0])
        return with_length(RAW[start : start + 1], status=b"206 Partial Content")

    secure_server.answer = answer
    secure_server.closes = True
    parts = attacker().execute(
        f"[ask(f'Range: bytes={{at}}-{{at}}').partition(b'\\r\\n\\r\\n')[2] for at in range({len(RAW)})]"
    )
    assert parts.value == [b"*" * len(RAW)] * len(RAW)


@pytest.mark.parametrize(
    ("header", "other"),
    [
        ("Range", "Range"), ("Range", "If-Range"), ("Request-Range", "X"), ("X-Ms-Range", "X"), ("x_ms_range", "X"),
        ("Accept-Charset", "X"),
    ],
)  # fmt: skip
def test_what_changes_the_form_of_an_echo(
    header: str, other: str, attacker: Any, secure_server: RecordingServer
) -> None:
    """No part and no other encoding of an answer is asked for at the host of a secret, by a request without it
    either: another path may repeat what the secret's own was sent.
    """
    secure_server.closes = True
    session = attacker(secret={"hosts": [f"https://localhost:{secure_server.port}/v1/"]})
    session.execute(f"raw(['GET /v2/ HTTP/1.1', 'Connection: close', '{header}: bytes=0-3', '{other}: y'])")
    [request] = secure_server.requests
    assert b"bytes=0-3" not in request


@pytest.mark.parametrize("name", ["X-Api-Key", "x_api_key", "X_Api-Key"])
def test_a_header_of_the_codes_own(name: str, attacker: Any, secure_server: RecordingServer) -> None:
    """A header that carries a secret is the host's alone, also where a server takes `_` for `-`."""
    secure_server.closes = True
    session = attacker(secret={"header": "X-Api-Key: {}"})
    session.execute(f"raw(['GET / HTTP/1.1', 'Connection: close', '{name}: mine'])")
    [request] = secure_server.requests
    assert RAW in request
    assert b"mine" not in request


def test_partial_reads(attacker: Any, secure_server: RecordingServer) -> None:
    """Reading one byte at a time from the socket gives asterisks one at a time."""
    secure_server.answer = lambda request: with_length(RAW)
    code = """
connection = http.client.HTTPSConnection("localhost", SECURE, timeout=20)
connection.request("GET", "/", headers={"X": TOKEN})
answer = connection.getresponse()
[answer.read(1) for _ in range(22)]
"""
    assert attacker().execute(code).value == [b"*"] * len(RAW)


@pytest.mark.parametrize("value", ["s3cr3t-value", "abcdabcdabcd", "aaaaaaaa"])
def test_value_that_begins_another(
    value: str, new_session: Any, secure_server: RecordingServer, certificates: Path
) -> None:
    """Of two values of which one begins the other, the end of the longer does not remain."""
    place = f"https://localhost:{secure_server.port}"
    longer = value + "-and-more"
    secure_server.answer = lambda request: in_chunks(
        [longer[a:b].encode() for a, b in pairwise([0, 3, len(value), len(longer)])]
    )
    network = Network(
        allow=[place],
        secrets=[Secret("A", value, hosts=[place]), Secret("TOKEN", longer, hosts=[place])],
        certificates=certificates,
    )
    session = new_session(network=network)
    session.execute("import urllib.request")
    answer = session.execute(f"urllib.request.urlopen('{place}', timeout=20).read()").value
    assert answer == b"*" * len(longer)


#: Requests with the placeholder in places that values are not for: the server gets the placeholder.
PLACES = {
    "the path": "raw([f'GET /{TOKEN} HTTP/1.1', 'Connection: close'])",
    "the path with a query": "raw([f'GET /{TOKEN}?x HTTP/1.1', 'Connection: close'])",
    "the body": "raw(['POST / HTTP/1.1', 'Connection: close', 'Content-Length: 33'], TOKEN.encode())",
    "chunks": "raw(['POST / HTTP/1.1', 'Connection: close', 'Transfer-Encoding: chunked'],"
        " b'21\\r\\n' + TOKEN.encode() + b'\\r\\n0\\r\\n\\r\\n')",
    "the name of a header": "raw(['GET / HTTP/1.1', 'Connection: close', f'{TOKEN}: x'])",
    "a server without TLS": "raw(['GET / HTTP/1.1', 'Connection: close', f'X: {TOKEN}'], port=PLAIN, tls=False)",
    "the query of a server without TLS":
        "raw([f'GET /?{TOKEN} HTTP/1.1', 'Connection: close'], port=PLAIN, tls=False)",
    "credentials for a server without TLS": "raw(['GET / HTTP/1.1', 'Connection: close', 'Authorization: Basic '"
        " + base64.b64encode(b'u:' + TOKEN.encode()).decode()], port=PLAIN, tls=False)",
    "two parts in two headers": "raw(['GET / HTTP/1.1', 'Connection: close', f'X: {TOKEN[:9]}', f'X: {TOKEN[9:]}'])",
    "capitals": "raw(['GET / HTTP/1.1', 'Connection: close', f'X: {TOKEN.upper()}'])",
    "another name": "raw(['GET / HTTP/1.1', 'Connection: close', 'X: planaria-secret-OTHER-placeholder'])",
    "percent-encoding": "raw(['GET / HTTP/1.1', 'Connection: close', f'X: {TOKEN.replace(chr(45), chr(37) + chr(50) + chr(68))}'])",
}  # fmt: skip


@pytest.mark.parametrize("attack", PLACES.values(), ids=PLACES.keys())
def test_place(attack: str, attacker: Any, secure_server: RecordingServer, server: RecordingServer) -> None:
    """Where a value is not for, the server gets what the code wrote."""
    secure_server.closes = server.closes = True
    result = attacker().run(attack)
    assert result.error is None, result.error
    [request] = secure_server.requests + server.requests
    assert RAW not in request
    assert quote(VALUE, safe="").encode() not in request
    assert base64.b64encode(b"u:" + RAW) not in request


@pytest.mark.parametrize(
    ("hosts", "lines"),
    [
        (["https://localhost:{port}/v1/"], ["GET /v2/ HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /v1/../v2 HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /?/v1/ HTTP/1.1"]),
        (["GET https://localhost:{port}"], ["POST / HTTP/1.1", "Content-Length: 0"]),
        (["http://localhost:{port}"], ["GET / HTTP/1.1"]),
        (["localhost"], ["GET / HTTP/1.1"]),
        (["localhost:1"], ["GET / HTTP/1.1"]),
        (["*.localhost:{port}"], ["GET / HTTP/1.1"]),
        (["127.0.0.1:{port}"], ["GET / HTTP/1.1"]),
        (["localhost.evil.test:{port}"], ["GET / HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /v2/%252e%252e/v1/ HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /v2/..;/v1/ HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /v2%2f..%2fv1/ HTTP/1.1"]),
        (["https://localhost:{port}/v1/"], ["GET /v1/ HTTP/1.1", "X-Original-URL: /v2/"]),
        (["https://localhost:{port}/v1/"], ["GET /v1/ HTTP/1.1", "Destination: /v2/"]),
        (["GET https://localhost:{port}"], ["GET /?_method=POST HTTP/1.1"]),
        (["GET https://localhost:{port}"], ["GET / HTTP/1.1", "X-HTTP-Method-Override: POST"]),
    ],
)
def test_rule_of_the_secret(
    hosts: list[str], lines: list[str], attacker: Any, secure_server: RecordingServer
) -> None:
    """Scheme, host, port, path and method in the hosts of a secret hold."""
    secure_server.closes = True
    session = attacker(secret={"hosts": [host.format(port=secure_server.port) for host in hosts]})
    session.execute(f"raw([*{lines!r}, 'Connection: close', f'X: {{TOKEN}}'])")
    [request] = secure_server.requests
    assert PLACEHOLDER in request
    assert RAW not in request


def test_answer_of_another_server(
    attacker: Any, secure_server: RecordingServer, server: RecordingServer
) -> None:
    """A value that reaches another server in some way does not come back from there either."""
    server.answer = lambda request: with_length(RAW + base64.b64encode(RAW))
    server.closes = True
    session = attacker()
    session.execute("ask('Connection: close')")
    seen = session.execute("raw(['GET / HTTP/1.1', 'Connection: close'], port=PLAIN, tls=False)").value
    assert b"200" in seen
    assert RAW not in seen
    assert BASE64 not in seen


def test_earlier_value(attacker: Any, secure_server: RecordingServer) -> None:
    """A value that was replaced by a newer one is looked for in answers still."""
    values = iter(["first-value-1", "second-value-2"])
    secure_server.answer = lambda request: with_length(b"first-value-1 second-value-2")
    secure_server.closes = True
    session = attacker(secret={"value": lambda: next(values)})
    session.execute("ask()")
    assert session.execute("ask()").value.endswith(b"\r\n\r\n************* **************")


#: What code looks for values in, after a request that carried one.
HIDING_PLACES = {
    "the environment": "repr(os.environ) + repr(os.environb)",
    "the environment of the process": "open('/proc/self/environ').read()",
    "the memory of the process": "open('/proc/self/mem', 'rb').read(1)",
    "the maps of the process": "open('/proc/self/maps').read()",
    "the command line": "open('/proc/self/cmdline').read() + repr(sys.argv) + repr(sys.orig_argv)",
    "objects": "repr([one for one in gc.get_objects() if isinstance(one, (str, bytes, list, dict, tuple))])",
    "referrers of the placeholder": "repr(gc.get_referrers(TOKEN))",
    "modules": "repr({name: vars(module) for name, module in list(sys.modules.items())})",
    "frames": "repr([frame.f_locals for frame in sys._current_frames().values()])",
    "the kernel's connections":
        "repr([vars(one) for one in __import__('planaria_kernel.network.sockets', fromlist=['x'])._open.values()])",
    "files": "''.join(repr(os.listdir(folder)) for folder in ('/', '/tmp', '/work', '/proc') if os.path.isdir(folder))",
    "the shell": "__import__('subprocess').run('env; set; export', shell=True, capture_output=True, text=True).stdout",
    "the history": "repr(globals())",
}  # fmt: skip


@pytest.mark.parametrize("attack", HIDING_PLACES.values(), ids=HIDING_PLACES.keys())
def test_hiding_place(attack: str, attacker: Any, secure_server: RecordingServer) -> None:
    """The value is nowhere in the sandbox, during and after a request that carried it."""
    secure_server.answer = lambda request: with_length(b"seen " + RAW)
    code = f"""
connection = http.client.HTTPSConnection("localhost", SECURE, timeout=20)
connection.request("GET", "/", headers={{"X": TOKEN}})
answer = connection.getresponse()
seen = answer.read()
try:
    found = {attack}
except OSError as error:
    found = repr(error)
"".join(["s3c", "r3t", "/Ab"]) in str(found), len(str(found))
"""
    session = attacker()
    result = session.run(code)
    assert result.error is None, result.error
    assert result.value[0] is False
    assert RAW in secure_server.requests[0]
    assert RAW not in bytes(session.snapshot_state())


FAILURES: dict[str, Callable[[], str]] = {}


def failing(function: Callable[[], str]) -> Callable[[], str]:
    FAILURES[function.__name__] = function
    return function


@failing
def error_with_the_value() -> str:
    raise RuntimeError(f"cannot renew {VALUE}")


@failing
def value_with_a_line_break() -> str:
    return VALUE + "\r\nX: y"


@failing
def value_with_a_space_at_the_end() -> str:
    return VALUE + " "


@failing
def value_that_is_bytes() -> Any:
    return RAW


@pytest.mark.parametrize("header", [None, "Authorization: Bearer {}"])
@pytest.mark.parametrize("function", FAILURES.values(), ids=FAILURES.keys())
def test_failing_value(
    function: Callable[[], str],
    header: str | None,
    attacker: Any,
    secure_server: RecordingServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A value that cannot be had or sent is an error without it, and nothing is sent."""
    caplog.set_level(logging.DEBUG)
    session = attacker(secret={"value": function, "header": header})
    result = session.run(
        "urllib.request.urlopen(urllib.request.Request(f'https://localhost:{SECURE}/', headers={'X': TOKEN}))"
    )
    assert result.error is not None
    assert VALUE not in str(result) + result.error.traceback + repr(result.requests) + caplog.text
    assert secure_server.requests == []


@pytest.mark.parametrize("added", [{"X": "a\nb " + PLACEHOLDER.decode()}, {"X\n": "b"}, {"X": 1}, {"ä": "x"}])
def test_headers_of_on_request(added: dict[str, Any], attacker: Any, secure_server: RecordingServer) -> None:
    """Headers from `on_request` that are not valid are an error without the value."""
    session = attacker(on_request=lambda request: {**dict(request.headers), **added})
    result = session.run("urllib.request.urlopen(f'https://localhost:{SECURE}/')")
    assert "headers" in result.error.message
    assert VALUE not in str(result) + result.error.traceback + repr(result.requests)
    assert secure_server.requests == []


def test_on_request_sees_no_value(attacker: Any, secure_server: RecordingServer) -> None:
    """`on_request` and the records of requests have the placeholder."""
    seen: list[str] = []
    session = attacker(on_request=lambda request: seen.append(repr(request) + repr(request.headers)))
    secure_server.closes = True
    result = session.run("ask()")
    assert PLACEHOLDER.decode() in seen[0]
    assert VALUE not in "".join(seen) + repr([vars_of(one) for one in result.requests])


def vars_of(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__slots__}


def test_other_state(attacker: Any, new_session: Any, secure_server: RecordingServer) -> None:
    """A session without the secret that restores a state with its placeholder sends the placeholder."""
    session = attacker()
    snapshot = session.snapshot_state()
    network = session._engine.settings.network
    other = new_session(network=Network(allow=network.allow, certificates=network.certificates))
    other.restore_state(snapshot)
    secure_server.closes = True
    other.execute("ask()")
    [request] = secure_server.requests
    assert PLACEHOLDER in request
    assert RAW not in request
