"""Attacks on the framing of HTTP: each tries to have the server see another request than the host checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from recording_server import OK, RecordingServer

import planaria
from planaria import Network

PREPARE = r"""
import http.client, socket, urllib.request
def send(*parts):
    with socket.create_connection(("localhost", PORT), timeout=5) as connection:
        for part in parts:
            connection.sendall(part.replace(b"HOST", b"Host: localhost:%d" % PORT))
        return connection.recv(1000)
def post(head, body=b""):
    return send(b"POST /open/ HTTP/1.1\r\nHOST\r\n" + head + b"\r\n\r\n" + body)
def request(*arguments, **options):
    connection = http.client.HTTPConnection("localhost", PORT, timeout=5)
    connection._validate_method = connection._validate_path = lambda text: None
    connection._is_textIO = lambda body: False
    http.client._is_illegal_header_value = http.client._is_legal_header_name = lambda text: None
    http.client._is_legal_header_name = lambda text: True
    connection.request(*arguments, **options)
    return connection.getresponse().read()
HIDDEN = b"GET /closed HTTP/1.1\r\nHOST\r\n\r\n"
"""

#: Each is refused: the server gets nothing.
REFUSED = {
    "both lengths": r"post(b'Content-Length: 4\r\nTransfer-Encoding: chunked', b'0\r\n\r\n' + HIDDEN)",
    "both lengths, the other first": r"post(b'Transfer-Encoding: chunked\r\nContent-Length: 4', b'0\r\n\r\n')",
    "both lengths, hidden by Connection":
        r"post(b'Connection: content-length\r\nContent-Length: 4\r\nTransfer-Encoding: chunked', b'0\r\n\r\n')",
    "two lengths": r"post(b'Content-Length: 0\r\nContent-Length: 40', HIDDEN)",
    "two lengths in one": r"post(b'Content-Length: 0, 40', HIDDEN)",
    "a signed length": "post(b'Content-Length: +4', b'abcd')",
    "a negative length": "post(b'Content-Length: -1', HIDDEN)",
    "a length in hexadecimal": "post(b'Content-Length: 0x4', b'abcd')",
    "a length with a fraction": "post(b'Content-Length: 4.0', b'abcd')",
    "a length with an exponent": "post(b'Content-Length: 1e1', b'abcd')",
    "a length with an underscore": "post(b'Content-Length: 1_0', b'abcd')",
    "a length with foreign digits": r"post(b'Content-Length: \xb2', b'abcd')",
    "a length of thirty digits": "post(b'Content-Length: ' + b'9' * 30, b'abcd')",
    "an empty length": "post(b'Content-Length: ', HIDDEN)",
    "a length of letters": "post(b'Content-Length: abc', HIDDEN)",
    "a coding after chunked": "post(b'Transfer-Encoding: chunked, identity', HIDDEN)",
    "a coding before chunked": "post(b'Transfer-Encoding: gzip, chunked', HIDDEN)",
    "an unknown coding": "post(b'Transfer-Encoding: xchunked', HIDDEN)",
    "an empty coding": "post(b'Transfer-Encoding: ', HIDDEN)",
    "a quoted coding": "post(b'Transfer-Encoding: \"chunked\"', HIDDEN)",
    "a coding with parameters": "post(b'Transfer-Encoding: chunked;a=b', HIDDEN)",
    "two codings": r"post(b'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', HIDDEN)",
    "chunked twice": r"post(b'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', HIDDEN)",
    "a coding after a vertical tab": r"post(b'Transfer-Encoding: \x0bchunked', HIDDEN)",
    "a coding with a null character": r"post(b'Transfer-Encoding: chunked\0', HIDDEN)",
    "a length in a name with an underscore": "post(b'Content_Length: 40', HIDDEN)",
    "a coding in a name with an underscore": "post(b'Transfer_Encoding: chunked', HIDDEN)",
    "a coding in a name with a space": "post(b'Transfer-Encoding : chunked', HIDDEN)",
    "a length in a name with a space": "post(b'Content-Length : 40', HIDDEN)",
    "a name that begins with a space": "send(b'GET /open/ HTTP/1.1\\r\\n HOST\\r\\nX: y\\r\\n\\r\\n')",
    "a name with a tab": r"post(b'X\tY: z')",
    "a name with a line feed": r"post(b'X\nGET /closed HTTP/1.1: z')",
    "a name with a null character": r"post(b'X\0Y: z')",
    "a name with a colon at its start": "post(b':authority: evil.test')",
    "an empty name": "post(b': value')",
    "a name with a foreign letter": r"post(b'Content-L\xebngth: 4')",
    "a header without a colon": "post(b'Content-Length 4')",
    "a value with a carriage return": r"post(b'X: a\rGET /closed HTTP/1.1')",
    "a value with a null character": r"post(b'X: a\0b')",
    "a value with a bell": r"post(b'X: a\x07b')",
    "a target with a null character": r"send(b'GET /open/\0 HTTP/1.1\r\nHOST\r\n\r\n')",
    "a target with a space": r"send(b'GET /open/ /closed HTTP/1.1\r\nHOST\r\n\r\n')",
    "a target with a tab": "send(b'GET /open/\\t/closed HTTP/1.1\\r\\nHOST\\r\\n\\r\\n')",
    "a target with a carriage return": r"send(b'GET /open/\r/closed HTTP/1.1\r\nHOST\r\n\r\n')",
    "a target with foreign letters": r"send('GET /open/\u0120 HTTP/1.1\r\nHOST\r\n\r\n'.encode())",
    "a method with a space": r"send(b'GET GET /open/ HTTP/1.1\r\nHOST\r\n\r\n')",
    "a method with a line feed": r"send(b'GET\n/open/ HTTP/1.1\r\nHOST\r\n\r\n')",
    "a method with a null character": r"send(b'GET\0 /open/ HTTP/1.1\r\nHOST\r\n\r\n')",
    "a space before the method": r"send(b' GET /open/ HTTP/1.1\r\nHOST\r\n\r\n')",
    "a version with a space": r"send(b'GET /open/ HTTP/1.1 \r\nHOST\r\n\r\n')",
    "a version of two digits": r"send(b'GET /open/ HTTP/1.10\r\nHOST\r\n\r\n')",
    "an unknown version": r"send(b'GET /open/ HTTP/3.0\r\nHOST\r\n\r\n')",
    "another protocol in the version": r"send(b'GET /open/ ICY/1.1\r\nHOST\r\n\r\n')",
    "no version": r"send(b'GET /open/\r\nHOST\r\n\r\n')",
    "a head of a megabyte": "post(b'X: ' + b'y' * (1 << 20))",
    "a target of a megabyte": "send(b'GET /open/' + b'y' * (1 << 20))",
    "a hundred thousand headers": r"post(b'X: y\r\n' * 100_000)",
    "a head that does not end": "send(b'GET /open/ HTTP/1.1\\r\\n' + b'X: y\\r\\n' * 100_000)",
    "injection by http.client's path":
        r"request('GET', '/open/ HTTP/1.1\r\nX: y\r\n\r\nGET /closed')",
    "injection by http.client's method": r"request('GET /closed HTTP/1.1\r\nX: ', '/open/')",
    "injection by urllib's URL":
        r"urllib.request.urlopen(f'http://localhost:{PORT}/open/\r\nX: y\r\n', timeout=5)",
    "an empty line before the request": r"send(b'\r\nGET /open/ HTTP/1.1\r\nHOST\r\n\r\n')",
    "TLS after half a request": r"send(b'GET /open/ HTTP/1.1\r\n', b'\x16planaria\0\0', b'HOST\r\n\r\n')",
}  # fmt: skip

#: Each is one request, of which the server gets the plain form; what follows it is refused.
REWRITTEN = {
    "a request in one packet with the next": r"send(b'GET /open/ HTTP/1.1\r\nHOST\r\n\r\n' + HIDDEN)",
    "injection by a header's name":
        r"request('GET', '/open/', headers={'X: y\r\n\r\nGET /closed HTTP/1.1\r\nZ': 'z'})",
    "injection by a header's value":
        r"request('GET', '/open/', headers={'X': 'y\r\n\r\nGET /closed HTTP/1.1\r\n\r\n'})",
    "a request after a body": r"post(b'Content-Length: 4', b'abcd' + HIDDEN)",
    "a request after chunks": r"post(b'Transfer-Encoding: chunked', b'2\r\nab\r\n0\r\n\r\n' + HIDDEN)",
    "a request as body": r"post(b'Content-Length: %d' % len(HIDDEN), HIDDEN)",
    "a request as trailer":
        r"post(b'Transfer-Encoding: chunked', b'0\r\nX: y\r\nContent-Length: 40\r\n\r\n' + HIDDEN)",
    "the same length twice": r"post(b'Content-Length: 4\r\nContent-Length: 4', b'abcd')",
    "a folded header": r"post(b'X: a\r\n GET /closed HTTP/1.1\r\nContent-Length: 0')",
    "a folded length": "post(b'Content-Length:\\r\\n 4', b'abcd')",
    "a folded coding": "post(b'Transfer-Encoding:\\r\\n\\tchunked', b'2\\r\\nab\\r\\n0\\r\\n\\r\\n')",
    "a coding in capitals": r"post(b'Transfer-Encoding: CHUNKED', b'2\r\nab\r\n0\r\n\r\n')",
    "an extension of a chunk": r"post(b'Transfer-Encoding: chunked', b'2;a=\"b\"\r\nab\r\n0\r\n\r\n')",
    "lines that end with line feeds alone": r"send(b'GET /open/ HTTP/1.1\nHOST\n\n' + HIDDEN)",
    "a length that Connection names": r"post(b'Connection: content-length\r\nContent-Length: 4', b'abcd')",
    "a header that Connection names": r"post(b'Connection: x\r\nX: y\r\nContent-Length: 0')",
    "a coding that TE names": r"post(b'TE: chunked, trailers\r\nContent-Length: 0')",
    "single bytes": "send(*(b'GET /open/ HTTP/1.1\\r\\nHost: localhost:%d\\r\\n\\r\\n' % PORT)[0:0] or"
        " [bytes([one]) for one in b'GET /open/ HTTP/1.1\\r\\nHost: localhost:%d\\r\\n\\r\\n' % PORT])",
}  # fmt: skip

#: Bad bodies: the head may have been passed on, the rest is not.
BROKEN_BODIES = {
    "a size in octal notation": r"b'0o4\r\nabcd\r\n0\r\n\r\n'",
    "a size with a sign": r"b'+4\r\nabcd\r\n0\r\n\r\n'",
    "a size with a prefix": r"b'0x4\r\nabcd\r\n0\r\n\r\n'",
    "a size of thirty digits": r"b'1' * 30 + b'\r\n' + HIDDEN",
    "an empty size": r"b'\r\nabcd\r\n0\r\n\r\n'",
    "a negative size": r"b'-1\r\n' + HIDDEN",
    "a chunk longer than its size": r"b'2\r\nabcd\r\n0\r\n\r\n' + HIDDEN",
    "a chunk that ends with a line feed": "b'2\\r\\nab\\n0\\r\\n\\r\\n' + HIDDEN",
    "a null character in a size": r"b'2\0\r\nab\r\n0\r\n\r\n'",
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared(running_server: RecordingServer) -> Iterator[planaria.Session]:
    place = f"http://localhost:{running_server.port}/open/"
    with planaria.Session(network=Network(allow=[f"GET,POST {place}"], timeout=5)) as session:
        session.execute(f"{PREPARE}\nPORT = {running_server.port}")
        yield session


def attacked(prepared: planaria.Session, attack: str) -> Any:
    [copy] = prepared.fork()
    with copy as session:
        return session.run(attack)


def assert_plain(request: bytes) -> None:
    """One request in its plain form, and nothing after it."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    assert re.fullmatch(rb"(GET|POST) /open/ HTTP/1\.1", first)
    headers = {}
    for line in lines:
        found = re.fullmatch(rb"([A-Za-z-]+): ([ -~]*)", line)
        assert found is not None, line
        assert found[1].lower() not in headers, line
        headers[found[1].lower()] = found[2]
    if b"transfer-encoding" in headers:
        assert headers[b"transfer-encoding"] == b"chunked"
        assert b"content-length" not in headers
        assert re.fullmatch(rb"([0-9a-f]+\r\n[ -~]*\r\n)*0\r\n\r\n", body)
    else:
        assert len(body) == int(headers.get(b"content-length", b"0"))


