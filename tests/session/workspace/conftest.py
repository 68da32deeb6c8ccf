"""Sessions with a workspace, with every executor that is available."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from workspace_sessions import TOOLS

from planaria import Session

CONSTRUCTORS = ["from_base", "inprocess", "subprocess"]


ECHO = """
name: echo
command: [sh, -c]
description: Runs a script.
tags: [shell]
stdin: true
schema:
  positional: [{name: script, required: true}]
recipes:
  failing: {preset: {script: "echo out; echo err >&2; exit 3"}}
"""


@pytest.fixture(params=CONSTRUCTORS)
def constructor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base" / "tools").mkdir(parents=True)
    (tmp_path / "base" / "tools" / "echo.yaml").write_text(ECHO)
    return tmp_path / "base"


@pytest.fixture
def make(base: Path) -> Iterator[Callable[..., Session]]:
    """A function that makes sessions with the workspace, closed after the test."""
    made: list[Session] = []

    def make(constructor: str = "from_base", **arguments: Any) -> Session:
        made.append(getattr(Session, constructor)(base, **{"tools": TOOLS, **arguments}))
        return made[-1]

    yield make
    for session in made:
        session.close()
