"""HTTP interfaces as tools, against a real server."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from demo_http_server import PNG, HttpServer
from tool_calls import Define, Text, call

from planaria.errors import ToolArgumentError, ToolCallError, ToolDefinitionError, ToolNotFound, ToolTimeout
from planaria.workspace.tools.loading import load_tools


def problems(text: str) -> list[str]:
    with pytest.raises(ToolDefinitionError) as caught:
        load_tools([Text("api.yaml", text)])
    return caught.value.problems


def test_path(define_http: Define) -> None:
    """What replaces a placeholder of the path stays within its segment, whatever characters it has."""
    tool = define_http("- {name: get, path: '/echo/{id}/x'}")
    assert call(tool, "get", id="a/b?c#d%2F ü")["path"] == "/api/echo/a%2Fb%3Fc%23d%252F%20%C3%BC/x"


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_path_elsewhere(define_http: Define, server: HttpServer, value: str) -> None:
    """A segment that would name another resource is refused before anything is sent."""
    tool = define_http("- {name: get, path: '/echo/{id}'}")
    with pytest.raises(ToolArgumentError, match="path"):
        call(tool, "get", id=value)
    assert server.requests == []


def test_query(define_http: Define) -> None:
    """A query has the arguments that were given: lists repeated, booleans in lower case, the rest left out."""
    tool = define_http(
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


def test_arguments(define_http: Define) -> None:
    """Arguments are checked before anything is sent: their types, those that are missing and unknown ones."""
    tool = define_http(
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


def test_unknown_endpoint(define_http: Define) -> None:
    """A function that is not there is refused with a suggestion."""
    tool = define_http("- {name: get_it, path: /echo}")
    with pytest.raises(ToolNotFound, match="did you mean 'get_it'"):
        call(tool, "getit")


def test_own_name(define_http: Define) -> None:
    """An endpoint with the tool's name is the tool itself."""
    tool = define_http("- {name: api, path: /echo}")
    assert call(tool)["path"] == "/api/echo"


def test_headers(define_http: Define) -> None:
    """Headers of the definition and of an endpoint are sent, with arguments in them."""
    tool = define_http(
        "- {name: get, path: /echo, headers: {X-One: 'is {one}'}, parameters: {one: {}}}",
        top="headers: {X-All: every}",
    )
    headers = call(tool, "get", one="1")["headers"]
    assert (headers["x-one"], headers["x-all"]) == ("is 1", "every")
    assert headers["user-agent"].startswith("planaria/")
    assert "x-one" not in call(tool, "get")["headers"]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\x7f", "ü"])
def test_header_injection(define_http: Define, server: HttpServer, value: str) -> None:
    """A header accepts printable ASCII only, so no argument can add another header."""
    tool = define_http("- {name: get, path: /echo, headers: {X-One: '{one}'}}")
    with pytest.raises(ToolArgumentError, match="printable"):
        call(tool, "get", one=value)
    assert server.requests == []


def test_json_body(define_http: Define) -> None:
    """A JSON body is a template whose placeholders become values of any type, or are left out."""
    tool = define_http(
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


def test_not_json(define_http: Define, server: HttpServer) -> None:
    """What JSON has not is refused before anything is sent, with its place."""
    tool = define_http(
        "- {name: make, method: POST, path: /echo, parameters: {it: {type: any}}, body: {json: {it: '{it}'}}}"
    )
    for value in (b"bytes", float("nan"), {1: 2}, {"a": {1, 2}}):
        with pytest.raises(ToolArgumentError, match=r"the body\['it'\]|it: expected a finite number"):
            call(tool, "make", it=value)
    assert server.requests == []


def test_other_bodies(define_http: Define) -> None:
    """Forms, multipart forms with files, text and bytes are sent as their types say."""
    tool = define_http(
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


def test_responses(define_http: Define) -> None:
    """Answers are JSON values, text or bytes by their type, or as the endpoint says; an empty one is None."""
    tool = define_http(
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


def test_broken_json(define_http: Define) -> None:
    """An answer that is not JSON though it says so is an error that says so."""
    with pytest.raises(ToolCallError, match="not JSON"):
        call(define_http("- {name: get, path: /broken}"), "get")


def test_status(define_http: Define) -> None:
    """Any status but 2xx is an error with the status and the beginning of the body."""
    tool = define_http("- {name: get, path: '/missing/{id}'}")
    with pytest.raises(
        ToolCallError, match=r"GET http.*/api/missing/1 was answered with 404 Not Found: no such page"
    ) as caught:
        call(tool, "get", id="1")
    assert caught.value.status == 404
    assert caught.value.stdout.startswith("no such page")
    assert (caught.value.tool, caught.value.callable) == ("api", "get")


def test_unreachable(define_http: Define) -> None:
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


def test_timeout(define_http: Define) -> None:
    """A slow answer is abandoned after the endpoint's timeout, or the tool's."""
    tool = define_http("- {name: slow, path: /slow, query: {seconds: 30}, timeout: 0.2}")
    with pytest.raises(ToolTimeout, match=r"longer than 0.2 s"):
        call(tool, "slow")
    tool = define_http("- {name: slow, path: /slow, query: {seconds: 30}}", top="timeout: 0.2")
    with pytest.raises(ToolTimeout, match=r"longer than 0.2 s"):
        call(tool, "slow")


@pytest.mark.parametrize("path", ["/big?", "/packed?", "/endless?"])
def test_too_large(define_http: Define, server: HttpServer, path: str) -> None:
    """An answer larger than max_response is refused without being read to its end, packed or not."""
    tool = define_http(
        f"- {{name: get, path: {path[:-1]}, query: {{size: 3000000}}}}", top="max_response: 1000000"
    )
    with pytest.raises(ToolCallError, match="larger than max_response=1,000,000 bytes"):
        call(tool, "get")
    assert server.endless < 100_000_000


def test_packed(define_http: Define) -> None:
    """Packed answers are unpacked."""
    assert call(define_http("- {name: get, path: /packed, query: {size: 100000}}"), "get") == "x" * 100_000


def test_many_loops_at_once(define_http: Define) -> None:
    """Sessions on several threads and event loops use one tool at the same time."""
    tool = define_http("- {name: get, path: '/echo/{id}'}")
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


def test_cancelled(define_http: Define) -> None:
    """A call that is cancelled ends at once, and the tool goes on."""
    tool = define_http("- {name: slow, path: /slow, query: {seconds: 30}}\n- {name: get, path: /echo}")

    async def cancelling() -> None:
        task = asyncio.ensure_future(tool.call("slow", {}))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelling())
    assert call(tool, "get")["path"] == "/api/echo"


def test_used_after_close(define_http: Define) -> None:
    """A tool that was closed opens its connections again when it is used again."""
    tool = define_http("- {name: get, path: /echo}")
    call(tool, "get")
    tool.close()
    tool.close()
    assert call(tool, "get")["path"] == "/api/echo"


def test_document(define_http: Define) -> None:
    """A tool lists its functions with parameters, types and defaults; required ones come first."""
    tool = define_http(
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
