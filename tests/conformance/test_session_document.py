"""The Python examples of a document about sessions (`seeds/sessions.md`), as they stand there."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from conformance_cases import case_file

import planaria


def blocks() -> list[Any]:
    """The Python examples of the document with the headings they stand under."""
    text = case_file("seeds/sessions.md").read_text("utf-8")
    found = []
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        heading = re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)[-1]
        found.append(pytest.param(match[1], id=heading))
    return found


@pytest.mark.parametrize("source", blocks())
def test_examples_of_the_document(
    source: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example of the document runs as it stands and prints what its comments promise."""
    monkeypatch.setitem(sys.modules, "eryx", planaria)
    exec(compile(source, "<example>", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    for promised in re.findall(r'^print\(result\.stdout\)  # "(.*)"$', source, re.MULTILINE):
        assert promised in printed.splitlines()
    if "Execution timed out as expected" in source:
        assert "Execution timed out as expected" in printed
    counts = re.findall(r'print\(f"Count: .*\)  # (\d+)', source)
    assert re.findall(r"Count: (\d+)", printed) == counts
