"""Libraries of the network that are in use elsewhere, unchanged in a session, against servers on localhost."""

from __future__ import annotations

import smtplib
import threading
import uuid
import xmlrpc.server
from pathlib import Path
from typing import Any

import pytest
from small_servers import MailHandler, WebSocketHandler, serving

from planaria import Network


@pytest.fixture
def web(new_session: Any, http_port: int) -> Any:
    """A function that creates a session which may reach the server of HTTP, whose URL is `base`."""

    def connect(**arguments: Any) -> Any:
        session = new_session(network=Network(allow=[f"http://localhost:{http_port}"]), **arguments)
        session.execute(f"base = 'http://localhost:{http_port}'")
        return session

    return connect


@pytest.mark.slow
@pytest.mark.exhaustive
def test_pandas(web: Any, value_of: Any) -> None:
    """pandas reads a table from a URL, also a compressed one."""
    code = """
import pandas
pandas.read_csv(base + "/bytes/10").columns.tolist(), pandas.read_csv(base + "/gzip").columns[0][:10]
"""
    assert value_of(web(), code) == (["x" * 10], "compressed")


def test_xmlrpc(new_session: Any, value_of: Any) -> None:
    """xmlrpc.client calls functions, several in one request, and raises the server's faults."""
    with xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False) as server:
        server.register_function(lambda one, other: one + other, "add")
        server.register_multicall_functions()
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            place = f"http://localhost:{server.server_address[1]}"
            code = f"""
import xmlrpc.client
with xmlrpc.client.ServerProxy("{place}") as proxy:
    several = xmlrpc.client.MultiCall(proxy)
    several.add(1, 2)
    several.add("a", "b")
    found = [proxy.add(1, 2), *several()]
    try:
        proxy.unknown()
    except xmlrpc.client.Fault as fault:
        found.append(fault.faultCode)
found
"""
            assert value_of(new_session(network=Network(allow=[place])), code) == [3, 3, "ab", 1]
        finally:
            server.shutdown()
            thread.join()


