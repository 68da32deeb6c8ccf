"""Documents in files whose changes are first kept in a log."""

from __future__ import annotations

import itertools
import os
import pickle
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from made_snapshots import make_snapshot

import planaria
from planaria.storage.backends import logged
from planaria.storage.backends.change_log import ChangeLog
from planaria.storage.backends.logged import LoggedBackend
from planaria.storage.documents import Backend


def put(backend: Backend, **documents: bytes) -> None:
    def action(there: Any) -> None:
        for name, data in documents.items():
            there.put(f"folder/{name}", data)

    backend.write(action)


def contents(backend: Backend) -> dict[str, bytes]:
    return backend.read(lambda documents: dict(documents.load_many("folder", documents.entries("folder"))))


def files(place: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in (place / "folder").glob("*")}


def test_a_log_becomes_files(tmp_path: Path) -> None:
    """What is written is in the log until that is folded, and is read all the same, before and after."""
    backend = LoggedBackend(tmp_path)
    put(backend, a=b"1", b=b"2")
    put(backend, a=b"3")
    assert files(tmp_path) == {}
    assert contents(backend) == contents(LoggedBackend(tmp_path)) == {"a": b"3", "b": b"2"}
    backend.fold()
    assert files(tmp_path) == {"a": b"3", "b": b"2"}
    backend.write(lambda documents: documents.drop("folder/a"))
    assert contents(backend) == {"b": b"2"}
    backend.fold()
    assert files(tmp_path) == contents(LoggedBackend(tmp_path)) == {"b": b"2"}


def end_of(place: Path) -> int:
    """Where the entries of a log end."""
    log = ChangeLog(place)
    log.refresh()
    return log.end


def test_space_behind_the_entries(tmp_path: Path) -> None:
    """The file grows once for many entries, and each process sees what others wrote into the space behind."""
    place = tmp_path / ".storage" / "log"
    first, second = LoggedBackend(tmp_path), LoggedBackend(tmp_path)
    sizes = set()
    for number in range(20):
        writer, reader = (first, second) if number % 2 else (second, first)
        put(writer, a=bytes([number]) * 500, b=b"")
        assert contents(reader) == {"a": bytes([number]) * 500, "b": b""}
        sizes.add(place.stat().st_size)
    assert len(sizes) == 1
    assert contents(LoggedBackend(tmp_path))["a"] == bytes([19]) * 500


def test_a_log_that_was_cut_off(tmp_path: Path) -> None:
    """Wherever the last entry was cut off, all before it is there, and writing goes on."""
    backend = LoggedBackend(tmp_path)
    place = tmp_path / ".storage" / "log"
    put(backend, a=b"1" * 20)
    before = end_of(place)
    put(backend, a=b"2" * 20, b=b"3")
    whole = place.read_bytes()[: end_of(place)]
    for end in range(before, len(whole)):
        zeros = bytes(200)  # written behind the entries, for the next ones
        for data in (whole[:end], whole[:end] + zeros):
            place.write_bytes(data)
            again = LoggedBackend(tmp_path)
            assert contents(again) == {"a": b"1" * 20}
            put(again, c=b"4")
            assert contents(again) == contents(LoggedBackend(tmp_path)) == {"a": b"1" * 20, "c": b"4"}
    for end in range(17):  # nothing was ever answered
        place.write_bytes(whole[:end])
        put(LoggedBackend(tmp_path), c=b"4")
        assert contents(LoggedBackend(tmp_path)) == {"c": b"4"}
    place.write_bytes(b"something else " * 2)
    with pytest.raises(planaria.StorageError, match="log is damaged"):
        contents(LoggedBackend(tmp_path))


def test_a_damaged_log(tmp_path: Path) -> None:
    """One changed bit is an error that names the place, and by which nothing is changed."""
    backend = LoggedBackend(tmp_path)
    place = tmp_path / ".storage" / "log"
    put(backend, a=b"1" * 20)
    put(backend, b=b"2" * 20)
    last = end_of(place)
    put(backend, c=b"3" * 20)
    whole = place.read_bytes()
    for at, bit in itertools.product(range(end_of(place)), range(8)):
        damaged = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
        if at == 7 and damaged[at : at + 1].isalnum():
            continue  # a layout to come
        place.write_bytes(damaged)
        again = LoggedBackend(tmp_path)
        with pytest.raises(planaria.StorageError, match="log is damaged"):
            contents(again)
        with pytest.raises(planaria.StorageError, match="log is damaged"):
            put(again, d=b"4")
        assert place.read_bytes() == damaged
    place.write_bytes(whole)
    assert sorted(contents(LoggedBackend(tmp_path))) == ["a", "b", "c"]
    place.write_bytes(whole[: last + 30] + b"?" + whole[last + 31 :])
    with pytest.raises(planaria.StorageError, match=rf"keep what was saved before.*truncate -s {last}\)"):
        contents(LoggedBackend(tmp_path))
    os.truncate(place, last)
    assert sorted(contents(LoggedBackend(tmp_path))) == ["a", "b"]


