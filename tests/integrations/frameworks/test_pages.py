"""The pages about frameworks do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from runnable_markdown import run_blocks

PAGES = Path(__file__).parents[3] / "docs" / "integrations"
NAMES = sorted(
    path.stem.removeprefix("test_").replace("_", "-") for path in Path(__file__).parent.glob("test_*.py")
)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "pages"])
def test_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after the other and show what they promise."""
    monkeypatch.chdir(tmp_path)
    run_blocks(PAGES / f"{name}.md")
