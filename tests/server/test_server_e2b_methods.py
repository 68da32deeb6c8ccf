"""Every method of E2B's SDKs for Python, with a server of ours."""

from __future__ import annotations

import asyncio

import pytest
from session_server import served_to_e2b

pytest.importorskip("e2b_code_interpreter", reason="e2b-code-interpreter is not installed")

from e2b_methods import DOCUMENT, in_document, run_all, table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_method_of_e2b(asynchronous: bool) -> None:
    """Each method works, or says why it is not there, as the table in the documents has it."""
    with served_to_e2b():
        found = asyncio.run(run_all(asynchronous))
    assert table(found) == in_document(DOCUMENT.read_text("utf-8"))
