"""Secrets in requests of code in a session, and in the answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planaria import Secret

pytestmark = pytest.mark.slow

VALUE = "s3cr3t-value"


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
