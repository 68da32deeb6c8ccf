"""Requests out of templates and arguments."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.errors import ToolArgumentError
from planaria.workspace.tools.http_client import ConnectionPool, Credentials, HttpClient
from planaria.workspace.tools.http_requests import Endpoint
from planaria.workspace.tools.redaction import Redaction
from planaria.workspace.tools.schemas import Names, annotation, json_value
from planaria.workspace.tools.tool import ToolCallable

pytestmark = pytest.mark.slow

# One for all: each reads the certificates of all authorities.
POOL = ConnectionPool()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
ANYTHING: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.sampled_from([10**4000, -(10**4000)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=8,
)


def endpoint(path: str = "/x", **fields: Any) -> Endpoint:
    return Endpoint(ToolCallable("f"), dict, "POST", path, **fields)


def sent(one: Endpoint, arguments: dict[str, Any]) -> httpx.Request:
    """The request as it goes over the network."""
    client = HttpClient(
        POOL,
        "http://host/base",
        headers={},
        credentials=Credentials(),
        redaction=Redaction(),
        redirects="none",
        max_response=1,
    )
    return client._build(one.request(arguments))


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_paths_keep_arguments(a: str, b: str) -> None:
    """Whatever text an argument is, it comes out of its own segment again, or is refused."""
    try:
        request = sent(endpoint("/one/{a}/two/{b}.json"), {"a": a, "b": b})
    except ToolArgumentError:
        assert a in ("", ".", "..")
        return
    segments = request.url.raw_path.decode().split("/")
    assert [unquote(segment) for segment in segments] == ["", "base", "one", a, "two", f"{b}.json"]
    assert request.url.host == "host"


@settings(deadline=None)
@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS)))
def test_queries_and_forms_keep_arguments(values: dict[str, Any]) -> None:
    """Whatever text arguments are, they come out of a query and out of a form again."""
    flat = [(k, one) for k, v in values.items() for one in (v if isinstance(v, list) else [v])]
    arguments = {f"p{index}": value for index, value in enumerate(values.values())}
    templates = {name: f"{{p{index}}}" for index, name in enumerate(values)}
    request = sent(endpoint(query=templates), arguments)
    assert parse_qsl(request.url.query.decode(), keep_blank_values=True) == flat
    request = sent(endpoint(body_kind="form", body=templates), arguments)
    assert parse_qsl(request.content.decode(), keep_blank_values=True) == flat


@settings(deadline=None)
@given(JSON)
def test_json_keeps_arguments(value: Any) -> None:
    """Whatever JSON value an argument is, it comes out of a JSON body again."""
    request = sent(endpoint(body_kind="json", body={"a": "{a}", "text": "{{a}}"}), {"a": value})
    assert json.loads(request.content) == {"a": value, "text": "{a}"}


@settings(deadline=None)
@given(ANYTHING)
def test_anything_is_sent_or_refused(value: Any) -> None:
    """Whatever code gives as an argument becomes a request or a short ToolArgumentError."""
    messages = []
    for one in (
        endpoint("/{a}"),
        endpoint(query={"a": "{a}", "b": "x{a}"}),
        endpoint(query={"a": "{a}"}, query_styles={"a": "deep"}),
        endpoint(query={"a": "{a}"}, query_styles={"a": "joined"}),
        endpoint(headers={"A": "{a}"}),
        endpoint(cookies={"A": "{a}"}),
        endpoint(body_kind="json", body="{a}"),
        endpoint(body_kind="form", body={"a": "{a}"}),
        endpoint(body_kind="form", body="{a}"),
        endpoint(body_kind="multipart", body={"a": "{a}"}),
        endpoint(body_kind="multipart", body="{a}"),
        endpoint(body_kind="text", body="{a}"),
        endpoint(body_kind="bytes", body="{a}"),
    ):
        try:
            sent(one, {"a": value})
        except ToolArgumentError as error:
            messages.append(str(error))
    assert all(len(message) < 1000 for message in messages)


def test_deep_and_circular_values_are_refused() -> None:
    """Values that are nested too deeply, or contain themselves, are refused and not followed."""
    circle: list[Any] = []
    circle.append(circle)
    deep: Any = None
    for _ in range(100_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(ToolArgumentError, match="nested more than 100 levels deep"):
            json_value(value, "it")


@settings(deadline=None)
@given(st.lists(st.text()))
def test_names_are_identifiers_and_differ(names: list[str]) -> None:
    """Whatever names the other side has, each gets an identifier of its own that does not begin with `_`."""
    taken = Names()
    found = [taken.take(name) for name in names]
    assert len(set(found)) == len(names)
    assert all(one.isidentifier() and not one.startswith("_") for one in found)


@settings(deadline=None)
@given(JSON)
def test_annotations_of_any_schema(schema: Any) -> None:
    """Whatever stands in a schema's place has an annotation."""
    assert annotation(schema, {}) == "Any" or isinstance(schema, dict)


@settings(deadline=None)
@given(st.lists(st.text(min_size=4), min_size=1), st.text())
def test_secrets_are_in_no_text(secrets: list[str], text: str) -> None:
    """No secret is in a text that was redacted, unless the stars make one."""
    hidden = Redaction(secrets)(text.join(secrets))
    assert all(secret not in hidden or "*" in secret for secret in secrets)