def test_smtplib(new_session: Any, value_of: Any) -> None:
    """smtplib sends a message over a `tcp://` rule."""
    handler = type("Handler", (MailHandler,), {"messages": []})
    with serving(handler) as port:
        session = new_session(network=Network(allow=[f"tcp://localhost:{port}"]))
        code = f"""
import email.message, smtplib
message = email.message.EmailMessage()
message["From"], message["To"], message["Subject"] = "a@mail.test", "b@mail.test", "Hello"
message.set_content("one\\n.\\ntwo\\n")
with smtplib.SMTP("localhost", {port}, timeout=120) as server:
    refused = server.send_message(message)
refused
"""
        assert value_of(session, code) == {}
    [message] = handler.messages  # type: ignore[attr-defined]
    assert b"Subject: Hello\r\n" in message
    assert message.endswith(smtplib.quotedata("\r\none\r\n.\r\ntwo\r\n").encode())  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_urllib3(web: Any, clients: str, value_of: Any) -> None:
    """urllib3 pools connections, opens closed ones again, retries, streams and has timeouts."""
    code = """
import urllib3
pool = urllib3.connectionpool.connection_from_url(base)
found = [pool.request("GET", path).data[:10] for path in ("/chunked", "/gzip", "/close-after", "/until-close")]
found.append((pool.num_connections, pool.num_requests))
http = urllib3.PoolManager()
found.append(http.request("GET", base + "/redirect?to=/echo").geturl())
retries = urllib3.Retry(2, backoff_factor=0, status_forcelist=[503])
for path, named in (("/status/503", {"retries": retries}), ("/never", {"retries": False, "timeout": 0.2})):
    try:
        http.request("GET", base + path, **named)
    except urllib3.exceptions.HTTPError as error:
        found.append(type(error).__name__)
answer = http.request("GET", base + "/bytes/300000", preload_content=False)
found.append(sum(map(len, answer.stream(1 << 16))))
answer.release_conn()
found
"""
    assert value_of(web(image=clients), code) == [
        *(b"one two th", b"compressed", b"then close", b"to the end"),
        (1, 4),
        "/echo",
        *("MaxRetryError", "ReadTimeoutError"),
        300_000,
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_aiohttp(web: Any, clients: str, value_of: Any) -> None:
    """aiohttp reads every framing, sends bodies, makes requests at the same time and has timeouts."""
    code = """
import aiohttp, asyncio
async def size(client, path, **options):
    async with client.get(base + path, **options) as answer:
        return len(await answer.read())
async with aiohttp.ClientSession() as client:
    paths = ("/chunked", "/gzip", "/close-after", "/until-close", "/bytes/300000")
    found = [await size(client, path) for path in paths]
    async with client.post(base + "/body", data=b"x" * 500_000) as answer:
        found.append(len(await answer.read()))
    found.append(await asyncio.gather(*(size(client, f"/bytes/{n}") for n in range(20))))
    for url, options in (("/never", {"timeout": aiohttp.ClientTimeout(total=0.2)}), ("@evil.test", {})):
        try:
            await size(client, url, **options)
        except (TimeoutError, aiohttp.ClientConnectorError) as error:
            found.append(type(error).__name__)
found
"""
    sizes = [13, 1100, 11, 10, 300_000, 500_000]
    expected = [*sizes, list(range(20)), "TimeoutError", "ClientConnectorError"]
    assert value_of(web(image=clients), code) == expected


@pytest.mark.slow
@pytest.mark.exhaustive
def test_httpx2(web: Any, clients: str, value_of: Any) -> None:
    """httpx2 works with and without await, and streams."""
    code = """
import httpx2
with httpx2.Client() as client:
    found = [client.get(base + path).text[:10] for path in ("/chunked", "/gzip", "/close-after", "/until-close")]
async with httpx2.AsyncClient() as client:
    found.append((await client.post(base + "/body", json=[1])).json())
    async with client.stream("GET", base + "/bytes/100000") as answer:
        found.append(sum([len(part) async for part in answer.aiter_bytes()]))
found
"""
    expected = ["one two th", "compressed", "then close", "to the end", [1], 100_000]
    assert value_of(web(image=clients), code) == expected


@pytest.mark.slow
@pytest.mark.exhaustive
def test_redis(new_session: Any, clients: str, redis_url: str, value_of: Any) -> None:
    """redis-py keeps values, runs pipelines and subscribes over a `tcp://` rule, with and without await."""
    place = redis_url.removeprefix("redis://").partition("/")[0]
    session = new_session(network=Network(allow=[f"tcp://{place}"]), image=clients)
    names = f"network-{uuid.uuid4().hex}"
    code = f"""
import redis, redis.asyncio
with redis.Redis.from_url("{redis_url}", socket_keepalive=True) as client:
    client.set("{names}", b"x" * 500_000)
    pipeline = client.pipeline()
    pipeline.strlen("{names}").delete("{names}").get("{names}")
    found = [len(client.get("{names}")), pipeline.execute()]
    channel = client.pubsub()
    channel.subscribe("{names}")
    client.publish("{names}", "a")
    found += [channel.get_message(timeout=120)["data"] for _ in range(2)] + [channel.get_message(timeout=0.1)]
    channel.close()
async with redis.asyncio.from_url("{redis_url}") as client:
    await client.set("{names}", 1)
    async with client.pipeline() as pipeline:
        pipeline.incr("{names}").delete("{names}")
        found.append(await pipeline.execute())
found
"""
    assert value_of(session, code) == [500_000, [500_000, 1, None], 1, b"a", None, [2, 1]]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_certificates_of_libraries(
    new_session: Any, clients: str, https_port: int, certificates: Path, value_of: Any
) -> None:
    """certifi and truststore find what they look for; which servers are trusted is up to the host."""
    network = Network(allow=[f"https://localhost:{https_port}"], certificates=certificates)
    session = new_session(network=network, image=clients)
    code = f"""
import certifi, httpx2, os, ssl, truststore, urllib.request
url, found = "https://localhost:{https_port}/status/201", [os.path.getsize(certifi.where()) > 100_000]
plain = ssl.create_default_context(cafile=certifi.where())
found.append(urllib.request.urlopen(url, context=plain).status)
system = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
found.append(httpx2.get(url, verify=system).status_code)
async with httpx2.AsyncClient(verify=system) as client:
    found.append((await client.get(url)).status_code)
truststore.inject_into_ssl()
found.append(urllib.request.urlopen(url, context=ssl.create_default_context()).status)
truststore.extract_from_ssl()
found
"""
    assert value_of(session, code) == [True, 201, 201, 201, 201]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_websockets(new_session: Any, clients: str, value_of: Any) -> None:
    """The clients of WebSockets of websockets and of aiohttp send and receive, the synchronous one too."""
    with serving(WebSocketHandler) as port:
        session = new_session(network=Network(allow=[f"ws://localhost:{port}"]), image=clients)
        code = f"""
import aiohttp, websockets.asyncio.client
url, found = "ws://localhost:{port}/", []
async with websockets.asyncio.client.connect(url) as connection:
    for text in ("a", "é" * 30):
        await connection.send(text)
        found.append(await connection.recv())
async with aiohttp.ClientSession() as client, client.ws_connect(url) as connection:
    await connection.send_str("b")
    found.append(await connection.receive_str())
found
"""
        assert value_of(session, code) == ["a", "é" * 30, "b"]
        code = """
import contextlib, websockets.sync.client
stack = contextlib.ExitStack()
one, other = (stack.enter_context(websockets.sync.client.connect(url)) for _ in range(2))
for number in range(30):
    one.send(str(number))
other.send("other")
found = [other.recv(), *(one.recv() for _ in range(30))]
try:
    one.recv(timeout=0.1)
except TimeoutError:
    found.append("nothing")
one.close()
try:
    one.recv()
except websockets.ConnectionClosedOK as error:
    found.append(error.rcvd.code)
found
"""
        assert value_of(session, code) == ["other", *map(str, range(30)), "nothing", 1000]
        assert value_of(session, "other.send('later'); got = other.recv(); stack.close(); got") == "later"
