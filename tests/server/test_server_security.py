"""Who may use the server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from session_server import client_of, served
from starlette.routing import Route

import planaria
from planaria.cli.commands import commands
from planaria.server import ServerSettings, Token, read_tokens


def test_a_token_is_needed_where_there_are_tokens() -> None:
    """Without a token or with a wrong one everything but /health is 401."""
    with served(tokens=[Token("default", "secret")]) as server:
        for token, status in ((None, 401), ("secre", 401), ("secret", 200), ("ünicode", 401)):
            with client_of(server.url) as client:
                headers = [] if token is None else [(b"Authorization", b"Bearer " + token.encode())]
                assert client.get("/v1/sessions", headers=headers).status_code == status
        with client_of(server.url) as client:
            assert client.get("/health").status_code == 200
            assert client.post("/v1/sessions").headers["www-authenticate"] == "Bearer"


def test_no_route_is_served_without_a_token() -> None:
    """Every route of the native API, of the page and of E2B's protocols is 401, but for those that anyone may read."""
    public = {"/health", "/v1/openapi.json", "/", "/ui/assets/{version}/{name:path}"}
    with served(tokens=[Token("default", "secret")], page=True) as server, client_of(server.url) as client:
        count = 0
        for route in server.app.routes:
            assert isinstance(route, Route)
            path = re.sub(r"\{[^}]*\}", "a", route.path)
            for method in (route.methods or set()) - {"HEAD"}:
                if route.path not in public:
                    found = client.request(method, path, headers={"E2b-Sandbox-Id": "a"})
                    assert found.status_code == 401, (method, route.path, found.text)
                    count += 1
        assert count > 80


def test_tokens_have_name_spaces_and_quotas() -> None:
    """A token sees its own sessions and snapshots only, and has no more sessions than it may."""
    tokens = [Token("blue", "b", sessions=1), Token("red", "r", body=100)]
    with (
        served(tokens=tokens, store=planaria.MemoryStore()) as server,
        client_of(server.url, "b") as blue,
        client_of(server.url, "r") as red,
    ):
        assert blue.post("/v1/sessions", json={"id": "a"}).status_code == 201
        assert blue.post("/v1/sessions/a/snapshot", json={"name": "s"}).status_code == 200
        assert red.get("/v1/sessions/a").status_code == 404
        assert red.post("/v1/sessions/a/run", json={"code": "1"}).status_code == 404
        assert red.get("/v1/snapshots").json() == {"snapshots": []}
        assert red.get("/v1/sessions").json()["total"] == 0
        assert blue.post("/v1/sessions", json={}).json()["code"] == "too-many-sessions"
        assert blue.post("/v1/sessions/a/fork", json={}).status_code == 429
        assert red.post("/v1/sessions", json={"metadata": {"a": "b" * 100}}).status_code == 413


def test_rates_are_limited() -> None:
    """Beyond a token's rate requests are 429, with the seconds to wait."""
    with served(tokens=[Token("default", "t", requests_per_minute=12)]) as server:
        with client_of(server.url, "t") as client:
            answers = [client.get("/v1/sessions") for _ in range(5)]
        assert [one.status_code for one in answers[:2]] == [200, 200]
        assert answers[-1].status_code == 429
        assert int(answers[-1].headers["retry-after"]) >= 1


def test_other_hosts_and_origins_are_refused() -> None:
    """A name that is not the server's is 421, and a page of another origin 403."""
    with served(hosts=["box.example"]) as server, client_of(server.url) as client:
        for host, status in (("evil.example", 421), ("box.example", 200), ("127.0.0.1:1", 200), ("[", 421)):
            assert client.get("/v1/sessions", headers={"Host": host}).status_code == status, host
        assert client.get("/v1/sessions", headers={"Origin": "http://evil.example"}).status_code == 403
        assert client.get("/v1/sessions", headers={"Origin": server.url}).status_code == 200
        assert client.get("/v1/sessions", headers={"Origin": "null"}).status_code == 403


def test_requests_are_written_to_the_audit_log(tmp_path: Path) -> None:
    """Each request is a line of JSON with its token's name, without the token and the body."""
    log = tmp_path / "audit.jsonl"
    tokens = [Token("blue", "secret-token")]
    with served(tokens=tokens, audit=log) as server, client_of(server.url, "secret-token") as client:
        client.post("/v1/sessions", json={"id": "a", "metadata": {"k": "secret-body"}})
        client.get("/v1/sessions/none")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["token"], one["method"], one["status"]) for one in lines] == [
        ("blue", "POST", 201),
        ("blue", "GET", 404),
    ]
    assert "secret" not in log.read_text()


def test_tokens_are_read_from_a_file(tmp_path: Path) -> None:
    """A TOML file has tokens with their quotas; what is not one is refused with its name."""
    path = tmp_path / "tokens.toml"
    path.write_text('[blue]\ntoken = "b"\nsessions = 3\n[red]\ntoken = "r"\n')
    assert read_tokens(path) == [Token("blue", "b", sessions=3), Token("red", "r")]
    for text in ("", "[a]\n", '[a]\ntoken = "t"\nother = 1\n', '["a.b"]\ntoken = "t"\n', "x", "[a]\ntoken=1"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"token|TOML|Expected"):
            read_tokens(path)
    with pytest.raises(ValueError, match="same token"):
        ServerSettings(tokens=[Token("a", "t"), Token("b", "t")])


def test_other_addresses_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command refuses to listen beyond the loopback without a token."""
    monkeypatch.delenv("PLANARIA_TOKEN", raising=False)
    result = CliRunner().invoke(commands, ["serve", "--host", "0.0.0.0", "--port", "0"])
    assert result.exit_code == 2
    assert "PLANARIA_TOKEN" in result.output
