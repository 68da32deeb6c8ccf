"""The network of sessions in processes and containers, which have sockets of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria import Network, NetworkRequest, Secret, Session, SubprocessConfig, SubprocessExecutor

pytestmark = pytest.mark.slow

VALUE = "ghp_0123456789abcdef"
SETUP = """
import http.client, json, os, subprocess, urllib.error, urllib.request

def get(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20)

def error(url, **options):
    try:
        urllib.request.urlopen(urllib.request.Request(url, **options), timeout=20)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
"""


@pytest.fixture(scope="module")
def new_executor(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], SubprocessExecutor]:
    """Makes executors that share an environment, which takes seconds to create."""
    config = SubprocessConfig(venv_path=tmp_path_factory.mktemp("environment") / "venv")
    return lambda: SubprocessExecutor(config)


@pytest.fixture(scope="module")
def connected(
    new_executor: Callable[[], SubprocessExecutor], http_port: int, https_port: int, certificates: Path
) -> Iterator[Callable[..., Session]]:
    """Makes sessions in a process that may reach the two servers."""
    sessions = []

    def connect(**options: Any) -> Session:
        given = {"allow": [f"localhost:{http_port}", f"localhost:{https_port}"], "certificates": certificates}
        session = Session(executor=new_executor(), network=Network(**{**given, **options}))
        sessions.append(session)
        session.execute(SETUP)
        session.execute(f"plain, secure = 'http://localhost:{http_port}', 'https://localhost:{https_port}'")
        return session

    yield connect
    for session in sessions:
        session.close()


@pytest.fixture(scope="module")
def session(connected: Callable[..., Session], https_port: int) -> Session:
    """One with a secret, for tests that leave nothing behind."""
    return connected(secrets=[Secret("TOKEN", VALUE, hosts=[f"localhost:{https_port}"])])


def test_urllib(session: Session, http_port: int) -> None:
    """urllib reaches an allowed server with TLS and without, and the result has its requests."""
    result = session.run("[get(place + '/bytes/70000').read() == b'x' * 70000 for place in (plain, secure)]")
    assert result.error is None, result.error
    assert result.value == [True, True]
    assert [(one.method, one.status, one.bytes_received) for one in result.requests] == [
        ("GET", 200, 70000)
    ] * 2
    assert result.requests[0].url == f"http://localhost:{http_port}/bytes/70000"


def test_refusals(connected: Callable[..., Session], http_port: int, https_port: int) -> None:
    """A request that no rule allows is an error of the library which says why, and is recorded."""
    session = connected(
        allow=[f"GET http://localhost:{http_port}/open/", f"GET https://localhost:{https_port}/open/"]
    )
    result = session.run("""[
        error("https://evil.test"), error("http://evil.test/x"),
        error(secure + "/closed"), error(plain + "/closed"), error(secure + "/open/x", method="DELETE"),
        get(secure + "/open/x").status, get(plain + "/open/x").status,
    ]""")
    assert result.error is None, result.error
    rules = f"localhost:{http_port}/open/ (GET), localhost:{https_port}/open/ (GET)"
    assert result.value == [
        f"URLError: <urlopen error Tunnel connection failed: 403 evil.test is not allowed; allowed are {rules}>",
        f"HTTPError: HTTP Error 403: evil.test is not allowed; allowed are {rules}",
        f"HTTPError: HTTP Error 403: GET https://localhost:{https_port}/closed is not allowed; allowed are {rules}",
        f"HTTPError: HTTP Error 403: GET http://localhost:{http_port}/closed is not allowed; allowed are {rules}",
        f"HTTPError: HTTP Error 403: DELETE https://localhost:{https_port}/open/x is not allowed; allowed are {rules}",
        200,
        200,
    ]  # fmt: skip
    assert [one.allowed for one in result.requests] == [False] * 5 + [True] * 2
    assert all(one.reason for one in result.requests[:5])


def test_secret(session: Session) -> None:
    """The code has a placeholder; the server gets the value, which its answer is cleaned of."""
    result = session.run("""
token = os.environ["TOKEN"]
token, json.load(get(secure + "/echo?key=" + token, Authorization="Bearer " + token)), json.load(get(plain + "/echo", X=token))
""")
    assert result.error is None, result.error
    token, reported, elsewhere = result.value
    assert token == "planaria-secret-TOKEN-placeholder"
    assert reported["headers"]["authorization"] == "Bearer " + "*" * len(VALUE)
    assert reported["target"] == "/echo?key=" + "*" * len(VALUE)
    assert elsewhere["headers"]["x"] == token
    assert "proxy-authorization" not in reported["headers"] | elsewhere["headers"]
    assert VALUE not in str(result)
    assert VALUE not in session.execute("str(os.environ) + open('/proc/self/environ').read()").value


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_other_programs(session: Session) -> None:
    """A program that the code starts is held to the rules too, and trusts the proxy."""
    session.execute("""
