"""Artifacts: their types, their names, their files."""

from __future__ import annotations

import datetime
import io
import json
import math
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import planaria
from planaria.workspace.artifact_data import KINDS, decode_data, encode_data
from planaria.workspace.storage.storage import Storage

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.dates()
    | st.decimals(allow_nan=False)
)
KEYS = st.text() | st.integers() | st.booleans() | st.none() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner) | st.frozensets(KEYS)
    ),
    max_leaves=15,
)


def same(a: Any, b: Any) -> bool:
    """Equal in value and type, all the way down; nan is itself."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(same, a.values(), b.values()))
    return bool(a == b)


@given(VALUES)
def test_types_come_back(value: Any) -> None:
    """Whatever is kept comes back equal and of the same types: tuples, ints as keys, all of it."""
    kind, data = encode_data(value)
    assert kind in KINDS
    assert same(decode_data(kind, data, "x"), value)


@pytest.mark.parametrize(
    ("value", "kind", "file"),
    [
        ({"a": [1, 2.5, None, "ü", True]}, "json", "n.json"),
        ([], "json", "n.json"),
        ("text\r\nmore\n", "text", "n.txt"),
        (b"\0\xff", "bytes", "n.bin"),
        (b"\x89PNG\r\n\x1a\n...", "png", "n.png"),
        ((1, 2), "value", "n.value"),
        ({1: "a"}, "value", "n.value"),
        ([math.nan], "value", "n.value"),
        ("\ud800", "value", "n.value"),
        pytest.param(10**5000, "value", "n.value", id="large int"),
        ({1, 2}, "value", "n.value"),
        (datetime.date(2026, 1, 2), "value", "n.value"),
    ],
)
def test_kinds(storage: Storage, value: Any, kind: str, file: str) -> None:
    """Data is kept in the plainest form that gives it back exactly."""
    store = storage.get_artifact_store()
    artifact = store.save("n", value)
    assert (artifact.kind, artifact.path) == (kind, f"artifacts/{file}")
    assert same(store.load("n"), value)
    assert store.get("n") == artifact
    assert store.list() == [artifact]


def test_arrays_and_frames(storage: Storage) -> None:
    """Numpy arrays and pandas frames come back with their types, labels and values."""
    import numpy as np
    import pandas as pd

    store = storage.get_artifact_store()
    array = np.arange(12, dtype="<u2").reshape(3, 4)
    store.save("array", array)
    loaded = store.load("array")
    assert loaded.dtype == array.dtype
    assert (loaded == array).all()
    frame = pd.DataFrame(
        {"a": [1, 2], "b": ["x", None], "t": pd.to_datetime(["2026-01-01", None])}, index=["i", "j"]
    )
    frame["c"] = pd.Categorical(["u", "v"])
    store.save("frame", frame)
    pd.testing.assert_frame_equal(store.load("frame"), frame)


def test_what_cannot_be_kept(storage: Storage) -> None:
    """An object with no form outside of its process is refused, and the old one stays."""
    store = storage.get_artifact_store()
    store.save("n", 1)
    with pytest.raises(planaria.ArtifactError, match="cannot be kept"):
        store.save("n", object())
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(planaria.ArtifactError, match="nested deeper"):
        store.save("n", nested)
    assert store.load("n") == 1


def test_info(storage: Storage) -> None:
    """An artifact has its name, path, description, metadata and when it was saved."""
    store = storage.get_artifact_store()
    before = datetime.datetime.now(datetime.UTC)
    artifact = store.save("reports/2024", {"repos": 42}, "GitHub analysis", {"tags": ["x"], "n": 1})
    info = artifact.info()
    assert info == {
        "name": "reports/2024",
        "path": "artifacts/reports/2024.json",
        "description": "GitHub analysis",
        "metadata": {"tags": ["x"], "n": 1},
        "created_at": artifact.created_at,
    }
    assert (
        before <= datetime.datetime.fromisoformat(artifact.created_at) <= datetime.datetime.now(datetime.UTC)
    )
    assert artifact.created_at.endswith("+00:00")
    assert artifact.size > 5


def test_unknown(storage: Storage) -> None:
    """What is not there cannot be loaded, and is None, False or absent otherwise."""
    store = storage.get_artifact_store()
    assert store.get("x") is None
    assert not store.exists("x")
    assert not store.delete("x")
    assert store.list() == []
    assert store.search("x") == []
    for ask in (store.load, store.reader):
        with pytest.raises(planaria.ArtifactError, match="there is no artifact 'x'"):
            ask("x")


def test_replacing_and_deleting(storage: Storage) -> None:
    """A second save replaces the first, its file too when the kind is another; delete removes all of it."""
    store = storage.get_artifact_store()
    store.save("n", {"a": 1}, "first", {"k": 1})
    store.save("n", "text")
    assert [(one.name, one.kind, one.description, one.metadata) for one in store.list()] == [
        ("n", "text", "", {})
    ]
    assert store.exists("n")
    assert store.delete("n")
    assert store.list() == []
    assert storage.read(lambda documents: documents.entries("artifacts/.info")) == {}


@pytest.mark.parametrize(
    "name",
    ["", "/", "a/", "/a", "a//b", "../x", "a/../b", ".", "..", ".info/x", "a/.info", "a\\b", "a\0b", "a\nb", "C:x",
     "nul", "aux.txt", "a.", " a", "a*", "x" * 181, "%" * 80, "/".join("abcdefghijklmnopq"), "e\u0301"],
)  # fmt: skip
def test_names_refused(storage: Storage, name: str) -> None:
    """A name that could lead elsewhere, on whatever system, is refused by everything that takes one."""
    store = storage.get_artifact_store()
    for use in (
        lambda: store.save(name, 1),
        lambda: store.load(name),
        lambda: store.get(name),
        lambda: store.exists(name),
        lambda: store.delete(name),
        lambda: store.reader(name),
        lambda: store.writer(name, "text"),
    ):
        with pytest.raises(planaria.ArtifactError, match="cannot name an artifact"):
            use()


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "A b",
        "ü",
        "v1.0",
        "a.b.c",
        "report.csv",
        "日本",
        "a-b_c",
        "x/y/z",
        "x" * 180,
        "%2e%2e",
        "50%/a%2Fb",
    ],
)
def test_names_allowed(storage: Storage, name: str) -> None:
    """Plain words are names, also with spaces, dots, letters of all kinds, and folders."""
    store = storage.get_artifact_store()
    store.save(name, name)
    assert store.load(name) == name
    assert [one.name for one in store.list()] == [name]


def test_names_that_meet_in_a_file(storage: Storage) -> None:
    """Artifacts whose files would have one name are kept apart, in whatever order they come."""
    store = storage.get_artifact_store()
    names = ["a", "a.json", "a.json.json", "a.txt", "a.b"]
    for number, name in enumerate(names):
        store.save(name, {"number": number})
    for number, name in enumerate(names):
        assert store.load(name) == {"number": number}
    assert len({one.path for one in store.list()}) == len(names)
    store.save("a", {"number": 9})
    assert [store.load(name)["number"] for name in names] == [9, 1, 2, 3, 4]
    assert store.delete("a.json")
    assert sorted(one.name for one in store.list()) == sorted(set(names) - {"a.json"})


def test_folders_in_the_way(storage: Storage) -> None:
    """An artifact cannot be where others have their folder, nor below another's file."""
    store = storage.get_artifact_store()
    store.save("a/b", 1)
    store.save("file.bin", b"x")
    store.save("a", 1)  # its file is a.json
    with pytest.raises(planaria.ArtifactError, match=r"an artifact 'file\.bin', which is not a folder"):
        store.save("file.bin/x", 1)
    store.save("c.txt/x", 1)
    with pytest.raises(planaria.ArtifactError, match=r"a folder 'c\.txt'"):
        store.save("c.txt", "x")


