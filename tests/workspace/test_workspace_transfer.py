"""Moving and comparing workspaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_snapshots import make_snapshot
from storage_kinds import KINDS, address, open_storage

import planaria
from planaria.workspace.storage.storage import Storage
from planaria.workspace.storage.transfer import Change, bootstrap, diff, items, pull
from planaria.workspace.storage.transfer import open_storage as open_place

pytestmark = pytest.mark.slow


def fill(storage: Storage) -> None:
    library, store = storage.get_workflow_library(), storage.get_artifact_store()
    library.add("flow", "def run(): return 1\n", "First")
    library.add("flow", "def run(): return 2\n", "Second")
    store.save("reports/2024", {"a": 1}, "A report", {"k": 1})
    store.save("large", bytes(3 << 20))
    storage.get_dependency_list().add("attrs>=24")
    storage.set_tool_definition("curl", "name: curl\n")
    storage.write(lambda documents: documents.put("tools/apis/x.json", b"{}"))
    root = make_snapshot(1)
    storage.get_snapshot_store().save("s", root)
    storage.get_snapshot_store().save("s", make_snapshot(2, parent=root))


@pytest.fixture(params=KINDS)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Another storage, of each kind."""
    directory = tmp_path / "other"
    directory.mkdir()
    opened = open_storage(request.param, address(request.param, request, directory), "tenant")
    yield opened
    opened.close()


def test_bootstrap(storage: Storage, other: Storage) -> None:
    """A workspace that was moved is the same in its new storage, versions, dates, data and snapshots included."""
    fill(storage)
    changes = bootstrap(storage, other)
    assert {change.action for change in changes} == {"added"}
    assert [(one.kind, one.name) for one in items(other)] == [
        ("artifact", "large"),
        ("artifact", "reports/2024"),
        ("requirements", "requirements.txt"),
        ("snapshot", "s"),
        ("tool", "apis/x.json"),
        ("tool", "curl.yaml"),
        ("workflow", "flow"),
    ]
    assert diff(storage, other) == diff(other, storage) == []
    assert bootstrap(storage, other) == pull(storage, other, delete=True) == []
    for one, same in ((storage, other), (other, storage)):
        assert one.get_workflow_library().versions("flow") == same.get_workflow_library().versions("flow")
        assert one.get_artifact_store().list() == same.get_artifact_store().list()
        assert one.get_artifact_store().load("large") == bytes(3 << 20)
        assert one.get_dependency_list().list() == ["attrs>=24"]
        digests = [version.digest for version in one.get_snapshot_store().history("s")]
        assert digests == [version.digest for version in same.get_snapshot_store().history("s")]


def test_what_differs(tmp_path: Path) -> None:
    """bootstrap keeps what differs by default; pull replaces it; delete removes what is only there."""
    here, there = planaria.FileStorage(tmp_path / "a"), planaria.SqliteStorage(tmp_path / "b.db")
    fill(here)
    bootstrap(here, there)
    here.get_workflow_library().add("flow", "def run(): return 3\n")
    here.get_artifact_store().save("reports/2024", "as text now")
    here.get_snapshot_store().save("s", make_snapshot(3))
    there.get_artifact_store().save("mine", 1)
    there.get_snapshot_store().save("mine", make_snapshot(4))
    changed = [("artifact", "reports/2024"), ("snapshot", "s"), ("workflow", "flow")]
    only = [("artifact", "mine"), ("snapshot", "mine")]
    assert [(one.kind, one.name) for one in diff(here, there) if one.action == "changed"] == changed
    assert [(one.kind, one.name) for one in diff(here, there) if one.action == "added"] == only
    assert [(one.kind, one.name) for one in diff(there, here) if one.action == "removed"] == only
    assert bootstrap(here, there) == [Change("kept", *one) for one in changed]  # type: ignore[arg-type]
    assert there.get_artifact_store().load("reports/2024") == {"a": 1}
    assert pull(here, there) == [Change("changed", *one) for one in changed]  # type: ignore[arg-type]
    assert there.get_artifact_store().load("reports/2024") == "as text now"
    assert [one.version for one in there.get_workflow_library().versions("flow")] == [1, 2, 3]
    assert len(there.get_snapshot_store().history("s")) == 3
    assert [(one.kind, one.name) for one in pull(here, there, delete=True)] == only
    assert diff(here, there) == []


