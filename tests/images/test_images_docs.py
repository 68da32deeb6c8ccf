"""The chapter on images says what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import planaria

pytestmark = pytest.mark.slow

_CHAPTER = Path(__file__).parents[2] / "docs" / "images.md"


def test_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the chapter prints what its comments say."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # what is asked for is refused in any case
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", _CHAPTER.read_text("utf-8"), re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert printed.getvalue().splitlines() == re.findall(r"print\(.*\)  # (.*)$", block, re.MULTILINE)
    assert not {"reports", "reports-2026", "cities"} & set(planaria.Image.list())
