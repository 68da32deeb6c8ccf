"""The chapter on snapshots says what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

_CHAPTER = Path(__file__).parents[2] / "docs" / "snapshots.md"


def told(block: str) -> list[str]:
    """The outputs that the comments of a block promise."""
    lines: list[str] = []
    for line in block.splitlines():
        if match := re.match(r"(?:.*print\(.*\)  |)# (.*)$", line):
            text = match.group(1)
            if "print(" in line or re.match(r"[+~-] ", text):
                lines.append(text)
    return lines


def test_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the chapter prints what its comments say."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", _CHAPTER.read_text("utf-8"), re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert [line for line in printed.getvalue().splitlines() if line] == told(block)
