"""What the README and the chapters show is what happens."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from runnable_markdown import python_blocks, run_blocks

import planaria

ROOT = Path(__file__).parents[2]
#: Those about frameworks run with them: `make integrations`.
FRAMEWORKS = {
    path.stem.removeprefix("test_").replace("_", "-")
    for path in (ROOT / "tests/integrations/frameworks").rglob("test_*.py")
}
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [
    *DOCUMENTS,
    *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY")),
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.full
@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if path.parent.name != "integrations" or path.stem not in FRAMEWORKS],
    ids=name_of,
)
def test_every_python_block_does_what_its_comments_say(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a document run one after the other and show what they promise."""
    monkeypatch.chdir(tmp_path)
    # What a reader keeps goes with the test; a short path, since sockets may be made in it.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        run_blocks(document)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    """A relative link in a document names a file that exists."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_public_name_is_in_the_reference() -> None:
    """The reference has a row for each name in `planaria.__all__`, and for nothing else."""
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/reference.md").read_text("utf-8"), flags=re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted([*named, "PlanariaError", "Suspend"]) == planaria.__all__
    assert all(hasattr(planaria, name) for name in planaria.__all__)


def test_type_checkers_and_the_site_see_every_public_name() -> None:
    """Each name in `planaria.__all__`, which is imported when it is first used, is imported for type checkers."""
    source = Path(planaria.__file__).read_text("utf-8")
    imported = re.findall(r"import (\w+) as \1$", source, flags=re.MULTILINE)
    assert sorted(set(imported) - {"__version__"}) == planaria.__all__


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("print(6 * 7)  # 42", None),
        ("print(6 * 7)  # 43", "promises '43', shows '42"),
        ("x = 1  # anything\nx  # 1", None),
        ("x = 1\nx  # 2", "promises '2', shows '1"),
        ("print('a\\n\\nb')\n# a\n# b\n\n# a remark", None),
        ("print('a\\nb')  # a", "promises 'a', shows"),
        ("print('one two three')  # one ...", None),
        ("try:\n    pass\nexcept ValueError as error:\n    print(error)  # never", "was not reached"),
        ("for n in range(2):\n    print(n)\n    # 0\n    # 1", None),
        ("import asyncio\nawait asyncio.sleep(0)  # a remark\nprint('later')  # later", None),
    ],
)
def test_a_comment_after_what_is_shown_is_a_promise(
    tmp_path: Path, source: str, complaint: str | None
) -> None:
    """Comments after a print or an expression that is not a call are compared; others are remarks."""
    document = tmp_path / "document.md"
    document.write_text(f"Text\n\n```python\n{source}\n```\n", "utf-8")
    if complaint is None:
        run_blocks(document)
    else:
        with pytest.raises(AssertionError, match=re.escape(complaint)):
            run_blocks(document)


def test_blocks_marked_no_run_are_only_compiled(tmp_path: Path) -> None:
    """```python no-run is for what needs something that is not there; it has to be Python all the same."""
    document = tmp_path / "document.md"
    document.write_text("```python no-run\nraise SystemExit\n```\n", "utf-8")
    run_blocks(document)
    document.write_text("```python no-run\nx = = 1\n```\n", "utf-8")
    with pytest.raises(SyntaxError):
        run_blocks(document)


def test_blocks_know_their_line_in_the_document() -> None:
    """A block's line is that of its first line of code."""
    (block,) = python_blocks("a\n\n```python\nx = 1\n```\n```console\n$ ls\n```\n")
    assert (block.source, block.lineno, block.is_run) == ("x = 1\n", 4, True)
