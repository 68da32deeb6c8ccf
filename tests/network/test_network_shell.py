"""curl and wget in a session's shell: they reach what the policy allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planaria import Network, Secret


@pytest.fixture
def connected(new_session: Any, http_port: int, https_port: int, certificates: Path) -> Any:
    """A session whose shell may reach both servers, and whose code knows a secret by its placeholder."""
    allow = [f"http://localhost:{http_port}", f"https://localhost:{https_port}"]
    secret = Secret("TOKEN", "s3cr3t-value", hosts=[f"localhost:{https_port}"])
    return new_session(network=Network(allow=allow, certificates=certificates, secrets=[secret]))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_curl(connected: Any, scheme: str, http_port: int, https_port: int) -> None:
    """curl reads over HTTP and HTTPS, and the result has a record of the request."""
    port = http_port if scheme == "http" else https_port
    result = connected.bash(f"curl -sS {scheme}://localhost:{port}/chunked | tr a-z A-Z")
    assert (result.stdout, result.stderr) == ("ONE TWO THREE", "")
    assert [(one.method, one.status) for one in result.requests] == [("GET", 200)]


def test_wget(connected: Any, https_port: int) -> None:
    """wget saves a file over HTTPS, and fails for what the policy refuses with what is allowed."""
    script = f"wget -q https://localhost:{https_port}/bytes/100000 && wc -c 100000; wget -nv http://evil.test; echo $?"
    result = connected.bash(script)
    assert result.stdout == "100000 100000\n4\n"
    assert result.stderr.startswith("failed: evil.test is not allowed; allowed are localhost:")


def test_upload(connected: Any, http_port: int) -> None:
    """A pipe, a file and a form go up as they are."""
    script = f"""
    place=http://localhost:{http_port}/body
    seq 30000 > numbers
    curl -s -T numbers $place | cmp - numbers
    cat numbers | curl -s --data-binary @- $place | cmp - numbers
    curl -s -F file=@numbers $place | grep -c '^[0-9]'
    """
    result = connected.bash(script)
    assert (result.stdout, result.stderr) == ("30000\n", "")


def test_denied(connected: Any, http_port: int) -> None:
    """What the policy refuses is a failure to connect that says what is allowed, also after a redirect."""
    place = f"http://localhost:{http_port}/redirect?to=http://evil.test/"
    result = connected.bash(f"curl -sS https://evil.test || echo $?; curl -sSL '{place}' || echo $?")
    assert result.stdout == "7\n7\n"
    assert result.stderr.count("evil.test is not allowed; allowed are localhost:") == 2


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [("nothing", 52, "Empty reply from server"), ("half", 18, "end of response with 93 bytes missing")],
)
def test_answer_that_ends_too_early(
    connected: Any, http_port: int, path: str, status: int, message: str
) -> None:
    """curl says by its statuses whether nothing came, or not all."""
    result = connected.bash(f"curl -sS http://localhost:{http_port}/{path}")
    assert result.exit_code == status
    assert result.stderr == f"curl: ({status}) {message}\n"


def test_insecure(new_session: Any, https_port: int) -> None:
    """`-k` does not keep the host from verifying a server, and the message says so."""
    session = new_session(network=Network(allow=[f"https://localhost:{https_port}"]))
    result = session.bash(f"curl -sSk https://localhost:{https_port}/echo; echo $?")
    assert result.stdout == "60\n"
    assert "-k is refused" in result.stderr


def test_secret(connected: Any, https_port: int) -> None:
    """A placeholder in a header becomes the secret, and the answer that echoes it is masked."""
    script = f'curl -s -H "Authorization: Bearer $TOKEN" https://localhost:{https_port}/echo | jq -r .headers.authorization'
    assert connected.bash(script).stdout == f"Bearer {'*' * len('s3cr3t-value')}\n"


def test_no_network(new_session: Any) -> None:
    """Without a policy no name can be resolved, and the message says what to do."""
    result = new_session().bash("curl -sS https://example.com")
    assert result.exit_code == 6
    assert "the sandbox has no network" in result.stderr
