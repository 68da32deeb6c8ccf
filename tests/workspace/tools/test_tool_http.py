"""HTTP interfaces as tools, against a real server."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpcore
import httpx
import pytest
from demo_http_server import PNG, HttpServer, serving
from recording_server import Resolver

from planaria import Network
from planaria.errors import ToolArgumentError, ToolCallError, ToolDefinitionError, ToolNotFound, ToolTimeout
from planaria.workspace.tools.http_transport import ANYWHERE, PUBLIC, NotPublicError, policy_transport
from planaria.workspace.tools.loading import load_tools
from planaria.workspace.tools.tool import Tool
from planaria.workspace.tools.variables import ToolEnvironment

Define = Callable[..., Tool]


class Text(NamedTuple):
    origin: str
    text: str


@pytest.fixture(scope="module")
def module_server() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


@pytest.fixture
def server(module_server: HttpServer) -> HttpServer:
    module_server.requests.clear()
    return module_server


@pytest.fixture
def define(server: HttpServer) -> Iterator[Define]:
    """A function that makes a tool of endpoints in YAML; `top` goes before them."""
    made: list[Tool] = []

    def make(
        endpoints: str, top: str = "", environment: ToolEnvironment | None = None, base: str = server.url
    ) -> Tool:
        text = f"name: api\ntype: http\nbase_url: {base}/api\n{top}\nendpoints:\n{endpoints}"
        made.extend(load_tools([Text("api.yaml", text)], environment))
        return made[-1]

    yield make
    for tool in made:
        tool.close()


def call(tool: Tool, function: str | None = None, /, **arguments: Any) -> Any:
    async def calling() -> Any:
        return await tool.call(function, arguments)

    return asyncio.run(calling())


def problems(text: str) -> list[str]:
    with pytest.raises(ToolDefinitionError) as caught:
        load_tools([Text("api.yaml", text)])
    return caught.value.problems


def test_path(define: Define) -> None:
    """What replaces a placeholder of the path stays within its segment, whatever characters it has."""
    tool = define("- {name: get, path: '/echo/{id}/x'}")
    assert call(tool, "get", id="a/b?c#d%2F ü")["path"] == "/api/echo/a%2Fb%3Fc%23d%252F%20%C3%BC/x"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_path_elsewhere(define: Define, server: HttpServer, value: str) -> None:
    """A segment that would name another resource is refused before anything is sent."""
    tool = define("- {name: get, path: '/echo/{id}'}")
    with pytest.raises(ToolArgumentError, match="path"):
        call(tool, "get", id=value)
    assert server.requests == []


def test_query(define: Define) -> None:
    """A query has the arguments that were given: lists repeated, booleans in lower case, the rest left out."""
    tool = define(
        """
- name: find
  path: /echo
  parameters:
    q: {required: true}
    ids: {type: array, items: integer}
    exact: {type: boolean}
    size: {type: integer, default: 10}
    other: {}
    page-no: {type: integer}
  query: {text: "{q}", id: "{ids}", exact: "{exact}", size: "{size}", fixed: 1, range: "0-{size}", no: "x{other}"}
"""
    )
    answer = call(tool, "find", q="a&b=c", ids=[1, 2], exact=True, page_no=3)
    assert answer["query"] == [
        ["text", "a&b=c"],
        ["id", "1"],
        ["id", "2"],
        ["exact", "true"],
        ["size", "10"],
        ["fixed", "1"],
        ["range", "0-10"],
        ["page-no", "3"],
    ]


def test_arguments(define: Define) -> None:
    """Arguments are checked before anything is sent: their types, those that are missing and unknown ones."""
    tool = define(
        "- {name: get, path: '/echo/{id}', parameters: {id: {type: integer}, kind: {enum: [a, b]}}}"
    )
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"id": "1"}, "expected int"),
        ({}, "needs id"),
        ({"id": 1, "kid": "a"}, "did you mean 'kind'"),
        ({"id": 1, "kind": "c"}, "one of 'a', 'b'"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ToolArgumentError, match=message):
            call(tool, "get", **arguments)


def test_unknown_endpoint(define: Define) -> None:
    """A function that is not there is refused with a suggestion."""
    tool = define("- {name: get_it, path: /echo}")
    with pytest.raises(ToolNotFound, match="did you mean 'get_it'"):
        call(tool, "getit")


def test_own_name(define: Define) -> None:
    """An endpoint with the tool's name is the tool itself."""
    tool = define("- {name: api, path: /echo}")
    assert call(tool)["path"] == "/api/echo"


