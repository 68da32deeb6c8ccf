"""The program by which workspaces were specified, as it was written before there was anything to run it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workspace_example import Runs, execute, recorded_runs, workspace_directory

from planaria import FileStorage

pytestmark = pytest.mark.slow

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


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of work and a home directory, each with a workspace that has curl."""
    with workspace_directory(tmp_path, monkeypatch) as directory:
        yield directory


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The results of everything that is run from now on."""
    return recorded_runs(monkeypatch)


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
