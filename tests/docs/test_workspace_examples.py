"""Examples that were written before there was anything to run them, word for word."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from local_network import CURL, local_network

from planaria import AsyncSession, FileStorage, InProcessExecutor
from planaria.runtime.cache import cache_directory

ROOT = Path(__file__).parents[2]
SEED = Path(os.environ.get("PLANARIA_SEEDS", ROOT.parent / "shared" / "seeds")) / "session_api.md"

WANTED = """
from planaria import AsyncSession, Session, FileStorage, RedisStorage, SubprocessExecutor, SubprocessConfig

async with AsyncSession.from_base("./.code-mode") as session:        # tools/ workflows/ artifacts/ requirements.txt
    result = await session.run(\'\'\'
import json
data = tools.curl.get(url="https://api.github.com/users/octocat")
json.loads(data)["public_repos"]
\'\'\')
    print(result.value if result.is_ok else result.error)
    await session.add_workflow("fetch_json", source=\'\'\'async def run(url: str) -> dict:
    import json
    return json.loads(tools.curl.get(url=url))
\'\'\', description="Fetch and parse JSON from a URL")
    await session.run('workflows.fetch_json(url="https://api.github.com")')
    await session.save_artifact("analysis", {"repos": 42}, description="GitHub analysis")
    await session.add_dep("attrs>=24")

async with AsyncSession.subprocess("~/.code-mode", python_version="3.12") as session:
    await session.run("import pandas; pandas.__version__")

session = Session(storage=FileStorage(base_path="./data"), executor=SubprocessExecutor(config=SubprocessConfig(tools_path="./tools")))
"""

#: The result of each `session.run` of the examples.
Runs = list[Any]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of work and a home, each with a workspace that has curl."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANARIA_CACHE", str(cache_directory()))  # where the runtime is compiled already
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with local_network(tmp_path) as home:
        for base in (tmp_path / ".code-mode", tmp_path / "home" / ".code-mode", tmp_path):
            (base / "tools").mkdir(parents=True)
            (base / "tools" / "curl.yaml").write_text(CURL.format(home=home))
        yield tmp_path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The results of everything that is run from now on."""
    found: Runs = []
    run = AsyncSession.run

    async def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(await run(self, *args, **kwargs))
        return found[-1]

    monkeypatch.setattr(AsyncSession, "run", noted)
    return found


async def execute(source: str, space: dict[str, Any]) -> None:
    """Run Python that awaits at its top level."""
    value = eval(
        compile(source, "<example>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), space
    )
    if inspect.isawaitable(value):
        await value


def test_what_was_wanted(place: Path, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    """The example by which workspaces were asked for does what it says, with a server of our own as the network."""
    if shutil.which("python3.12") is None:
        pytest.skip("there is no Python 3.12: the example with python_version='3.12' is NOT tested")
    space: dict[str, Any] = {}
    asyncio.run(execute(WANTED, space))
    assert capsys.readouterr().out == "8\n"
    octocat, workflow, pandas = runs
    assert octocat.tool_calls[0].name == "curl.get"
    assert workflow.value == {"current_user_url": "…"}
    assert pandas.is_ok or pandas.error.type == "ModuleNotFoundError"  # nothing may be downloaded here
    storage = FileStorage("./.code-mode")
    assert storage.get_artifact_store().load("analysis") == {"repos": 42}
    assert storage.get_dependency_list().list() == ["attrs>=24"]
    session = space["session"]
    assert session.run("tools.list()[0]['name']").value == "curl"
    session.close()


def seed_examples() -> list[str]:
    """The pieces of code in the document; it has lost the marks around them."""
    if not SEED.exists():
        return []
    found: list[str] = []
    joined = False
    for paragraph in re.split(r"\n\s*\n", SEED.read_text("utf-8")):
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


def test_seed_is_there() -> None:
    """The document with the examples is found, and its examples are; without it they are NOT tested."""
    if not SEED.exists():
        pytest.skip(f"{SEED.name} is not there: its examples are NOT tested")
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
