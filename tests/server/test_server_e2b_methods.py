"""Every method of E2B's SDKs for Python, with a server of ours."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("e2b_code_interpreter", reason="e2b-code-interpreter is not installed")

from e2b_methods import DOCUMENT, e2b_server, in_document, run_all, table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_method_of_e2b(asynchronous: bool) -> None:
    """Each method works, or says why it is not there, as the table in the documents has it."""
    with e2b_server():
        found = asyncio.run(run_all(asynchronous))
    assert table(found) == in_document(DOCUMENT.read_text("utf-8"))