def curl(*arguments):
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True)
    return done.stdout, done.stderr, done.returncode
""")
    result = session.run(
        "[curl(secure + '/gzip', '--compressed'), curl('-I', plain + '/status/404'), curl('https://evil.test')]"
    )
    (compressed, _, _), (missing, _, _), (_, refused, status) = result.value
    assert compressed == "compressed " * 100
    assert missing.startswith("HTTP/1.1 404")
    assert status == 56
    assert "response 403" in refused
    assert [one.status for one in result.requests] == [200, 404, None]


def test_requests(session: Session, connected: Callable[..., Session]) -> None:
    """requests keeps a connection, streams, follows redirects and posts."""
    import requests

    session.execute(
        f"import sys; sys.path.append({str(Path(requests.__file__).parents[1])!r}); import requests"
    )
    result = session.run("""
with requests.Session() as kept:
    codes = [kept.get(secure + "/chunked").text for _ in range(3)]
    codes.append(kept.get(plain + "/redirect?to=" + secure + "/status/201").status_code)
    codes.append(kept.post(secure + "/body", data=b"x" * 300_000).content == b"x" * 300_000)
    with kept.get(secure + "/bytes/500000", stream=True) as answer:
        codes.append(sum(map(len, answer.iter_content(10_000))))
    pools = [pool for manager in kept.get_adapter("https://").proxy_manager.values() for pool in manager.pools._container.values()]
    codes.append(sum(pool.num_connections for pool in pools))
codes
""")
    assert result.error is None, result.error
    assert result.value[:6] == ["one two three"] * 3 + [201, True, 500_000]
    assert result.value[6] == 1, "the connection to the server of HTTPS was kept"
    refused = session.run("requests.get('https://evil.test')").error
    assert refused.type == "ProxyError"
    assert "evil.test is not allowed" in refused.message


def test_redirect_to_another_host(connected: Callable[..., Session], http_port: int, https_port: int) -> None:
    """A redirect is a request of its own, which the rules refuse."""
    session = connected(allow=[f"https://localhost:{https_port}"])
    result = session.run(f"error(secure + '/redirect?to=http://localhost:{http_port}/echo')")
    assert "is not allowed" in result.value
    assert [one.allowed for one in result.requests] == [True, False]


def test_server_that_is_not_verified(connected: Callable[..., Session], https_port: int) -> None:
    """A server whose certificate is not trusted is reached by no one, and the answer says why."""
    session = connected(certificates=None)
    result = session.run("error(secure + '/echo')")
    assert result.value.startswith("HTTPError: HTTP Error 502: unable to get local issuer certificate")


def test_server_that_breaks_off(session: Session) -> None:
    """A server that closes the connection without an answer is a 502; one that does so in the middle of it is
    an error of the library.
    """
    assert session.execute("error(secure + '/nothing')").value == (
        "HTTPError: HTTP Error 502: localhost closed the connection without an answer"
    )
    assert "93 more expected" in str(session.run("get(secure + '/half').read()").error)


def test_other_protocols(connected: Callable[..., Session], http_port: int) -> None:
    """With a rule for tcp:// a tunnel passes on any bytes; what is not HTTP is refused without one."""
    code = f"""
import socket
from urllib.parse import urlsplit
import base64
proxy = urlsplit(os.environ["https_proxy"])
def talk(data, password=proxy.password):
    with socket.create_connection((proxy.hostname, proxy.port), timeout=20) as connection:
        credentials = base64.b64encode(f"planaria:{{password}}".encode()).decode()
        head = f"CONNECT localhost:{http_port} HTTP/1.1\\r\\nHost: x\\r\\nProxy-Authorization: Basic {{credentials}}\\r\\n\\r\\n"
        connection.sendall(head.encode())
        status = connection.recv(1000).partition(b"\\r\\n")[0]
        if not status.startswith(b"HTTP/1.1 200"):
            return status, b""
        connection.sendall(data)
        return status, connection.recv(1000)[:15]
"""
    raw = connected(allow=[f"tcp://localhost:{http_port}"])
    raw.execute(code)
    status, answer = raw.execute("talk(b'GET /echo HTTP/1.0\\r\\n\\r\\n')").value
    assert status.startswith(b"HTTP/1.1 200")
    assert answer == b"HTTP/1.1 200 OK"
    checked = connected()
    checked.execute(code)
    assert checked.execute("talk(b'EHLO me\\r\\n\\r\\n')").value[1] == b"HTTP/1.1 403 th"
    assert checked.execute("talk(b'', 'guessed')").value[0] == b"HTTP/1.1 407 Proxy Authentication Required"


