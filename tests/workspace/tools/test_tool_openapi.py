"""OpenAPI documents as tools, against a real server."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from demo_http_server import HttpServer, serving
from recording_server import Resolver

from planaria.errors import ToolArgumentError, ToolCallError, ToolDefinitionError
from planaria.workspace.tools.loading import load_tools
from planaria.workspace.tools.tool import Tool
from planaria.workspace.tools.variables import ToolEnvironment

DOCUMENT: dict[str, Any] = yaml.safe_load(
    """
openapi: 3.0.3
info: {title: Pets, version: '1', description: All pets}
servers: [{url: '/{base}', variables: {base: {default: echo}}}]
paths:
  /pets:
    get:
      operationId: listPets
      summary: All of them
      tags: [pets]
      parameters:
      - {name: kind, in: query, schema: {type: string, enum: [cat, dog]}}
      - {name: ids, in: query, schema: {type: array, items: {type: integer}}}
      - {name: names, in: query, explode: false, schema: {type: array, items: {type: string}}}
      - {name: filter, in: query, style: deepObject, schema: {type: object}}
      - $ref: '#/components/parameters/Limit'
      - {name: X-Request-ID, in: header, schema: {type: string}}
      - {name: session, in: cookie, schema: {type: string}}
      responses:
        '200':
          description: ok
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
    post:
      operationId: pets.create-one
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: '#/components/schemas/Pet'}}
      responses: {'201': {description: made}}
  /pets/{pet-id}/photo:
    parameters:
    - {name: pet-id, in: path, required: true, description: Which, schema: {type: integer}}
    put:
      operationId: setPhoto
      requestBody: {content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {'204': {description: done}}
    post:
      operationId: uploadPhoto
      requestBody:
        required: true
        content:
          multipart/form-data:
            schema: {type: object, required: [file], properties: {file: {type: string, format: binary}, note: {type: string}}}
      responses: {'200': {description: ok, content: {text/plain: {}}}}
    delete:
      responses: {}
  /login:
    post:
      operationId: login
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, properties: {user: {type: string}, again: {type: boolean}}}
      responses: {default: {description: any}}
  /any:
    post:
      operationId: any
      requestBody: {required: true, content: {application/json: {schema: {type: array, items: {type: object, additionalProperties: {type: number}}}}}}
      responses: {'200': {description: ok}}
components:
  parameters:
    Limit: {name: limit, in: query, description: How many, schema: {type: integer, default: 20, nullable: true}}
  schemas:
    Named: {type: object, required: [name], properties: {name: {type: string}}}
    Pet:
      allOf:
      - $ref: '#/components/schemas/Named'
      - type: object
        properties:
          parent: {$ref: '#/components/schemas/Pet'}
          age: {type: [integer, 'null']}
"""
)


class Text(NamedTuple):
    origin: str
    text: str


Define = Callable[..., Tool]


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serving() as server:
        server.document = DOCUMENT
        yield server


@pytest.fixture
def define(server: HttpServer) -> Iterator[Define]:
    """A function that makes a tool of a document; `fields` are further fields of the definition."""
    made: list[Tool] = []

    def make(document: Any, environment: ToolEnvironment | None = None, **fields: Any) -> Tool:
        definition = {"name": "pets", "type": "http", "openapi": document, **fields}
        made.extend(load_tools([Text("pets.yaml", json.dumps(definition))], environment))
        return made[-1]

    yield make
    for tool in made:
        tool.close()


@pytest.fixture
def pets(define: Define, server: HttpServer) -> Tool:
    return define(DOCUMENT, base_url=f"{server.url}/echo")


def call(tool: Tool, function: str | None = None, /, **arguments: Any) -> Any:
    async def calling() -> Any:
        return await tool.call(function, arguments)

    return asyncio.run(calling())


def test_functions(pets: Tool) -> None:
    """Each operation is one function: its name from the operationId, its parameters from all places."""
    signatures = {
        one.name: (
            ", ".join(
                f"{p.name}: {p.type}{'' if p.required else ' = ' + repr(p.default)}" for p in one.parameters
            ),
            one.returns,
        )
        for one in pets.callables
    }
    assert signatures == {
        "list_pets": (
            "kind: Literal['cat', 'dog'] = None, ids: list[int] = None, names: list[str] = None, "
            "filter: dict[str, Any] = None, limit: int | None = 20, X_Request_ID: str = None, session: str = None",
            "list[dict[str, Any]]",
        ),
        "pets_create_one": ("name: str, parent: dict[str, Any] = None, age: int | None = None", "None"),
        "set_photo": ("pet_id: int, body: bytes = None", "None"),
        "upload_photo": ("pet_id: int, file: bytes, note: str = None", "str"),
        "delete_pets_pet_id_photo": ("pet_id: int", "Any"),
        "login": ("user: str = None, again: bool = None", "Any"),
        "any": ("body: list[dict[str, float]]", "None"),
    }
    assert pets.description == "All pets"
    assert pets.find("list_pets").description == "All of them"


def test_query(pets: Tool) -> None:
    """Arrays and objects go into the query as the document's styles say."""
    answer = call(
        pets,
        "list_pets",
        kind="cat",
        ids=[1, 2],
        names=["a", "b"],
        filter={"age": 3, "sex": "f"},
        X_Request_ID="r1",
        session="s1",
    )
    assert answer["query"] == [
        ["kind", "cat"],
        ["ids", "1"],
        ["ids", "2"],
        ["names", "a,b"],
        ["filter[age]", "3"],
        ["filter[sex]", "f"],
    ]
    assert answer["headers"]["x-request-id"] == "r1"
    assert answer["headers"]["cookie"] == "session=s1"


