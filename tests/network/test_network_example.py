"""A session that may use one API with a token and nothing else, from its first line to its records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from planaria import Network, Secret


@pytest.mark.slow
def test_one_api_with_a_token(
    new_session: Any,
    clients: str,
    https_port: int,
    certificates: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Code uses the API with a token that it never sees, by requests and curl; another host is a PermissionError."""
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789")
    api = f"localhost:{https_port}"
    session = new_session(
        image=clients,
        network=Network(
            allow=[api, "https://api.example.com/v1/", "GET https://*.wikipedia.org/"],
            secrets=[Secret("GITHUB_TOKEN", os.environ["GITHUB_TOKEN"], hosts=[api])],
            certificates=certificates,
        ),
    )
    result = session.execute(f"""
import os, requests
me = requests.get("https://{api}/user", headers={{"Authorization": f"Bearer {{os.environ['GITHUB_TOKEN']}}"}}).json()
""")
    [request] = result.requests
    assert (request.method, request.url, request.status) == ("GET", f"https://{api}/user", 200)
    assert request.allowed
    assert request.bytes_received > 0
    assert request.duration_ms > 0
    assert session.execute("me['headers']['authorization'], os.environ['GITHUB_TOKEN']").value == (
        f"Bearer {'*' * len('ghp_0123456789')}",
        "planaria-secret-GITHUB_TOKEN-placeholder",
    )
    assert session.bash(f"curl -s https://{api}/chunked").stdout == "one two three"
    error = session.run("import urllib.request; urllib.request.urlopen('https://evil.test')").error
    assert f"{error.type}: {error.message}" == (
        f"PermissionError: evil.test is not allowed; allowed are {api}, api.example.com/v1/, *.wikipedia.org (GET)"
    )
    assert error.traceback.splitlines()[-1] == f"PermissionError: {error.message}"
    [refused] = session.run("urllib.request.urlopen('https://evil.test')").requests
    assert (refused.allowed, refused.status) == (False, None)
    assert refused.reason == error.message
