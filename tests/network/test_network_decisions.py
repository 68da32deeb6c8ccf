"""Awaited requests, those that a function of the host decides on, and sessions that wait."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planaria
from planaria import NetworkRequest, Secret

pytestmark = pytest.mark.slow

VALUE = "s3cr3t-value-9"


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


@pytest.mark.parametrize("is_asynchronous", [False, True], ids=["plain", "asynchronous"])
def test_on_request_fails(connected: Any, caplog: pytest.LogCaptureFixture, *, is_asynchronous: bool) -> None:
    """When `on_request` raises, the request is refused; the message is for the host alone, without secrets."""

    def decide(request: NetworkRequest) -> Any:
        raise KeyError("postgresql://admin:hunter2@host.example", VALUE)

    async def decide_later(request: NetworkRequest) -> Any:
        return decide(request)

    chosen = decide_later if is_asynchronous else decide
    token = Secret("TOKEN", VALUE, hosts=["localhost"])
    result = connected(on_request=chosen, secrets=[token]).run("get(f'{plain}/echo')")
    assert result.error.type == "PermissionError"
    assert "the function that decides on it failed" in result.error.message
    assert "hunter2" not in result.error.traceback
    assert "KeyError" not in result.error.traceback
    [request] = result.requests
    assert not request.allowed
    assert "KeyError: ('postgresql://admin:hunter2@host.example'" in request.reason
    [record] = [one for one in caplog.records if one.levelname == "ERROR"]
    assert "raise KeyError(" in record.getMessage()
    assert VALUE not in request.reason + record.getMessage()


@pytest.mark.parametrize("decision", [0, 1, [], object()])
def test_on_request_returns_something_else(connected: Any, decision: object) -> None:
    """A request is refused when `on_request` returns what is not a decision, such as numpy's False."""
    result = connected(on_request=lambda request: decision).run("get(f'{plain}/echo')")
    assert "the function that decides on it failed" in result.error.message
    assert f"TypeError: it returned {decision!r}" in result.requests[0].reason


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


WITHIN_A_FUNCTION = f"""{AWAITED}
def work():
    async def main():
        never = asyncio.create_task(fetch("/never"))
        answers = await asyncio.gather(*(fetch(f"/bytes/{{n}}") for n in range(5)))
        finished, _ = await asyncio.wait([never], timeout=0.05)
        never.cancel()
        return [len(one.partition(b"\\r\\n\\r\\n")[2]) for one in answers], len(finished)
    return asyncio.run(main())
"""


def test_asyncio_within_a_function(connected: Any) -> None:
    """`asyncio.run` deep inside a plain function waits for several connections and timers at once, as it does in a script."""
    session = connected()
    session.execute(WITHIN_A_FUNCTION)
    assert session.execute("work()").value == ([0, 1, 2, 3, 4], 0)
    session.execute(
        "with open('script.py', 'w') as file:\n"
        f"    file.write({WITHIN_A_FUNCTION!r} + f'secure = {{secure!r}}\\nprint(*work())')"
    )
    assert session.bash("python3 script.py").stdout == "[0, 1, 2, 3, 4] 0\n"


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