def test_headers(define: Define) -> None:
    """Headers of the definition and of an endpoint are sent, with arguments in them."""
    tool = define(
        "- {name: get, path: /echo, headers: {X-One: 'is {one}'}, parameters: {one: {}}}",
        top="headers: {X-All: every}",
    )
    headers = call(tool, "get", one="1")["headers"]
    assert (headers["x-one"], headers["x-all"]) == ("is 1", "every")
    assert headers["user-agent"].startswith("planaria/")
    assert "x-one" not in call(tool, "get")["headers"]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\x7f", "ü"])
def test_header_injection(define: Define, server: HttpServer, value: str) -> None:
    """A header accepts printable ASCII only, so no argument can add another header."""
    tool = define("- {name: get, path: /echo, headers: {X-One: '{one}'}}")
    with pytest.raises(ToolArgumentError, match="printable"):
        call(tool, "get", one=value)
    assert server.requests == []


def test_json_body(define: Define) -> None:
    """A JSON body is a template whose placeholders become values of any type, or are left out."""
    tool = define(
        """
- name: make
  method: post
  path: /echo
  parameters: {size: {type: number}, tags: {type: array}, more: {type: any}, late: {}}
  body: {json: {name: "{name}", inner: {size: "{size}", late: "{late}"}, tags: "{tags}", more: "{more}", braces: "{{x}}"}}
"""
    )
    answer = call(tool, "make", name="ü", size=1.5, tags=("a", "b"), more={"a": [None, True]})
    assert json.loads(answer["body"]) == {
        "name": "ü",
        "inner": {"size": 1.5},
        "tags": ["a", "b"],
        "more": {"a": [None, True]},
        "braces": "{x}",
    }
    assert answer["headers"]["content-type"] == "application/json"


def test_not_json(define: Define, server: HttpServer) -> None:
    """What JSON has not is refused before anything is sent, with its place."""
    tool = define(
        "- {name: make, method: POST, path: /echo, parameters: {it: {type: any}}, body: {json: {it: '{it}'}}}"
    )
    for value in (b"bytes", float("nan"), {1: 2}, {"a": {1, 2}}):
        with pytest.raises(ToolArgumentError, match=r"the body\['it'\]|it: expected a finite number"):
            call(tool, "make", it=value)
    assert server.requests == []


def test_other_bodies(define: Define) -> None:
    """Forms, multipart forms with files, text and bytes are sent as their types say."""
    tool = define(
        """
- {name: form, method: POST, path: /echo, parameters: {b: {type: array}}, body: {form: {a: "{a}", b: "{b}"}}}
- {name: file, method: POST, path: /echo, parameters: {data: {type: data}}, body: {multipart: {note: "{note}", data: "{data}"}}}
- {name: text, method: PUT, path: /echo, body: {text: "Hello {name}"}}
- {name: raw, method: PUT, path: /echo, parameters: {data: {type: data}}, body: {bytes: "{data}"}, content_type: image/png}
"""
    )
    answer = call(tool, "form", a="x y&z", b=["1", "2"])
    assert answer["body"] == "a=x+y%26z&b=1&b=2"
    assert answer["headers"]["content-type"] == "application/x-www-form-urlencoded"
    answer = call(tool, "file", note="n", data=b"content")
    assert answer["headers"]["content-type"].startswith("multipart/form-data; boundary=")
    assert 'name="note"\r\n\r\nn\r\n' in answer["body"]
    assert 'name="data"; filename="data"' in answer["body"]
    assert "content\r\n" in answer["body"]
    assert call(tool, "text", name="ü")["body"] == "Hello ü"
    answer = call(tool, "raw", data=b"abc")
    assert (answer["body"], answer["headers"]["content-type"]) == ("abc", "image/png")


