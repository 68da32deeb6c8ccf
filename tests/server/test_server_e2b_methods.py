"""Every method of E2B's SDKs for Python, with a server of ours."""

from __future__ import annotations

import pytest

pytest.importorskip("e2b_code_interpreter", reason="e2b-code-interpreter is not installed")

from e2b_methods import DOCUMENT, in_document, run_both, table

pytestmark = pytest.mark.slow


def test_every_method_of_e2b() -> None:
    """Each method of either SDK works, or says why it is not there, as the table in the documents has it."""
    assert table(run_both()) == in_document(DOCUMENT.read_text("utf-8"))
