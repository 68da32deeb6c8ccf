"""Credentials of HTTP tools, which code in a session never sees."""

from __future__ import annotations

import pytest
from demo_http_server import HttpServer
from tool_calls import Define, call

from planaria.errors import ToolCallError
from planaria.workspace.tools.variables import ToolEnvironment


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("bearer: '${SECRET}'", "authorization", "Bearer s3cret/value"),
        ("basic: {username: me, password: '${SECRET}'}", "authorization", "Basic bWU6czNjcmV0L3ZhbHVl"),
        ("api_key: {header: X-Key, value: '${SECRET}'}", "x-key", "s3cret/value"),
    ],
)
def test_credentials(define_http: Define, server: HttpServer, auth: str, header: str, value: str) -> None:
    """Credentials come from the host's environment, and are in no answer and no error, though the server
    repeats them.
    """
    environment = ToolEnvironment(values={"SECRET": "s3cret/value"})
    tool = define_http(
        "- {name: get, path: /echo}\n- {name: bad, path: /missing}", f"auth: {{{auth}}}", environment
    )
    answer = call(tool, "get")
    sent = {name.lower(): text for name, text in server.requests[-1][2].items()}
    assert sent[header] == value
    secret = value.rpartition(" ")[2]
    assert answer["headers"][header] == value.replace(secret, "*" * len(secret))
    with pytest.raises(ToolCallError) as caught:
        call(tool, "bad")
    error = caught.value
    for text in (str(error), error.stdout, repr(error)):
        assert "***" in text
        assert "s3cret" not in text
        assert "bWU6" not in text


def test_password(define_http: Define, server: HttpServer) -> None:
    """A password is in no error, though the server repeats what it was sent."""
    tool = define_http("- {name: get, path: /wrong}", "auth: {basic: {username: me, password: hunter22}}")
    with pytest.raises(ToolCallError, match=r"the password of me is not \*\*\*"):
        call(tool, "get")


def test_key_in_query(define_http: Define, server: HttpServer) -> None:
    """A key in the query is sent, also after a redirect, and is in no error."""
    environment = ToolEnvironment(values={"SECRET": "s3cret/value"})
    tool = define_http(
        """
- {name: get, path: /echo, query: {a: 1}}
- {name: redirected, path: /redirect, query: {to: /echo}}
- {name: gone, path: /redirect, query: {to: "http://127.0.0.1:9/"}}
""",
        "auth: {api_key: {query: key, value: '${SECRET}'}}\nredirects: any",
        environment,
    )
    assert call(tool, "get")["query"] == [["a", "1"], ["key", "************"]]
    assert server.requests[-1][1] == "/api/echo?a=1&key=s3cret%2Fvalue"
    assert call(tool, "redirected")["query"] == [["key", "************"]]
    assert server.requests[-1][1] == "/echo?key=s3cret%2Fvalue"
    with pytest.raises(ToolCallError) as caught:
        call(tool, "gone")
    assert "s3cret" not in str(caught.value)


def test_environment_is_closed(
    define_http: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A definition cannot take variables from the host that are not allowed."""
    monkeypatch.setenv("SECRET", "s3cret/value")
    tool = define_http("- {name: get, path: /echo}", "auth: {bearer: '${SECRET}'}")
    with pytest.raises(ToolCallError, match="SECRET"):
        call(tool, "get")
    tool = define_http(
        "- {name: get, path: /echo}", "auth: {bearer: '${SECRET}'}", ToolEnvironment(["SECRET"])
    )
    call(tool, "get")
    assert server.requests[-1][2]["Authorization"] == "Bearer s3cret/value"
    monkeypatch.setenv("SECRET", "another")
    call(tool, "get")
    assert server.requests[-1][2]["Authorization"] == "Bearer another"


def test_no_cookies(define_http: Define, server: HttpServer) -> None:
    """Cookies are not kept from one call to the next."""
    tool = define_http("- {name: set, path: /cookie}\n- {name: get, path: /echo}")
    assert call(tool, "set") == "set"
    assert "cookie" not in call(tool, "get")["headers"]


@pytest.mark.parametrize("form", ["plain", "base64", "hex", "percent", "reversed", "packed", "split"])
def test_echo(define_http: Define, form: str) -> None:
    """A server that returns a credential, in whatever form, returns asterisks."""
    tool = define_http(
        f"- {{name: get, path: /repeated, query: {{form: {form}}}, response: bytes}}",
        "auth: {bearer: '${SECRET}'}",
        ToolEnvironment(values={"SECRET": "s3cret/value"}),
    )
    answer = call(tool, "get")
    assert b"*" * 8 in answer
    for part in (b"s3cret", b"czNjcmV0", b"733363726574", b"eulav/"):
        assert part not in answer


def test_header_of_the_definition(define_http: Define) -> None:
    """What `${NAME}` stands for in a header of the definition is a credential; other text is not."""
    tool = define_http(
        "- {name: get, path: /echo}",
        "headers: {X-Key: 'my ${SECRET}', X-Version: version-2}",
        ToolEnvironment(values={"SECRET": "s3cret/value"}),
    )
    headers = call(tool, "get")["headers"]
    assert (headers["x-key"], headers["x-version"]) == ("my ************", "version-2")