def test_responses(define: Define) -> None:
    """Answers are JSON values, text or bytes by their type, or as the endpoint says; an empty one is None."""
    tool = define(
        """
- {name: text, path: /text}
- {name: text_bytes, path: /text, response: bytes}
- {name: picture, path: /picture}
- {name: nothing, path: /nothing}
- {name: echo_text, path: /echo, response: text}
- {name: head, path: /echo, method: HEAD}
"""
    )
    assert call(tool, "text") == "größer"
    assert call(tool, "text_bytes") == "größer".encode("latin-1")
    assert call(tool, "picture") == PNG
    assert call(tool, "nothing") is None
    assert call(tool, "echo_text").startswith("{")
    assert call(tool, "head") is None


def test_broken_json(define: Define) -> None:
    """An answer that is not JSON though it says so is an error that says so."""
    with pytest.raises(ToolCallError, match="not JSON"):
        call(define("- {name: get, path: /broken}"), "get")


def test_status(define: Define) -> None:
    """Any status but 2xx is an error with the status and the beginning of the body."""
    tool = define("- {name: get, path: '/missing/{id}'}")
    with pytest.raises(
        ToolCallError, match=r"GET http.*/api/missing/1 was answered with 404 Not Found: no such page"
    ) as caught:
        call(tool, "get", id="1")
    assert caught.value.status == 404
    assert caught.value.stdout.startswith("no such page")
    assert (caught.value.tool, caught.value.callable) == ("api", "get")


def test_unreachable(define: Define) -> None:
    """A host that cannot be reached is an error that names it."""
    [tool] = load_tools(
        [
            Text(
                "api.yaml",
                "{name: api, type: http, base_url: 'http://127.0.0.1:9', endpoints: [{name: get, path: /x}]}",
            )
        ]
    )
    with pytest.raises(ToolCallError, match=r"GET http://127.0.0.1:9/x failed"):
        call(tool, "get")


def test_timeout(define: Define) -> None:
    """A slow answer is abandoned after the endpoint's timeout, or the tool's."""
    tool = define("- {name: slow, path: /slow, query: {seconds: 30}, timeout: 0.2}")
    with pytest.raises(ToolTimeout, match=r"longer than 0.2 s"):
        call(tool, "slow")
    tool = define("- {name: slow, path: /slow, query: {seconds: 30}}", top="timeout: 0.2")
    with pytest.raises(ToolTimeout, match=r"longer than 0.2 s"):
        call(tool, "slow")


@pytest.mark.parametrize("path", ["/big?", "/packed?", "/endless?"])
def test_too_large(define: Define, server: HttpServer, path: str) -> None:
    """An answer larger than max_response is refused without being read to its end, packed or not."""
    tool = define(
        f"- {{name: get, path: {path[:-1]}, query: {{size: 3000000}}}}", top="max_response: 1000000"
    )
    with pytest.raises(ToolCallError, match="larger than max_response=1,000,000 bytes"):
        call(tool, "get")
    assert server.endless < 100_000_000


def test_packed(define: Define) -> None:
    """Packed answers are unpacked."""
    assert call(define("- {name: get, path: /packed, query: {size: 100000}}"), "get") == "x" * 100_000