def test_streams(storage: Storage) -> None:
    """A large artifact is written and read in pieces, in memory that does not grow with it."""
    store = storage.get_artifact_store()
    block = bytes(range(256)) * 1024  # 256 KiB
    tracemalloc.start()
    with store.writer("big", "bytes", "large", {"n": 1}) as out:
        for _ in range(160):
            out.write(block)
        assert not store.exists("big")
    count = 0
    with store.reader("big") as file:
        while piece := file.read(len(block)):
            assert piece == block
            count += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 160
    assert peak < 8 * len(block) + (1 << 22)
    artifact = store.get("big")
    assert artifact == out.artifact
    assert artifact is not None
    assert artifact.size == 160 * len(block)


def test_reader_is_a_file(storage: Storage) -> None:
    """What `reader` gives can be read by lines, and by whatever takes a file."""
    store = storage.get_artifact_store()
    store.save("table.csv", "a,b\n1,2\n")
    with store.reader("table.csv") as file:
        assert file.readlines() == [b"a,b\n", b"1,2\n"]
    assert file.closed
    assert json.load(io.TextIOWrapper(store.reader(store.save("j", [1]).name))) == [1]


def test_writer_that_fails(storage: Storage) -> None:
    """When the block of a writer raises, the old artifact is there as before."""
    store = storage.get_artifact_store()
    store.save("n", "old")

    def write() -> None:
        with store.writer("n", "text") as out:
            out.write(b"new")
            raise KeyError("stop")

    with pytest.raises(KeyError):
        write()
    assert store.load("n") == "old"


