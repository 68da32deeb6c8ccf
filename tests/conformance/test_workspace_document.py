"""The Python examples of a document about workspaces (`seeds/session_api.md`), as they stand there."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance_cases import case_file
from workspace_example import Runs, execute, recorded_runs, workspace_directory

from planaria import AsyncSession, FileStorage, InProcessExecutor


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of work and a home directory, each with a workspace that has curl."""
    with workspace_directory(tmp_path, monkeypatch) as directory:
        yield directory


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The results of everything that is run from now on."""
    return recorded_runs(monkeypatch)


def seed_examples() -> list[str]:
    """The blocks of code in the document, which has lost the fences around them."""
    found: list[str] = []
    joined = False
    for paragraph in re.split(r"\n\s*\n", case_file("seeds/session_api.md").read_text("utf-8")):
        is_code = _is_code(paragraph, joined)
        if is_code and joined:
            found[-1] += f"\n\n{paragraph}"
        elif is_code:
            found.append(paragraph)
        joined = is_code
    return found


def _is_code(paragraph: str, follows_code: bool) -> bool:
    """Whether a paragraph is Python that does something with sessions; headings like `start()` are none."""
    if not follows_code and "session" not in paragraph.lower() and "import" not in paragraph:
        return False
    try:
        tree = compile(paragraph, "", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return not all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Name | ast.Call) for one in tree.body
    )


EXAMPLES = seed_examples()


def test_examples_are_found() -> None:
    """The document's examples are recognised."""
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_seed(number: int, place: Path, runs: Runs) -> None:
    """An example of the document runs with AsyncSession as its Session, and nothing in it fails."""
    source = EXAMPLES[number]
    source = re.sub(
        r"from py_code_mode import Session\b", "from planaria import AsyncSession as Session", source
    )
    assert "py_code_mode" not in source

    async def main() -> None:
        space: dict[str, Any] = {
            "Session": AsyncSession,
            "Path": Path,
            "storage": FileStorage(place / "data"),
            "executor": InProcessExecutor(),
            "code": "1 + 1",
        }
        async with AsyncSession.from_base(place / ".code-mode") as session:
            space["session"] = session
            await session.save_artifact("analysis_results", {"repos": 42})
            await execute(source, space)

    asyncio.run(main())
    for result in runs:
        assert result.is_ok or _is_expected(source, result), result
    if "public_repos" in source and "fetch" not in source:
        assert runs[-1].value == 8


def _is_expected(source: str, result: Any) -> bool:
    """What the example itself says fails; and pandas, which is not downloaded here."""
    kind = result.error.type
    return (kind == "NameError" and "Error: x is not defined" in source) or (
        kind == "ModuleNotFoundError" and "pandas" in source
    )