def test_redirect(define: Define, server: HttpServer) -> None:
    """A redirect within the host is followed, with the credentials; 307 repeats method and body."""
    tool = define(
        """
- {name: get, path: /redirect, query: {to: /echo/there}}
- {name: post, method: POST, path: /redirect, query: {to: /echo/there, status: 307}, body: {text: hello}}
""",
        top="auth: {bearer: token-of-mine}",
    )
    answer = call(tool, "get")
    assert answer["path"] == "/echo/there"
    assert answer["headers"]["authorization"] == "Bearer token-of-mine"
    answer = call(tool, "post")
    assert (answer["method"], answer["body"]) == ("POST", "hello")


def test_redirect_elsewhere(define: Define) -> None:
    """A redirect to another host is refused, or followed without credentials if that is allowed."""
    with serving() as other:
        endpoint = f"- {{name: get, path: /redirect, query: {{to: '{other.url}/echo'}}}}"
        top = "auth: {api_key: {header: X-Key, value: key-of-mine}}\nheaders: {X-All: every}\n"
        with pytest.raises(ToolCallError, match="another host"):
            call(define(endpoint, top), "get")
        assert other.requests == []
        headers = call(define(endpoint, top + "redirects: any"), "get")["headers"]
        assert "x-key" not in headers
        assert "x-all" not in headers
        with pytest.raises(ToolCallError, match="'redirects' is none"):
            call(define(endpoint, top + "redirects: none"), "get")


def test_redirect_and_back(define: Define, server: HttpServer) -> None:
    """Who was sent to another host comes back without credentials: the other host chose the path."""
    with serving() as other:
        there = f"{other.url}/redirect?to={server.url}/echo/delete-everything"
        tool = define(
            f"- {{name: get, path: /redirect, query: {{to: '{there}'}}}}",
            "auth: {bearer: token-of-mine}\nredirects: any",
        )
        answer = call(tool, "get")
        assert answer["path"] == "/echo/delete-everything"
        assert "authorization" not in answer["headers"]


@pytest.mark.parametrize(
    ("place", "answers"),
    [
        ("http://169.254.169.254/latest/meta-data/", []),
        ("http://[::ffff:127.0.0.1]/", []),
        ("http://inner.test/", [["10.0.0.1"]]),
    ],
)
def test_redirect_to_private_address(
    place: str, answers: list[list[str]], define: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public interface cannot send a request on to a private address, by number or by name."""
    resolver = Resolver()
    # To connect, for the first host once more, and for that of the redirect.
    resolver.answers = [["127.0.0.1"], ["93.184.216.34"], *answers]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    tool = define(
        f"- {{name: get, path: /redirect, query: {{to: '{place}'}}}}",
        "redirects: any",
        base=f"http://api.test:{server.url.rpartition(':')[2]}",
    )
    with pytest.raises(ToolCallError, match="not a public address"):
        call(tool, "get")


@pytest.mark.parametrize(("policy", "is_reached"), [(ANYWHERE, True), (PUBLIC, False)], ids=["any", "public"])
def test_checked_address_is_connected_to(
    policy: Network, is_reached: bool, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that a name leads to is looked up once, checked, and connected to under the host's name."""
    resolver = Resolver()
    resolver.answers = [["127.0.0.1"], ["10.0.0.1"]]
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)

    async def send() -> httpx.Response:
        transport = policy_transport(httpx, httpcore, policy, httpx.create_ssl_context())
        async with httpx.AsyncClient(transport=transport) as client:
            return await client.get(f"http://files.test:{server.url.rpartition(':')[2]}/echo")

    if is_reached:
        answer = asyncio.run(send())
        assert answer.json()["headers"]["host"].startswith("files.test:")
    else:
        with pytest.raises(NotPublicError, match=r"127\.0\.0\.1 is not a public address"):
            asyncio.run(send())
    assert resolver.asked == ["files.test"]