def test_writer_by_hand(storage: Storage) -> None:
    """A writer can also be committed or discarded by calls, once."""
    store = storage.get_artifact_store()
    out = store.writer("n", "json")
    out.write(b"[1,")
    out.write(b"2]")
    assert out.commit() == store.get("n")
    assert out.commit() == out.artifact
    with pytest.raises(planaria.ArtifactError, match="complete"):
        out.write(b"x")
    out.discard()
    assert store.load("n") == [1, 2]
    other = store.writer("m", "json")
    other.discard()
    assert not store.exists("m")
    with pytest.raises(planaria.ArtifactError, match="not a kind of artifact"):
        store.writer("m", "pickle")


@pytest.mark.parametrize(
    ("kind", "data"),
    [("json", b"{"), ("json", b"[" * 100_000), ("json", b"\xff"), ("json", b"9" * 5000), ("text", b"\xff"),
     ("value", b""), ("value", b"\x01\xff")],
)  # fmt: skip
def test_data_that_is_not_of_its_kind(storage: Storage, kind: str, data: bytes) -> None:
    """Bytes that are not of their kind, as a guest can send them, are an ArtifactError when they are loaded, and
    can be read as bytes.
    """
    store = storage.get_artifact_store()
    with store.writer("n", kind) as out:
        out.write(data)
    with pytest.raises(planaria.ArtifactError, match=f"'n' is not a valid {kind}"):
        store.load("n")
    with store.reader("n") as file:
        assert file.read() == data


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(sorted(KINDS)), data=st.binary(max_size=60))
def test_any_bytes_of_any_kind(kind: str, data: bytes) -> None:
    """Decoding gives a value or an ArtifactError, whatever the bytes."""
    try:
        decode_data(kind, data, "n")
    except planaria.ArtifactError:
        pass


@pytest.mark.parametrize(
    "metadata",
    [
        {1: 2},
        {"a": (1,)},
        {"a": math.inf},
        {"a": b""},
        [1],
        {"a": object()},
        {"a": "\ud800"},
        {"a": "x" * 70_000},
    ],
)
def test_metadata_refused(storage: Storage, metadata: Any) -> None:
    """Metadata is a dict of JSON of bounded size; anything else is refused."""
    with pytest.raises(planaria.ArtifactError, match="metadata"):
        storage.get_artifact_store().save("n", 1, metadata=metadata)


