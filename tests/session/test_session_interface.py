"""What users see of sessions: parameters, names, and how far an execution travels."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import FrameType

import pytest

import planaria
from planaria.runtime.tiers import Tier
from planaria.session.settings import SessionSettings

SOURCES = Path(planaria.__file__).parent.parent
#: The names of `Session` in the documents that its users come from.
SEED = frozenset(
    [
        "from_base",
        "subprocess",
        "inprocess",
        "start",
        "close",
        "reset",
        "run",
        "supports",
        "supported_capabilities",
        "list_tools",
        "search_tools",
        "list_workflows",
        "search_workflows",
        "get_workflow",
        "add_workflow",
        "remove_workflow",
        "list_artifacts",
        "save_artifact",
        "load_artifact",
        "delete_artifact",
        "list_deps",
        "add_dep",
        "remove_dep",
        "sync_deps",
        "storage",
        "execute",
        "execution_count",
        "clear_state",
        "snapshot_state",
        "restore_state",
    ]
)
SETTINGS = [one.name for one in fields(SessionSettings) if one.init]


@pytest.mark.parametrize("prefix", ["", "Async"])
@pytest.mark.parametrize("name", ["Session", "Bash", "Sandbox"])
def test_constructors_show_their_parameters(prefix: str, name: str) -> None:
    """Each constructor shows every setting by name, with its type and default."""
    parameters = inspect.signature(getattr(planaria, prefix + name)).parameters
    assert list(parameters) == SETTINGS
    assert all(one.annotation and one.kind is one.KEYWORD_ONLY for one in parameters.values())
    assert parameters["vfs_mount_path"].default == "/data"


@pytest.mark.parametrize(
    "call",
    [
        planaria.Session.from_base,
        planaria.Session.inprocess,
        planaria.Session.subprocess,
        planaria.Session.container,
        planaria.Session.from_snapshot,
        planaria.Bash.from_snapshot,
        planaria.Bash.from_state,
        planaria.Image.build,
        planaria.AsyncSession.from_base,
        planaria.AsyncSession.from_snapshot,
        planaria.AsyncBash.from_snapshot,
    ],
    ids=lambda call: call.__qualname__,
)
def test_no_parameters_are_hidden(call: Callable[..., object]) -> None:
    """No public way to create something takes keywords that its signature does not name."""
    kinds = {one.kind for one in inspect.signature(call).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds


def test_arguments_of_the_wrong_type_are_named(tmp_path: Path) -> None:
    """A time limit, snapshot, contents or mount that cannot be one is refused by its name and type."""
    with pytest.raises(TypeError, match="execution_timeout_ms must be a number or None, not str"):
        planaria.Session(execution_timeout_ms="500")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout=nan"):
        planaria.Limits(timeout=float("nan"))
    with pytest.raises(TypeError, match="a snapshot must be bytes, not str"):
        planaria.Session.from_snapshot("x")  # type: ignore[arg-type]
    (tmp_path / "inner").mkdir()
    outer = planaria.Mount(tmp_path, "/x")
    with pytest.raises(ValueError, match="mounts= has 2 mounts at '/x'"):
        planaria.Session(mounts=[outer, planaria.Mount(tmp_path, "/x/")])
    with pytest.raises(planaria.FileSystemError, match="cannot create the mount point"):
        planaria.Session(mounts=[outer, planaria.Mount(tmp_path, "/x/y")])
    with planaria.Session(mounts=[outer, planaria.Mount(tmp_path, "/x/inner")]) as session:
        assert session.run("import os; os.listdir('/x/inner')").value == ["inner"]
        with pytest.raises(TypeError, match="timeout must be a number or None, not str"):
            session.run("1", timeout="1")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="data must be bytes, not str; use write_text"):
            session.files.write_bytes("x", "s")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [planaria.Session, planaria.AsyncSession])
def test_public_names(kind: type) -> None:
    """A session has the names of the seed and at most 35 beside them, none of them the kernel's."""
    names = {name for name in dir(kind) if not name.startswith("_")}
    assert names >= SEED
    assert len(names - SEED) <= 35
    assert not names & {"call", "display", "input", "output"}


def test_twins_are_generated() -> None:
    """The classes without `await` are what is generated from those with it."""
    program = SOURCES.parent / "tools" / "generate_sync.py"
    done = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_the_trip_of_an_execution(session: planaria.Session) -> None:
    """A trivial execution without a checkpoint visits at most 12 files of the host, in at most 58 calls."""
    engine = session._engine
    engine.executor._tier = Tier.FULL  # type: ignore[attr-defined]
    session.execute("x = 1")
    calls: list[str] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        # The ticker is called only if it fell asleep before.
        if event == "call" and path.startswith(str(SOURCES)) and not path.endswith("ticker.py"):
            calls.append(os.path.relpath(path, SOURCES))

    trips = []
    for _ in range(10):  # in some of them the machine may be visited, since another guest waits for its turn
        calls.clear()
        engine.history.has_changed = False
        sys.setprofile(profile)
        try:
            session.execute("x = 1")
        finally:
            sys.setprofile(None)
        trips.append(calls.copy())
    shortest = min(trips, key=len)
    assert len(set(shortest)) <= 12, " ".join(sorted(set(shortest)))
    assert len(shortest) <= 58


def test_annotations_say_what_they_mean() -> None:
    """`Any` stands for less than 8 in 1,000 lines of what a session and its executors are made of."""
    found = lines = 0
    for folder in ("session", "executors"):
        for path in (SOURCES / "planaria" / folder).rglob("*.py"):
            source = path.read_text()
            lines += source.count("\n")
            found += len(re.findall(r"\bAny\b", re.sub(r"(?m)^from typing import .*$", "", source)))
    assert found * 1000 < 8 * lines
