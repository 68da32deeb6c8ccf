"""All storages behave alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_snapshots import make_snapshot
from storage_kinds import open_storage

import planaria
from planaria.storage.documents import Documents
from planaria.workspace.storage.storage import Storage


def put(storage: Storage, path: str, data: bytes) -> None:
    storage.write(lambda documents: documents.put(path, data))


def fetch(storage: Storage, path: str) -> bytes | None:
    return storage.read(lambda documents: documents.fetch(path))


@pytest.mark.parametrize("stands", ["directory", "file", "bad name"])
def test_a_write_that_cannot_be_carried_out(tmp_path: Path, stands: str) -> None:
    """A transaction with a file for which there is no place changes nothing, and the next ones are as ever."""
    storage = planaria.FileStorage(tmp_path)
    path = "artifacts/con.json" if stands == "bad name" else "artifacts/one/two.json"
    (tmp_path / "artifacts").mkdir()
    if stands == "directory":
        (tmp_path / path).mkdir(parents=True)
    elif stands == "file":
        (tmp_path / "artifacts" / "one").write_bytes(b"")

    def both(documents: Documents) -> None:
        documents.put("artifacts/other.json", b"1")
        documents.put(path, b"1")

    with pytest.raises(planaria.StorageError, match=r"con\.json|remove it"):
        storage.write(both)
    assert fetch(storage, "artifacts/other.json") is None
    put(storage, "artifacts/other.json", b"2")
    assert fetch(storage, "artifacts/other.json") == b"2"


def test_workspaces_are_apart(storage_kind: str, place: str) -> None:
    """Tenants in one place see nothing of each other, whatever their ids look like."""
    ids = [None, "a", "A", "a.b", "default", "workspace", "x" * 100, "ä"]
    opened = [open_storage(storage_kind, place, one) for one in ids]
    for number, one in enumerate(opened):
        put(one, "tools/t.yaml", str(number).encode())
        one.get_artifact_store().save("n", number)
        one.get_dependency_list().add(f"p{number}")
    for number, one in enumerate(opened):
        assert fetch(one, "tools/t.yaml") == str(number).encode()
        assert [artifact.name for artifact in one.get_artifact_store().list()] == ["n"]
        assert one.get_artifact_store().load("n") == number
        assert one.get_dependency_list().list() == [f"p{number}"]
        one.close()


@pytest.mark.parametrize(
    "workspace_id", ["", ".", "..", "a/b", "../x", "a\0", ".hidden", "con", "a:b", "x" * 200, "x" * 181]
)
def test_workspace_ids_refused(tmp_path: Path, workspace_id: str) -> None:
    """An id that could lead elsewhere is refused."""
    with pytest.raises(ValueError, match="cannot name a workspace"):
        planaria.FileStorage(tmp_path, workspace_id=workspace_id)


def test_snapshots(storage_kind: str, place: str) -> None:
    """Each workspace has a store of snapshots of its own."""
    from planaria.stores.store import Store

    stores = [open_storage(storage_kind, place, one).get_snapshot_store() for one in (None, "a", "A")]
    assert all(isinstance(store, Store) for store in stores)
    assert [store.list() for store in stores] == [[], [], []]
    stores[1].save("s", make_snapshot(1))
    assert [open_storage(storage_kind, place, one).list_snapshots() for one in (None, "a", "A")] == [
        [],
        ["s"],
        [],
    ]
    storage = open_storage(storage_kind, place, "a")
    assert storage.get_snapshot_store() is storage.get_snapshot_store()
    storage.close()
    storage.close()
    assert storage.list_snapshots() == ["s"]


def test_tool_definitions(storage: Storage) -> None:
    """Definitions of tools are kept as text, by name; other files of tools can be had, too."""
    assert storage.get_tool_definitions() == []
    storage.set_tool_definition("zip", "name: zip\n")
    storage.set_tool_definition("curl", "name: cürl\n")
    put(storage, "tools/old.yml", b"\xef\xbb\xbfname: old\n")
    put(storage, "tools/apis/petstore.json", b"{}")
    put(storage, "tools/README.md", b"#")
    assert [(one.origin, one.text) for one in storage.get_tool_definitions()] == [
        ("tools/curl.yaml", "name: cürl\n"),
        ("tools/old.yml", "name: old\n"),
        ("tools/zip.yaml", "name: zip\n"),
    ]
    assert storage.get_tool_file("apis/petstore.json") == b"{}"
    assert storage.get_tool_file("apis/none.json") is None
    storage.set_tool_definition("old", "name: new\n")
    assert [one.origin for one in storage.get_tool_definitions()][1] == "tools/old.yaml"
    assert storage.remove_tool_definition("old")
    assert not storage.remove_tool_definition("old")
    put(storage, "tools/bad.yaml", b"\xff")
    with pytest.raises(planaria.StorageError, match=r"tools/bad\.yaml is not UTF-8"):
        storage.get_tool_definitions()
    for name in ("../x", "a/b", "", ".x"):
        with pytest.raises(ValueError, match="cannot name"):
            storage.set_tool_definition(name, "")
    with pytest.raises(ValueError, match="cannot name"):
        storage.get_tool_file("../requirements.txt")
