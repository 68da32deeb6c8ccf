"""All storages behave alike."""

from __future__ import annotations

import operator
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_snapshots import make_snapshot
from storage_kinds import open_storage

import planaria
from planaria.workspace.storage.storage import PIECE, Documents, Storage


def put(storage: Storage, path: str, data: bytes) -> None:
    storage.write(lambda documents: documents.put(path, data))


def fetch(storage: Storage, path: str) -> bytes | None:
    return storage.read(lambda documents: documents.fetch(path))


def test_documents(storage: Storage) -> None:
    """A document is there with what was written last, until it is dropped."""
    assert fetch(storage, "tools/a.yaml") is None
    put(storage, "tools/a.yaml", b"one")
    put(storage, "tools/a.yaml", b"")
    assert fetch(storage, "tools/a.yaml") == b""
    put(storage, "tools/a.yaml", b"x" * (2 * PIECE + 7))
    assert fetch(storage, "tools/a.yaml") == b"x" * (2 * PIECE + 7)
    storage.write(lambda documents: documents.drop("tools/a.yaml"))
    assert fetch(storage, "tools/a.yaml") is None
    storage.write(lambda documents: documents.drop("tools/a.yaml"))


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


def test_entries_and_folders(storage: Storage) -> None:
    """Entries tell what is directly in a folder; folders tell where there are documents, hidden ones aside."""
    for path in ("a/x", "a/y", "a/b/z", "a/.info/h", "c/w", "top.txt"):
        put(storage, path, path.encode())

    def action(documents: Documents) -> None:
        assert sorted(documents.entries("a")) == ["x", "y"]
        assert sorted(documents.entries("a/.info")) == ["h"]
        assert sorted(documents.entries("")) == ["top.txt"]
        assert documents.entries("nowhere") == {}
        assert documents.folders("a") == ["a", "a/b"]
        assert documents.folders("a/x") == []
        assert documents.entries("a")["x"].size == 3
        assert abs(documents.entries("a")["x"].modified - time.time()) < 60
        assert documents.entry("a/x") is not None
        assert documents.entry("a") is None
        assert dict(documents.load_many("a", ["x", "no", "y"])) == {"x": b"a/x", "y": b"a/y"}

    storage.read(action)
    storage.write(lambda documents: documents.drop("a/b/z"))
    assert storage.read(lambda documents: documents.folders("a")) == ["a"]


def test_a_write_is_one(storage: Storage) -> None:
    """When an action raises, nothing of it is there; what it puts it can fetch."""
    put(storage, "a", b"old")

    def action(documents: Documents) -> None:
        documents.put("a", b"new")
        documents.drop("b")
        assert documents.fetch("a") == b"new"
        assert documents.fetch("b") is None
        raise KeyError("no")

    with pytest.raises(KeyError):
        storage.write(action)
    assert fetch(storage, "a") == b"old"


def test_tokens_and_revisions_tell_changes(storage: Storage) -> None:
    """Whatever is written gives another token, also the same bytes; a folder's revision moves with it."""
    put(storage, "f/a", b"1")
    put(storage, "g/a", b"1")
    time.sleep(0.1)  # what was written just now has no token that lasts
    before = storage.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    again = storage.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    assert before == again
    put(storage, "f/a", b"1")
    after = storage.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    assert after[0]["a"].token != before[0]["a"].token
    assert after[1].value != before[1].value
    assert after[2] == before[2]


def test_upload(storage: Storage) -> None:
    """Contents that come in pieces are seen when they are adopted, and not at all when they are discarded."""
    upload = storage.upload()
    for number in range(5):
        upload.write(bytes([number]) * 700_000)
    assert fetch(storage, "a/big") is None
    storage.write(lambda documents: documents.adopt("a/big", upload))
    upload.discard()
    assert fetch(storage, "a/big") == b"".join(bytes([number]) * 700_000 for number in range(5))
    other = storage.upload()
    other.write(b"other")
    other.discard()
    assert fetch(storage, "a/big") != b"other"
    empty = storage.upload()
    storage.write(lambda documents: documents.adopt("a/empty", empty))
    assert fetch(storage, "a/empty") == b""


def test_pieces_outlive_a_replacement(storage: Storage) -> None:
    """Who has begun to read a document reads the same one to its end, whatever replaces it."""
    data = b"".join(bytes([number]) * PIECE for number in range(4))
    put(storage, "a", data)
    pieces = storage.read(lambda documents: documents.pieces("a"))
    assert pieces is not None
    first = next(pieces)
    put(storage, "a", b"new")
    assert first + b"".join(pieces) == data
    assert storage.read(lambda documents: documents.pieces("none")) is None


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


def test_threads(storage: Storage) -> None:
    """Threads that write and read at once lose nothing, and see whole writes."""
    failures: list[BaseException] = []

    def increment(documents: Documents) -> None:
        number = int(documents.fetch("n/a") or b"0") + 1
        documents.put("n/a", str(number).encode())
        documents.put("n/b", str(number).encode())

    def look(documents: Documents) -> tuple[bytes | None, bytes | None]:
        return documents.fetch("n/a"), documents.fetch("n/b")

    def work() -> None:
        try:
            for _ in range(15):
                storage.write(increment)
                one, other = storage.read(look)
                assert one == other
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert fetch(storage, "n/a") == b"60"


PATHS = st.sampled_from(["a", "f/a", "f/b", "f/g/a", "h/.info/x"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(PATHS, st.none() | st.binary(max_size=4)), max_size=4), max_size=8))
def test_model(storage: Storage, writes: list[list[tuple[str, bytes | None]]]) -> None:
    """Whatever is written and dropped, a dictionary would hold the same."""
    model: dict[str, bytes] = {}
    paths = ["a", "f/a", "f/b", "f/g/a", "h/.info/x"]

    def clear(documents: Documents) -> None:
        for path in paths:
            documents.drop(path)

    storage.write(clear)
    for steps in writes:

        def action(documents: Documents, steps: list[tuple[str, bytes | None]] = steps) -> None:
            for path, data in steps:
                if data is None:
                    documents.drop(path)
                else:
                    documents.put(path, data)

        storage.write(action)
        for path, data in steps:
            if data is None:
                model.pop(path, None)
            else:
                model[path] = data
        assert storage.read(lambda one: [one.fetch(path) for path in paths]) == [
            model.get(path) for path in paths
        ]
    folders = sorted({path.rpartition("/")[0] for path in model if not path.startswith("h")})
    assert storage.read(lambda one: one.folders("")) == folders
    for folder in ("", "f", "f/g", "h/.info"):
        assert sorted(storage.read(operator.methodcaller("entries", folder))) == sorted(
            path.rpartition("/")[2] for path in model if path.rpartition("/")[0] == folder
        )
