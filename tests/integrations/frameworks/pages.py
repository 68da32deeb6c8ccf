"""The pages of the documentation about the frameworks that the tests of a folder are about."""

from __future__ import annotations

from pathlib import Path

from runnable_markdown import run_blocks

__all__ = ["names", "run_page"]

#: Tests of the pages themselves, and of what is on another page.
_WITHOUT_PAGE = {"anthropic-worker", "constructors", "e2b", "openai-sandbox", "pages"}
_PAGES = Path(__file__).parents[3] / "docs" / "integrations"


def names(folder: Path) -> list[str]:
    """The names of the pages: a test file of the name is there."""
    found = (path.stem.removeprefix("test_").replace("_", "-") for path in folder.glob("test_*.py"))
    return sorted(name for name in found if name not in _WITHOUT_PAGE)


def run_page(name: str) -> None:
    """Run the blocks of a page, which must do what their comments say."""
    run_blocks(_PAGES / f"{name}.md")
