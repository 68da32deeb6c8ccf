"""The native API does what its OpenAPI document says, for requests that Schemathesis makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from session_server import client_of, served

from planaria import MemoryStore
from planaria.server import Token

schemathesis = pytest.importorskip(
    "schemathesis",
    reason="THE DOCUMENT IS NOT TESTED: schemathesis is installed for `make integrations` only",
)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

TOKEN = "secret"
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def document() -> Iterator[Any]:
    """The document of a server that runs, with a session named "a"."""
    tokens = [Token("default", TOKEN, sessions=20, requests_per_minute=10**6)]
    with served(store=MemoryStore(), tokens=tokens, timeout=2.0) as server:
        with client_of(server.url, TOKEN) as client:
            assert client.post("/v1/sessions", json={"id": "a"}).status_code == 201
        yield schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json", headers=AUTHORIZATION)


@schemathesis.serializer("application/x-tar")
def _bytes(_context: Any, value: Any) -> Any:
    return value if isinstance(value, bytes) else str(value).encode()


def test_every_operation_keeps_to_the_document(document: Any) -> None:
    """No request is answered with a fault of the server, or in another way than the document says."""
    # Constraints that JSON Schema has no words for are refused too: the same name twice, base64 of something else.
    excluded = [schemathesis.checks.positive_data_acceptance]
    count = 0
    for found in document.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=8,
            phases=[Phase.generate],
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(case=operation.as_strategy())
        def keeps_to_the_document(case: Any) -> None:
            if case.path_parameters and "session" in case.path_parameters:
                case.path_parameters["session"] = "a"
            case.call_and_validate(headers=AUTHORIZATION, timeout=300, excluded_checks=excluded)

        if (operation.method, operation.path) != ("delete", "/v1/sessions/{session}"):
            keeps_to_the_document()
        count += 1
    assert count > 30