@pytest.mark.parametrize("attack", REFUSED.values(), ids=REFUSED.keys())
def test_refused(attack: str, prepared: planaria.Session, server: RecordingServer) -> None:
    """A request that could be read in two ways is refused as a whole."""
    result = attacked(prepared, attack)
    server.settle()
    assert result.error is not None, result.value
    assert server.requests == []
    assert not any(request.allowed for request in result.requests)


@pytest.mark.parametrize("attack", REWRITTEN.values(), ids=REWRITTEN.keys())
def test_rewritten(attack: str, prepared: planaria.Session, server: RecordingServer) -> None:
    """A server gets each request as the host wrote it, in plain form, and one at a time."""
    attacked(prepared, attack)
    server.settle()
    [request] = server.requests
    assert_plain(request)


@pytest.mark.parametrize("body", BROKEN_BODIES.values(), ids=BROKEN_BODIES.keys())
def test_broken_body(body: str, prepared: planaria.Session, server: RecordingServer) -> None:
    """A body whose chunks are not valid ends the connection; nothing of it is a request."""
    result = attacked(prepared, f"post(b'Transfer-Encoding: chunked', {body})")
    server.settle()
    assert result.error is not None, result.value
    for request in server.requests:
        assert b"GET /closed" not in request


#: Answers that could be read in two ways, or that no client expects.
ANSWERS = {
    "both lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok",
    "an unknown coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\nok",
    "a chunk without a size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
    "a null character in a header": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
    "a carriage return in a header": b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nX\r\nContent-Length: 2\r\n\r\nok",
    "a space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    "no HTTP": b"220 mail.test ESMTP ready\r\n\r\n",
    "an unknown version": b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "a status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok",
    "a switch of protocols that was not asked for": b"HTTP/1.1 101 Switching\r\nUpgrade: evil\r\n\r\n" + OK,
    "a header of a megabyte": b"HTTP/1.1 200 OK\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_answer(answer: bytes, prepared: planaria.Session, server: RecordingServer) -> None:
    """An answer that could be read in two ways is an error of the library, or read in the one right way."""
    server.answer = lambda request: [answer]
    result = attacked(prepared, "urllib.request.urlopen(f'http://localhost:{PORT}/open/', timeout=5).read()")
    if result.error is None:
        assert result.value == b"ok"
    else:
        assert result.error.type in (
            "URLError",
            "ConnectionResetError",
            "BadStatusLine",
            "RemoteDisconnected",
        )


def test_answer_after_the_answer(prepared: planaria.Session, server: RecordingServer) -> None:
    """What a server sends after its answer is not the answer to the next request."""
    server.answer = lambda request: [
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil" if len(server.requests) == 1 else OK
    ]
    code = """
connection = http.client.HTTPConnection("localhost", PORT, timeout=5)
answers = []
for _ in range(3):
    connection.request("GET", "/open/")
    answers.append(connection.getresponse().read())
answers
"""
    assert attacked(prepared, code).value == [b"ok"] * 3