def test_json_body(pets: Tool) -> None:
    """The properties of a JSON object are parameters of their own; what is not given is not sent."""
    answer = call(pets, "pets_create_one", name="Mia", parent={"name": "Tom"}, age=None)
    assert (answer["method"], answer["path"]) == ("POST", "/echo/pets")
    assert json.loads(answer["body"]) == {"name": "Mia", "parent": {"name": "Tom"}, "age": None}
    assert json.loads(call(pets, "pets_create_one", name="Mia")["body"]) == {"name": "Mia"}


def test_other_bodies(pets: Tool) -> None:
    """Bodies that are not objects are the parameter `body`; forms and files are sent as such."""
    answer = call(pets, "any", body=[{"a": 1.5}])
    assert json.loads(answer["body"]) == [{"a": 1.5}]
    answer = call(pets, "set_photo", pet_id=3, body=b"png")
    assert (answer["path"], answer["body"]) == ("/echo/pets/3/photo", "png")
    assert answer["headers"]["content-type"] == "image/png"
    answer = call(pets, "upload_photo", pet_id=3, file=b"png", note="n")
    assert 'name="file"; filename="file"' in answer["body"]
    answer = call(pets, "login", user="a b", again=True)
    assert answer["body"] == "user=a+b&again=true"


def test_arguments(pets: Tool) -> None:
    """Missing and unknown arguments are refused before anything is sent; names of the document work, too."""
    with pytest.raises(ToolArgumentError, match=r"pets.set_photo\(\) is missing 'pet_id'"):
        call(pets, "set_photo", body=b"")
    with pytest.raises(ToolArgumentError, match="did you mean 'kind'"):
        call(pets, "list_pets", kinds="cat")


def test_file(define: Define, server: HttpServer, tmp_path: Path) -> None:
    """A document in a file beside the definition is read at once, and its errors have its name."""
    (tmp_path / "pets.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "pets.yaml").write_text(
        f"name: pets\ntype: http\nbase_url: {server.url}/echo\nopenapi: pets.json\nonly: [listPets]\n"
    )
    [tool] = load_tools(tmp_path)
    assert [one.name for one in tool.callables] == ["list_pets"]
    tool.close()
    (tmp_path / "pets.json").write_text('{"openapi": "3.0.0",}')
    with pytest.raises(ToolDefinitionError, match=r"pets.yaml:4: openapi: not JSON.*line 1"):
        load_tools(tmp_path)


def test_yaml(define: Define, tmp_path: Path) -> None:
    """In a document in YAML, keys are text whatever they look like, and dates are text."""
    (tmp_path / "dates.yaml").write_text(
        """
openapi: 3.0.0
servers: [{url: 'https://example.org'}]
paths:
  /days/{day}:
    get:
      operationId: on
      parameters:
      - {name: day, in: path, required: true, schema: {enum: [2026-01-01, 2026-01-02]}}
      - {name: on, in: query, schema: {type: string, default: 2026-01-01}}
      responses:
        200: {content: {text/plain: {}}}
"""
    )
    [function] = define(str(tmp_path / "dates.yaml")).callables
    assert function.returns == "str"
    assert [(one.name, one.type, one.default) for one in function.parameters] == [
        ("day", "Literal['2026-01-01', '2026-01-02']", None),
        ("on", "str", "2026-01-01"),
    ]


def test_url(define: Define, server: HttpServer) -> None:
    """A document at a URL is read when its functions are first wanted; its server is relative to it."""
    tool = define(f"{server.url}/openapi")
    assert server.requests == []
    assert len(tool.callables) == 7
    assert call(tool, "set_photo", pet_id=1)["path"] == "/echo/pets/1/photo"
    assert len([one for one in server.requests if one[1] == "/openapi"]) == 1


