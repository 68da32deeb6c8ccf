"""The chapter about files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHAPTER = Path(__file__).parents[2] / "docs" / "files.md"


@pytest.mark.full
def test_the_examples_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each print in the chapter prints what the comment beside it says."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", CHAPTER.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(block, str(CHAPTER), "exec"), names)
        expected = re.findall(r"^\s*print\(.*\)  # (.*)$", block, re.MULTILINE)
        assert capsys.readouterr().out.splitlines() == expected