def test_search(storage: Storage) -> None:
    """Artifacts are found by name, description and metadata, and can be filtered by exact values."""
    store = storage.get_artifact_store()
    store.save("github_repos", 1, "Repositories of octocat", {"source": "github", "year": 2026})
    store.save("weather", 1, "Temperatures", {"source": "dwd", "tags": ["climate"]})
    store.save("notes/github", 1, "Ideas", {"year": 2026})
    assert [one.name for one, _ in store.search("GitHub")] == ["notes/github", "github_repos"]
    assert [one.name for one, _ in store.search("repository")] == ["github_repos"]
    assert [one.name for one, _ in store.search("climate")] == ["weather"]
    assert [one.name for one, _ in store.search("dwd")] == ["weather"]
    assert [one.name for one in store.list(metadata={"year": 2026})] == ["github_repos", "notes/github"]
    assert [one.name for one in store.list(metadata={"year": None})] == []
    assert [one.name for one, _ in store.search("github", 1, {"source": "github"})] == ["github_repos"]
    store.delete("weather")
    assert store.search("climate") == []


def test_files_put_there_by_hand(tmp_path: Path) -> None:
    """A file among the artifacts is one, of the kind that its extension names; an edited one counts as it stands."""
    storage = planaria.FileStorage(tmp_path)
    store = storage.get_artifact_store()
    folder = tmp_path / "artifacts"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "deep/er/table.csv").write_text("a,b\n")
    (folder / "raw").write_bytes(b"\0")
    (folder / ".hidden").write_text("")
    (folder / "link").symlink_to("/etc/passwd")
    assert [(one.name, one.kind) for one in store.list()] == [
        ("config.json", "json"),
        ("deep/er/table.csv", "text"),
        ("raw", "bytes"),
    ]
    assert store.load("config.json") == {"a": 1}
    assert not store.exists("link")
    store.save("config", {"b": 2}, "mine")
    assert store.load("config.json") == {"a": 1}
    store.save("n", {"a": 1}, "kept")
    (folder / "n.json").write_text('{"a": 2}\n')
    assert store.load("n") == {"a": 2}
    edited = store.get("n")
    assert edited is not None
    assert edited.description == "kept"
    (folder / "n.json").write_text("{")
    with pytest.raises(planaria.ArtifactError, match="is not a valid json"):
        store.load("n")
    (folder / "n.json").unlink()
    assert store.get("n") is None
    assert [one.name for one in store.list()] == ["config", "config.json", "deep/er/table.csv", "raw"]
    assert store.delete("deep/er/table.csv")
    assert not (folder / "deep").exists()


def test_links_lead_nowhere(tmp_path: Path) -> None:
    """A symbolic link below the artifacts is followed neither to read nor to write."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    base = tmp_path / "workspace"
    (base / "artifacts").mkdir(parents=True)
    (base / "artifacts/way").symlink_to(outside)
    (base / "artifacts/file.txt").symlink_to(outside / "secret.txt")
    store = planaria.FileStorage(base).get_artifact_store()
    assert store.list() == []
    assert not store.exists("file.txt")
    for use in (
        lambda: store.load("way/secret.txt"),
        lambda: store.save("way/x", 1),
        lambda: store.exists("way/x"),
    ):
        with pytest.raises(planaria.StorageError, match="symbolic link"):
            use()
    store.save("file.txt", "mine")
    assert (outside / "secret.txt").read_text() == "secret"
    assert store.load("file.txt") == "mine"


def test_damaged_info(tmp_path: Path) -> None:
    """What is kept beside an artifact cannot lead out of the store when it was altered; it is a StorageError."""
    store = planaria.FileStorage(tmp_path).get_artifact_store()
    store.save("n", "x")
    info = tmp_path / "artifacts/.info/n.json"
    record = json.loads(info.read_text())
    for change in (
        {"file": "../../../etc/passwd"},
        {"kind": "pickle"},
        {"name": "m"},
        {"metadata": 1},
        {"file": 1},
    ):
        time.sleep(0.06)
        info.write_text(json.dumps({**record, **change}))
        with pytest.raises(planaria.StorageError, match="is damaged"):
            store.load("n")
