"""All backends behave alike."""

from __future__ import annotations

import operator
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planaria.storage.documents import CHUNK, Backend, Documents

pytestmark = pytest.mark.slow


def put(backend: Backend, path: str, data: bytes) -> None:
    backend.write(lambda documents: documents.put(path, data))


def fetch(backend: Backend, path: str) -> bytes | None:
    return backend.read(lambda documents: documents.fetch(path))


def test_documents(backend: Backend) -> None:
    """A document is there with what was written last, until it is dropped."""
    assert fetch(backend, "tools/a.yaml") is None
    put(backend, "tools/a.yaml", b"one")
    put(backend, "tools/a.yaml", b"")
    assert fetch(backend, "tools/a.yaml") == b""
    put(backend, "tools/a.yaml", b"x" * (2 * CHUNK + 7))
    assert fetch(backend, "tools/a.yaml") == b"x" * (2 * CHUNK + 7)
    backend.write(lambda documents: documents.drop("tools/a.yaml"))
    assert fetch(backend, "tools/a.yaml") is None
    backend.write(lambda documents: documents.drop("tools/a.yaml"))


def test_entries_and_folders(backend: Backend) -> None:
    """Entries tell what is directly in a folder; folders tell where there are documents, hidden ones aside."""
    for path in ("a/x", "a/y", "a/b/z", "a/.info/h", "c/w", "top.txt"):
        put(backend, path, path.encode())

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

    backend.read(action)
    backend.write(lambda documents: documents.drop("a/b/z"))
    assert backend.read(lambda documents: documents.folders("a")) == ["a"]


def test_a_write_is_one(backend: Backend) -> None:
    """When an action raises, nothing of it is there; what it puts it can fetch."""
    put(backend, "a", b"old")

    def action(documents: Documents) -> None:
        documents.put("a", b"new")
        documents.drop("b")
        assert documents.fetch("a") == b"new"
        assert documents.fetch("b") is None
        raise KeyError("no")

    with pytest.raises(KeyError):
        backend.write(action)
    assert fetch(backend, "a") == b"old"


def test_tokens_and_revisions_show_changes(backend: Backend) -> None:
    """Whatever is written gives another token, also the same bytes; a folder's revision moves with it."""
    put(backend, "f/a", b"1")
    put(backend, "g/a", b"1")
    time.sleep(0.1)  # what was written just now has no token that lasts
    before = backend.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    again = backend.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    assert before == again
    put(backend, "f/a", b"1")
    after = backend.read(
        lambda documents: (documents.entries("f"), documents.revision("f"), documents.revision("g"))
    )
    assert after[0]["a"].token != before[0]["a"].token
    assert after[1].value != before[1].value
    assert after[2] == before[2]


def test_upload(backend: Backend) -> None:
    """Contents that come in pieces are seen when they are adopted, and not at all when they are discarded."""
    upload = backend.upload()
    for number in range(5):
        upload.write(bytes([number]) * 700_000)
    assert fetch(backend, "a/big") is None
    backend.write(lambda documents: documents.adopt("a/big", upload))
    upload.discard()
    assert fetch(backend, "a/big") == b"".join(bytes([number]) * 700_000 for number in range(5))
    other = backend.upload()
    other.write(b"other")
    other.discard()
    assert fetch(backend, "a/big") != b"other"
    empty = backend.upload()
    backend.write(lambda documents: documents.adopt("a/empty", empty))
    assert fetch(backend, "a/empty") == b""


def test_pieces_outlive_a_replacement(backend: Backend) -> None:
    """Who has begun to read a document reads the same one to its end, whatever replaces it."""
    data = b"".join(bytes([number]) * CHUNK for number in range(4))
    put(backend, "a", data)
    pieces = backend.read(lambda documents: documents.chunks("a"))
    assert pieces is not None
    first = next(pieces)
    put(backend, "a", b"new")
    assert first + b"".join(pieces) == data
    assert backend.read(lambda documents: documents.chunks("none")) is None


def test_threads(backend: Backend) -> None:
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
                backend.write(increment)
                one, other = backend.read(look)
                assert one == other
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert fetch(backend, "n/a") == b"60"


PATHS = st.sampled_from(["a", "f/a", "f/b", "f/g/a", "h/.info/x"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(PATHS, st.none() | st.binary(max_size=4)), max_size=4), max_size=8))
def test_model(backend: Backend, writes: list[list[tuple[str, bytes | None]]]) -> None:
    """Whatever is written and dropped, a dictionary would hold the same."""
    model: dict[str, bytes] = {}
    paths = ["a", "f/a", "f/b", "f/g/a", "h/.info/x"]

    def clear(documents: Documents) -> None:
        for path in paths:
            documents.drop(path)

    backend.write(clear)
    for steps in writes:

        def action(documents: Documents, steps: list[tuple[str, bytes | None]] = steps) -> None:
            for path, data in steps:
                if data is None:
                    documents.drop(path)
                else:
                    documents.put(path, data)

        backend.write(action)
        for path, data in steps:
            if data is None:
                model.pop(path, None)
            else:
                model[path] = data
        assert backend.read(lambda one: [one.fetch(path) for path in paths]) == [
            model.get(path) for path in paths
        ]
    folders = sorted({path.rpartition("/")[0] for path in model if not path.startswith("h")})
    assert backend.read(lambda one: one.folders("")) == folders
    for folder in ("", "f", "f/g", "h/.info"):
        assert sorted(backend.read(operator.methodcaller("entries", folder))) == sorted(
            path.rpartition("/")[2] for path in model if path.rpartition("/")[0] == folder
        )
