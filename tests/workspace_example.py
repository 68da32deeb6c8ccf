"""What examples of workspaces stand on: directories with curl as a tool, and the results of what they run."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from local_network import CURL, local_network

from planaria import AsyncSession
from planaria.runtime.cache import cache_directory

__all__ = ["Runs", "execute", "recorded_runs", "workspace_directory"]

#: The result of each `session.run` of the examples.
Runs = list[Any]


@contextmanager
def workspace_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory and a home directory, each with a workspace that has curl."""
    monkeypatch.chdir(directory)
    monkeypatch.setenv("PLANARIA_CACHE", str(cache_directory()))  # where the runtime is compiled already
    monkeypatch.setenv("HOME", str(directory / "home"))
    with local_network(directory) as home:
        for base in (directory / ".code-mode", directory / "home" / ".code-mode", directory):
            (base / "tools").mkdir(parents=True)
            (base / "tools" / "curl.yaml").write_text(CURL.format(home=home))
        yield directory


def recorded_runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A list that receives the results of everything that is run from now on."""
    found: Runs = []
    run = AsyncSession.run

    async def recording(self: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(await run(self, *args, **kwargs))
        return found[-1]

    monkeypatch.setattr(AsyncSession, "run", recording)
    return found


async def execute(source: str, space: dict[str, Any]) -> None:
    """Run Python that awaits at its top level."""
    value = eval(
        compile(source, "<example>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), space
    )
    if inspect.isawaitable(value):
        await value