def test_proxies_are_used_when_asked_for(
    define: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment's proxies get a tool's requests where the definition says so, and only there."""
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    monkeypatch.setenv("NO_PROXY", "")
    assert call(define("- {name: get, path: /echo}"), "get")["path"] == "/api/echo"
    with pytest.raises(ToolCallError, match="failed"):
        call(define("- {name: get, path: /echo}", "proxy: environment"), "get")
    tool = define("- {name: get, path: /echo}", f"proxy: {server.url}", base="http://api.test")
    assert call(tool, "get")["headers"]["host"] == "api.test"


def test_redirect_loop(define: Define) -> None:
    """A circle of redirects has an end."""
    tool = define("- {name: get, path: /circle}")
    with pytest.raises(ToolCallError, match="redirected more than 10 times"):
        call(tool, "get")


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("bearer: '${SECRET}'", "authorization", "Bearer s3cret/value"),
        ("basic: {username: me, password: '${SECRET}'}", "authorization", "Basic bWU6czNjcmV0L3ZhbHVl"),
        ("api_key: {header: X-Key, value: '${SECRET}'}", "x-key", "s3cret/value"),
    ],
)
def test_credentials(define: Define, auth: str, header: str, value: str) -> None:
    """Credentials come from the host's environment, and are in no error, though the server repeats them."""
    environment = ToolEnvironment(values={"SECRET": "s3cret/value"})
    tool = define(
        "- {name: get, path: /echo}\n- {name: bad, path: /missing}", f"auth: {{{auth}}}", environment
    )
    assert call(tool, "get")["headers"][header] == value
    with pytest.raises(ToolCallError) as caught:
        call(tool, "bad")
    error = caught.value
    for text in (str(error), error.stdout, repr(error)):
        assert "***" in text
        assert "s3cret" not in text
        assert "bWU6" not in text


def test_password(define: Define, server: HttpServer) -> None:
    """A password is in no error, though the server repeats what it was sent."""
    tool = define("- {name: get, path: /wrong}", "auth: {basic: {username: me, password: hunter22}}")
    with pytest.raises(ToolCallError, match=r"the password of me is not \*\*\*"):
        call(tool, "get")


def test_key_in_query(define: Define) -> None:
    """A key in the query is sent, also after a redirect, and is in no error."""
    environment = ToolEnvironment(values={"SECRET": "s3cret/value"})
    tool = define(
        """
- {name: get, path: /echo, query: {a: 1}}
- {name: redirected, path: /redirect, query: {to: /echo}}
- {name: gone, path: /redirect, query: {to: "http://127.0.0.1:9/"}}
""",
        "auth: {api_key: {query: key, value: '${SECRET}'}}\nredirects: any",
        environment,
    )
    assert call(tool, "get")["query"] == [["a", "1"], ["key", "s3cret/value"]]
    assert call(tool, "redirected")["query"] == [["key", "s3cret/value"]]
    with pytest.raises(ToolCallError) as caught:
        call(tool, "gone")
    assert "s3cret" not in str(caught.value)


def test_environment_is_closed(define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition cannot take variables from the host that are not allowed."""
    monkeypatch.setenv("SECRET", "s3cret/value")
    tool = define("- {name: get, path: /echo}", "auth: {bearer: '${SECRET}'}")
    with pytest.raises(ToolCallError, match="SECRET"):
        call(tool, "get")
    tool = define("- {name: get, path: /echo}", "auth: {bearer: '${SECRET}'}", ToolEnvironment(["SECRET"]))
    assert call(tool, "get")["headers"]["authorization"] == "Bearer s3cret/value"
    monkeypatch.setenv("SECRET", "another")
    assert call(tool, "get")["headers"]["authorization"] == "Bearer another"


def test_no_cookies(define: Define, server: HttpServer) -> None:
    """Cookies are not kept from one call to the next."""
    tool = define("- {name: set, path: /cookie}\n- {name: get, path: /echo}")
    assert call(tool, "set") == "set"
    assert "cookie" not in call(tool, "get")["headers"]


def test_many_loops_at_once(define: Define) -> None:
    """Sessions on several threads and event loops use one tool at the same time."""
    tool = define("- {name: get, path: '/echo/{id}'}")
    found: list[str] = []

    async def many(base: int) -> None:
        answers = await asyncio.gather(*(tool.call("get", {"id": str(base + n)}) for n in range(10)))
        found.extend(answer["path"] for answer in answers)

    threads = [
        threading.Thread(target=lambda base=base: asyncio.run(many(base))) for base in range(0, 40, 10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"/api/echo/{n}" for n in range(40))


def test_cancelled(define: Define) -> None:
    """A call that is cancelled ends at once, and the tool goes on."""
    tool = define("- {name: slow, path: /slow, query: {seconds: 30}}\n- {name: get, path: /echo}")

    async def cancelling() -> None:
        task = asyncio.ensure_future(tool.call("slow", {}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelling())
    assert call(tool, "get")["path"] == "/api/echo"


def test_used_after_close(define: Define) -> None:
    """A tool that was closed opens its connections again when it is used again."""
    tool = define("- {name: get, path: /echo}")
    call(tool, "get")
    tool.close()
    tool.close()
    assert call(tool, "get")["path"] == "/api/echo"


def test_document(define: Define) -> None:
    """A tool lists its functions with parameters, types and defaults; required ones come first."""
    tool = define(
        "- {name: get, description: Get it, path: '/echo/{id}', parameters: {size: {type: int, default: 3}}}",
        "description: An interface",
    )
    assert tool.document() == {
        "name": "api",
        "description": "An interface",
        "tags": [],
        "callables": [
            {
                "name": "get",
                "description": "Get it",
                "parameters": [
                    {"name": "id", "type": "str", "required": True, "default": None, "description": ""},
                    {"name": "size", "type": "int", "required": False, "default": 3, "description": ""},
                ],
                "returns": "Any",
            }
        ],
    }


def test_definition_errors() -> None:
    """What is wrong in a definition is reported with file and line, all of it at once."""
    found = problems(
        """
name: api
type: http
base_url: https://example.org/api?x=1
endpoints:
- name: get
  path: echo
- name: get
  metod: GET
  path: /x
"""
    )
    assert [problem.split(":")[:2] for problem in found] == [["api.yaml", "7"], ["api.yaml", "9"]]
    assert "did you mean 'method'" in found[1]


@pytest.mark.parametrize(
    ("rest", "line", "message"),
    [
        ("base_url: https://example.org", 1, "either 'endpoints' or 'openapi'"),
        ("endpoints: [{name: a, path: /a}]", 1, "expected 'base_url'"),
        ("base_url: ftp://x\nendpoints: [{name: a, path: /a}]", 3, "is not a URL like"),
        ("base_url: https://u:p@x\nendpoints: [{name: a, path: /a}]", 3, "belong to 'auth'"),
        ("base_url: https://x\nendpoints:\n- {name: a, path: /a}\n- {name: a, path: /b}", 6, "there is an endpoint 'a' already"),
        ("base_url: https://x\nendpoints:\n- name: a\n  path: /a\n  parameters:\n    n: {type: int, default: x}", 8, "expected int"),
        ("base_url: https://x\nauth: {bearer: a, basic: {username: a, password: b}}\nendpoints: [{name: a, path: /a}]", 4, "one of bearer, basic, api_key"),
        ("base_url: https://x\nauth: {api_key: {value: a}}\nendpoints: [{name: a, path: /a}]", 4, "one of header, query"),
        ("base_url: https://x\nendpoints:\n- {name: a, path: /a, body: {json: {}, text: x}}", 5, "one of json, form"),
        ("openapi: nowhere.json", 3, "in no file that the path could be relative to"),
        ("openapi: /nowhere.json", 3, "No such file"),
        ("openapi: {swagger: '2.0'}", 3, "not swagger 2.0"),
    ],
)  # fmt: skip
def test_misfits(rest: str, line: int, message: str) -> None:
    """Each thing that does not fit is reported with its line and what is wanted."""
    [problem] = problems(f"name: api\ntype: http\n{rest}")
    assert problem.startswith(f"api.yaml:{line}:")
    assert message in problem
