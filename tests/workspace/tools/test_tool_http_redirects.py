"""Where requests of HTTP tools go: redirects, private addresses, proxies."""

from __future__ import annotations

import socket

import pytest
from demo_http_server import HttpServer, serving
from recording_server import Resolver
from tool_calls import Define, call

from planaria.errors import ToolCallError


def test_redirect(define_http: Define, server: HttpServer) -> None:
    """A redirect within the host is followed, with the credentials; 307 repeats method and body."""
    tool = define_http(
        """
- {name: get, path: /redirect, query: {to: /echo/there}}
- {name: post, method: POST, path: /redirect, query: {to: /echo/there, status: 307}, body: {text: hello}}
""",
        top="auth: {bearer: token-of-mine}",
    )
    answer = call(tool, "get")
    assert answer["path"] == "/echo/there"
    assert server.requests[-1][2]["Authorization"] == "Bearer token-of-mine"
    answer = call(tool, "post")
    assert (answer["method"], answer["body"]) == ("POST", "hello")


def test_redirect_elsewhere(define_http: Define) -> None:
    """A redirect to another host is refused, or followed without credentials if that is allowed."""
    with serving() as other:
        endpoint = f"- {{name: get, path: /redirect, query: {{to: '{other.url}/echo'}}}}"
        top = "auth: {api_key: {header: X-Key, value: key-of-mine}}\nheaders: {X-All: every}\n"
        with pytest.raises(ToolCallError, match="another host"):
            call(define_http(endpoint, top), "get")
        assert other.requests == []
        headers = call(define_http(endpoint, top + "redirects: any\nprivate: true"), "get")["headers"]
        assert "x-key" not in headers
        assert "x-all" not in headers
        with pytest.raises(ToolCallError, match="'redirects' is none"):
            call(define_http(endpoint, top + "redirects: none"), "get")


def test_redirect_and_back(define_http: Define, server: HttpServer) -> None:
    """Who was sent to another host comes back without credentials: the other host chose the path."""
    with serving() as other:
        there = f"{other.url}/redirect?to={server.url}/echo/delete-everything"
        tool = define_http(
            f"- {{name: get, path: /redirect, query: {{to: '{there}'}}}}",
            "auth: {bearer: token-of-mine}\nredirects: any\nprivate: true",
        )
        answer = call(tool, "get")
        assert answer["path"] == "/echo/delete-everything"
        assert "authorization" not in answer["headers"]


@pytest.mark.parametrize(
    "place",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f.1:1/",
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://inner.test/",
    ],
)
def test_redirect_to_private_address(
    place: str, define_http: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server cannot send a request on to an address that is not public, by number or by name, not even to
    another port of its own.
    """
    resolver = Resolver()
    resolver.answers = [["127.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    tool = define_http(f"- {{name: get, path: /redirect, query: {{to: '{place}'}}}}", "redirects: any")
    with pytest.raises(ToolCallError, match=r"was redirected to .*, which is not at a public address"):
        call(tool, "get")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_address_of_the_author(host: str, define_http: Define, server: HttpServer) -> None:
    """An address that is not public, or localhost, which the definition itself names, is meant."""
    port = server.url.rpartition(":")[2]
    tool = define_http("- {name: get, path: /text}", base=f"http://{host}:{port}")
    assert call(tool, "get") == "größer"


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1", "127.0.0.1"]])
def test_name_of_the_author(
    addresses: list[str], define_http: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name in the definition that leads to no public address is not connected to without 'private: true'."""
    resolver = Resolver()
    resolver.answers = [addresses]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    base = f"http://api.test:{server.url.rpartition(':')[2]}"
    tool = define_http("- {name: get, path: /text}", base=base)
    with pytest.raises(ToolCallError, match=r"api\.test.* is not at a public address .*'private: true'"):
        call(tool, "get")
    assert server.requests == []


def test_private(define_http: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 'private: true' a name is looked up once, and the address connected to under that name."""
    resolver = Resolver()
    resolver.answers = [["127.0.0.1"], ["10.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    base = f"http://api.test:{server.url.rpartition(':')[2]}"
    tool = define_http("- {name: get, path: /echo}", "private: true", base=base)
    assert call(tool, "get")["headers"]["host"].startswith("api.test:")
    assert resolver.asked == ["api.test"]


def test_proxies_are_used_when_asked_for(
    define_http: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment's proxies get a tool's requests where the definition says so, and only there."""
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    monkeypatch.setenv("NO_PROXY", "")
    assert call(define_http("- {name: get, path: /echo}"), "get")["path"] == "/api/echo"
    with pytest.raises(ToolCallError, match="failed"):
        call(define_http("- {name: get, path: /echo}", "proxy: environment"), "get")
    tool = define_http("- {name: get, path: /echo}", f"proxy: {server.url}", base="http://api.test")
    assert call(tool, "get")["headers"]["host"] == "api.test"


def test_redirect_loop(define_http: Define) -> None:
    """A circle of redirects has an end."""
    tool = define_http("- {name: get, path: /circle}")
    with pytest.raises(ToolCallError, match="redirected more than 10 times"):
        call(tool, "get")