@pytest.mark.parametrize(
    "target", ["/echo", "ftp://localhost/", "http://localhost@evil.test/", "http://:80/"]
)
def test_what_a_proxy_does_not_serve(session: Session, target: str) -> None:
    """A request whose target is not a URL of HTTP is answered by 400."""
    code = f"""
import socket
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["http_proxy"])
with socket.create_connection((proxy.hostname, proxy.port), timeout=20) as connection:
    connection.sendall(b"GET {target} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    answer = connection.recv(1000)
answer
"""
    result = session.run(code)
    assert result.value.startswith(b"HTTP/1.1 400 "), result
    assert result.requests == []


def test_limits(connected: Callable[..., Session]) -> None:
    """The limits of a policy hold for one execution, and an answer says which was reached."""
    session = connected(max_requests=2)
    assert (
        "the limit max_requests=2" in session.execute("[error(secure + '/echo') for _ in range(3)][2]").value
    )
    assert session.execute("error(secure + '/echo')").value is None


def test_server_that_says_nothing(connected: Callable[..., Session]) -> None:
    """A server that does not answer within `timeout` is a 504; a connection that is idle for longer is kept."""
    session = connected(timeout=0.5)
    assert "504: localhost sent nothing for 0.5 s" in session.execute("error(secure + '/never')").value
    result = session.run("""
import time
from urllib.parse import urlsplit
import base64
proxy = urlsplit(os.environ["https_proxy"])
host, _, port = secure.removeprefix("https://").partition(":")
kept = http.client.HTTPSConnection(proxy.hostname, proxy.port)
credentials = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
kept.set_tunnel(host, int(port), {"Proxy-Authorization": f"Basic {credentials}"})
def ask():
    kept.request("GET", "/status/201")
    answer = kept.getresponse()
    answer.read()
    return answer.status, kept.sock.getsockname()
first = ask()
time.sleep(1.2)
first == ask(), first[0]
""")
    assert result.error is None, result.error
    assert result.value == (True, 201)


def test_on_request(connected: Callable[..., Session]) -> None:
    """`on_request` decides as in the sandbox; a program that waits cannot be suspended, which is a refusal."""

    async def decide(request: NetworkRequest) -> Any:
        if request.url.endswith("/wait"):
            raise planaria.Suspend("ask first")
        return "never on Sundays" if request.method == "DELETE" else None

    session = connected(on_request=decide)
    assert session.execute("error(secure + '/echo')").value is None
    assert "403: never on Sundays" in session.execute("error(secure + '/echo', method='DELETE')").value
    assert "403: ask first: only in the sandbox" in session.execute("error(secure + '/wait')").value


def test_async_session(new_executor: Callable[[], SubprocessExecutor], http_port: int) -> None:
    """An asynchronous `on_request` runs on the loop of an AsyncSession."""
    import asyncio

    loops = []

    async def decide(request: NetworkRequest) -> None:
        loops.append(asyncio.get_running_loop())

    async def main() -> Any:
        network = Network(allow=[f"localhost:{http_port}"], on_request=decide)
        async with planaria.AsyncSession(executor=new_executor(), network=network) as session:
            result = await session.run(
                f"import urllib.request; urllib.request.urlopen('http://localhost:{http_port}/status/200').status"
            )
            return result, asyncio.get_running_loop()

    result, loop = asyncio.run(main())
    assert result.value == 200, result.error
    assert loops == [loop]


def test_reset_and_close(new_executor: Callable[[], SubprocessExecutor], http_port: int) -> None:
    """After `reset` the network is as before; closing the session ends the proxy and removes its files."""
    with Session(executor=new_executor(), network=Network(allow=[f"localhost:{http_port}"])) as session:
        code = (
            f"import os, urllib.request; urllib.request.urlopen('http://localhost:{http_port}/echo').status"
        )
        assert session.execute(code).value == 200
        session.reset()
        assert session.execute(code).value == 200
        file = Path(session.execute("os.environ['SSL_CERT_FILE']").value)
        assert file.exists()
    assert not file.parent.parent.exists()
