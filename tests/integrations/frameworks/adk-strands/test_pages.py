"""The pages about frameworks do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import names, run_page


@pytest.mark.parametrize("name", names(Path(__file__).parent))
def test_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after the other and show what they promise."""
    monkeypatch.chdir(tmp_path)
    run_page(name)