def test_files_by_hand_travel(tmp_path: Path) -> None:
    """What was put into a directory by hand is moved as well."""
    for path, text in (
        ("workflows/flow.py", "def run(): pass\n"),
        ("workflows/broken.py", "def run(:\n"),
        ("artifacts/table.csv", "a,b\n"),
        ("requirements.txt", "# nothing yet\n"),
    ):
        (tmp_path / "a" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / path).write_text(text)
    here, there = planaria.FileStorage(tmp_path / "a"), planaria.SqliteStorage(tmp_path / "b.db")
    bootstrap(here, there)
    assert [one.name for one in there.get_workflow_library().list()] == ["broken", "flow"]
    assert there.get_artifact_store().load("table.csv") == "a,b\n"
    pull(there, planaria.FileStorage(tmp_path / "c"))
    assert (tmp_path / "c/requirements.txt").read_text() == "# nothing yet\n"
    assert (tmp_path / "c/workflows/broken.py").read_text() == "def run(:\n"


def test_what_was_removed_by_hand_comes_back(tmp_path: Path) -> None:
    """Workflows and artifacts whose files were removed by hand are brought again, as they are in the source."""
    source, target = planaria.FileStorage(tmp_path / "a"), planaria.FileStorage(tmp_path / "b")
    fill(source)
    bootstrap(source, target)
    target.get_workflow_library().add("flow", "def run(): return 3\n", "Third")
    (tmp_path / "b/workflows/flow.py").unlink()
    (tmp_path / "b/artifacts/reports/2024.json").unlink()
    assert [change.name for change in pull(source, target)] == ["reports/2024", "flow"]
    assert diff(source, target) == []
    assert target.get_workflow_library().versions("flow") == source.get_workflow_library().versions("flow")


def test_something_else_in_the_way(tmp_path: Path) -> None:
    """An artifact whose file is another's there is not brought, and nothing is lost."""
    here, there = planaria.FileStorage(tmp_path / "a"), planaria.FileStorage(tmp_path / "b")
    here.get_artifact_store().save("n", [1])
    there.get_artifact_store().save("n.json", [2])
    with pytest.raises(planaria.StorageError, match=r"artifacts/n\.json is something else there"):
        bootstrap(here, there)
    assert there.get_artifact_store().load("n.json") == [2]


def test_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place is a path or a URL."""
    monkeypatch.chdir(tmp_path)
    file, tenant = open_place("./dir"), open_place(f"file://{tmp_path}/dir?workspace=T")
    assert isinstance(file, planaria.FileStorage)
    assert file.path == tmp_path / "dir"
    assert isinstance(tenant, planaria.FileStorage)
    assert tenant.path == tmp_path / "dir/workspaces/%54"
    relative, absolute = (
        open_place("sqlite:///a%20b.db"),
        open_place(f"sqlite:///{tmp_path}/c.db?workspace=T"),
    )
    assert isinstance(relative, planaria.SqliteStorage)
    assert relative.path == tmp_path / "a b.db"
    assert isinstance(absolute, planaria.SqliteStorage)
    assert (absolute.path, absolute.workspace_id) == (tmp_path / "c.db", "T")
    redis = open_place("redis://localhost:1/3?prefix=p:&workspace=T&socket_timeout=2")
    assert isinstance(redis, planaria.RedisStorage)
    assert redis.prefix == "p:workspace/T:"


@pytest.mark.parametrize(
    "place", ["file:///d?workspace=../t", "sqlite:///d.db?workspace=.", "redis://h/0?workspace=a/b"]
)
def test_open_refused(place: str) -> None:
    """The id of a workspace that cannot be one is an error that names the place."""
    with pytest.raises(planaria.StorageError, match="cannot name a workspace"):
        open_place(place)