def test_a_log_of_a_later_version(tmp_path: Path) -> None:
    """A log in another layout is refused with what to do, and is left as it is."""
    put(LoggedBackend(tmp_path), a=b"1")
    place = tmp_path / ".storage" / "log"
    later = place.read_bytes().replace(b"log\n", b"log2", 1)
    place.write_bytes(later)
    for action in (contents, partial(put, b=b"2")):
        with pytest.raises(planaria.StorageError, match=r"later version of planaria.*update this one"):
            action(LoggedBackend(tmp_path))
    assert place.read_bytes() == later


def ends_anywhere(name: str, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch, number: int) -> bool:
    """Do something in which that call of a function of `os` fails, and all after it; whether it ended so."""
    call = getattr(os, name)
    left = number

    def failing(*args: Any, **keywords: Any) -> Any:
        nonlocal left
        left -= 1
        if left <= 0:
            raise OSError(5, "ended here")
        return call(*args, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing)
        try:
            act()
        except planaria.StorageError:
            return True
    return False


@pytest.mark.parametrize("name", ["replace", "fsync", "unlink", "open"])
def test_a_fold_that_ends_anywhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever system call a fold ends at, nothing is lost, and the next one folds everything."""
    wanted = {"a": b"3", "b": b"2", "d": b"4"}
    for number in itertools.count(1):
        place = tmp_path / str(number)
        backend = LoggedBackend(place)
        put(backend, a=b"1", c=b"5")
        backend.fold()
        put(backend, a=b"3", b=b"2", d=b"4")
        backend.write(lambda documents: documents.drop("folder/c"))
        if not ends_anywhere(name, backend.fold, monkeypatch, number):
            break
        assert contents(LoggedBackend(place)) == contents(backend) == wanted
        put(backend, e=b"6")
        backend.fold()
        assert files(place) == contents(LoggedBackend(place)) == wanted | {"e": b"6"}
        assert not list(place.rglob("*.partial"))
    assert number > 1


@pytest.mark.parametrize("name", ["replace", "fsync", "unlink", "open"])
def test_a_large_write_that_ends_anywhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever system call a write ends at that is too large for the log, all of it is there or none of it, and what
    was written before is.
    """
    monkeypatch.setattr(logged, "MOST", 100)
    before = {"a": b"1", "b": b"2"}
    after = {"a": bytes(100), "b": b"3"}
    seen = set()
    for number in itertools.count(1):
        place = tmp_path / str(number)
        backend = LoggedBackend(place)
        put(backend, **before)
        backend.fold()
        put(backend, a=before["a"])
        if not ends_anywhere(name, partial(put, backend, **after), monkeypatch, number):
            break
        found = contents(LoggedBackend(place))
        assert found == contents(backend)
        assert found in (before, after)
        seen.add(found["a"])
    assert contents(LoggedBackend(place)) == after
    assert before["a"] in seen


def test_folds_and_writes_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a log that is large is folded in the background, others write, and nothing is lost."""
    monkeypatch.setattr(logged, "_FOLD", 2000)
    places = [LoggedBackend(tmp_path), LoggedBackend(tmp_path)]
    put(places[0], first=b"")
    beginning = (tmp_path / ".storage" / "log").read_bytes()

    def work(number: int) -> None:
        for count in range(40):
            put(places[number % 2], **{f"n{number}": b"%d" % count * 50, f"m{number}": b"%d" % count})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in places:
        one.close()
    wanted = {f"{name}{number}": b"39" * size for number in range(4) for name, size in (("n", 50), ("m", 1))}
    wanted["first"] = b""
    assert contents(LoggedBackend(tmp_path)) == wanted
    assert not (tmp_path / ".storage" / "log").read_bytes().startswith(beginning)
    places[0].fold()
    assert files(tmp_path) == wanted


def test_a_fold_leaves_out_what_nothing_needs(tmp_path: Path) -> None:
    """Of the states of a name that keeps one, only the last and what it rests on become files, wherever the
    store is read."""
    store = planaria.FileStore(tmp_path)
    root = make_snapshot(1)
    for seed in range(2, 30):
        store.save("x", make_snapshot(seed, parent=root), keep=1)
    store._backend.fold()
    assert len([one for one in (tmp_path / "record").rglob("*") if one.is_file()]) == 2
    loaded = planaria.FileStore(tmp_path).load("x")
    assert bytes(pickle.loads(pickle.dumps(store)).load("x")) == bytes(loaded)
    assert (loaded, loaded.parent) == (make_snapshot(29, parent=root), root)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork()")
def test_a_forked_child_writes_too(tmp_path: Path) -> None:
    """A child of a fork uses the log as any other process does."""
    backend = LoggedBackend(tmp_path)
    put(backend, a=b"1")
    with backend._here.turn:  # as when another thread writes meanwhile
        child = os.fork()
        if not child:
            put(backend, b=b"2")
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert contents(backend) == {"a": b"1", "b": b"2"}