def test_bad_url(define: Define, server: HttpServer) -> None:
    """A document that cannot be read is an error of the call, and is tried again at the next."""
    tool = define(f"{server.url}/openapi")
    server.document = {"swagger": "2.0"}
    with pytest.raises(ToolCallError, match=r"not swagger 2\.0"):
        call(tool, "list_pets")
    server.document = DOCUMENT
    assert call(tool, "list_pets")["path"] == "/echo/pets"


def test_credentials_elsewhere(define: Define, server: HttpServer) -> None:
    """A document cannot send credentials to another host than its own."""
    with serving() as other:
        server.document = {**DOCUMENT, "servers": [{"url": other.url}]}
        tool = define(f"{server.url}/openapi", auth={"bearer": "token-of-mine"})
        with pytest.raises(ToolCallError, match="to send it credentials, say so with 'base_url'"):
            call(tool, "list_pets")
        assert other.requests == []
        tool = define(f"{server.url}/openapi", auth={"bearer": "token-of-mine"}, base_url=f"{other.url}/echo")
        call(tool, "list_pets")
        assert other.requests[-1][2]["Authorization"] == "Bearer token-of-mine"
        [(_, _, headers, _)] = [one for one in server.requests if one[1] == "/openapi"][-1:]
        assert "Authorization" not in headers


def test_secret_headers_elsewhere(define: Define, server: HttpServer) -> None:
    """A document cannot send headers that refer to the environment to another host than its own."""
    with serving() as other:
        server.document = {**DOCUMENT, "servers": [{"url": other.url}]}
        tool = define(f"{server.url}/openapi", headers={"X-Key": "${KEY:-none}"})
        with pytest.raises(ToolCallError, match="to send it credentials, say so with 'base_url'"):
            call(tool, "list_pets")
        assert other.requests == []


def test_document_refers_to_no_variables(define: Define, server: HttpServer) -> None:
    """A document's server cannot contain variables of the host's environment."""
    server.document = {**DOCUMENT, "servers": [{"url": server.url + "/${HOME}"}]}
    with pytest.raises(ToolCallError, match="only 'base_url' may refer to variables"):
        call(define(f"{server.url}/openapi"), "list_pets")
    assert [path for _, path, *_ in server.requests] == ["/openapi"]


@pytest.mark.parametrize(
    ("place", "answers"),
    [
        ("http://169.254.169.254/latest", []),
        ("http://[::ffff:127.0.0.1]/", []),
        ("http://inner.test/", [["10.0.0.1"]]),
    ],
)
def test_private_server(
    place: str, answers: list[list[str]], define: Define, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document cannot send requests to a private address, by number or by name, but to its own."""
    server.document = {**DOCUMENT, "servers": [{"url": place}]}
    resolver = Resolver()
    resolver.answers = answers
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    tool = define(f"{server.url}/openapi")
    with pytest.raises(ToolCallError, match=r"the document names: .* is not at a public address"):
        call(tool, "list_pets")
    assert [path for _, path, *_ in server.requests] == ["/openapi"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"openapi": "2.0"}, "versions 3.0 and 3.1"),
        ({"paths": {}}, "no operations"),
        ({"paths": {"/a/{b}": {"get": {}}}}, r"paths: /a/\{b\}: get: the path has \{b\}"),
        ({"paths": {"/a": {"get": {"parameters": [{"$ref": "#/nowhere"}]}}}}, "leads nowhere"),
        (
            {"paths": {"/a": {"get": {"parameters": [{"$ref": "other.yaml#/x"}]}}}},
            "leads out of the document",
        ),
        ({"paths": {"/a": {"$ref": "#/paths/~1a"}}}, "leads to itself"),
        ({"servers": []}, "names no server"),
    ],
)
def test_bad_documents(define: Define, change: dict[str, Any], message: str) -> None:
    """What cannot be understood in a document is reported with its place."""
    with pytest.raises(ToolDefinitionError, match=message):
        define({**DOCUMENT, "servers": [{"url": "https://example.org"}], **change})


def test_only(define: Define) -> None:
    """A name in `only` that no operation has is refused, with a suggestion."""
    with pytest.raises(ToolDefinitionError, match="no operation 'listPet'; did you mean 'list_pets'"):
        define(DOCUMENT, base_url="https://example.org", only=["listPet"])


def test_recursive_schema(define: Define) -> None:
    """A schema that contains itself ends somewhere in its annotation."""
    tree = {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}
    tool = define(
        {
            "openapi": "3.1.0",
            "servers": [{"url": "https://example.org"}],
            "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": tree}}}}}},
            "components": {"schemas": {"Tree": tree}},
        }
    )
    [function] = tool.callables
    assert function.parameters[0].type.startswith("list[list[")
    assert function.name == "post_a"
