"""Restoring what was forged."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
from typing import Any

import pytest
from example_counts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import planaria
from planaria.snapshot import restore
from planaria.snapshot.envelope import Section, canonical_json, pack
from planaria.snapshot.snapshot import Snapshot
from planaria_kernel.protocol import decode, encode

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """One with open files, callbacks and directories."""
    session = planaria.Session(callbacks=[{"name": "ask", "fn": lambda a, *b: 1}])
    session.execute(
        "import os\nos.makedirs('a/b')\nf = open('a/f', 'w+')\nf.write('x' * 100_000); f.flush(); y = 5"
    )
    session.execute("listing = os.scandir('.'); next(listing)")
    return session.snapshot_state()


@pytest.fixture(scope="module")
def session() -> planaria.Session:
    """The one over which everything is restored."""
    session = planaria.Session(callbacks=[{"name": "ask", "fn": lambda a, *b: 1}])
    session.execute("x = 1")
    return session


def attempt(session: planaria.Session, data: bytes) -> None:
    """Restore, which succeeds or raises a SnapshotError, after which the session is as it was."""
    good = session.snapshot_state()
    try:
        session.restore_state(data)
    except planaria.SnapshotError:
        assert session.execute("x").value == 1
    else:
        session.run("y", timeout=0.5)
    session.restore_state(good)


def replaced(snapshot: Snapshot, kind: str, contents: bytes) -> bytes:
    sections = [one for one in snapshot.container.sections if one.kind != kind]
    return pack(snapshot.header.to_json(), [*sections, Section.of(kind, contents)])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a value."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, (list, tuple)):
        for key, inner in enumerate(value):
            found += places(inner, (*path, key))
    return found


def with_other(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: with_other(value[key], tuple(rest), other)}
    items = list(value)
    items[key] = with_other(items[key], tuple(rest), other)
    return type(value)(items)


_strange: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.sampled_from([0, 1, -1, 3, 2**31, 2**32 - 1, 2**63, 0o100644, 0o040755, 0o120777])
    | st.text(max_size=3)
    | st.just([])
    | st.just({})
    | st.sampled_from(["..", "/", "a/b", "\udc80"])
)
#: As `_strange`, and what a structure may hold.
_nested = st.recursive(
    _strange
    | st.floats()
    | st.binary(max_size=3)
    | st.sampled_from(["", "0", "a.", ".0", "def", "x" * 5000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.sampled_from(["", "name", "clock", "image", "@workspace"]) | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_settings = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_settings
@given(st.integers(0, 10**6), _strange)
def test_files(session: planaria.Session, snapshot: Snapshot, place: int, other: object) -> None:
    """Any value anywhere in the description of the files is taken or refused."""
    paths = places(snapshot.manifest)
    forged = with_other(snapshot.manifest, paths[place % len(paths)], other)
    attempt(session, replaced(snapshot, "files", canonical_json(forged)))


@_settings
@given(st.integers(0, 10**6), _strange)
def test_tables(session: planaria.Session, snapshot: Snapshot, place: int, other: object) -> None:
    """Any value anywhere in the tables is taken or refused."""
    tables = decode(snapshot.record.encode())
    paths = places(tables)
    try:
        forged = encode(with_other(tables, paths[place % len(paths)], other))
    except planaria.ProtocolError:
        return
    attempt(session, replaced(snapshot, "state", forged))


def read(data: bytes) -> None:
    """Read all of a snapshot that is read before a session is looked at."""
    snapshot = Snapshot(data)
    _ = snapshot.header, snapshot.record, snapshot.manifest, snapshot.layers


@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(["header", "state", "files"]),
    st.lists(st.tuples(st.integers(0, 10**6), _nested), min_size=1, max_size=3),
)
def test_structures(snapshot: Snapshot, section: str, changes: list[tuple[int, object]]) -> None:
    """Any structure anywhere in the header, the tables and the files is taken or is a SnapshotError."""
    value: Any = {
        "header": snapshot.header.to_json(),
        "state": decode(snapshot.record.encode()),
        "files": snapshot.manifest,
    }[section]
    for place, other in changes:
        paths = places(value)
        value = with_other(value, paths[place % len(paths)], other)
    try:
        if section == "header":
            data = pack(value, list(snapshot.container.sections))
        elif section == "state":
            data = replaced(snapshot, "state", encode(value))
        else:
            data = replaced(snapshot, "files", canonical_json(value))
    except (planaria.ProtocolError, TypeError, ValueError, AttributeError):
        return  # it has no form as bytes
    with contextlib.suppress(planaria.SnapshotError):
        read(data)


@_settings
@given(st.integers(0, 10**6), _strange)
def test_header(session: planaria.Session, snapshot: Snapshot, place: int, other: object) -> None:
    """Any value anywhere in the header is taken or refused."""
    header = snapshot.header.to_json()
    forged = with_other(header, places(header)[1:][place % (len(places(header)) - 1)], other)
    try:
        data = pack(forged, list(snapshot.container.sections))
    except (TypeError, ValueError):
        return  # it has no form as bytes
    attempt(session, data)


@pytest.mark.parametrize("name", ["", "0", "a b", "def", ".0", "a\0"])
def test_names_of_parameters(snapshot: Snapshot, name: str) -> None:
    """A callback whose parameter has a name that none can have is refused as damaged."""
    system, pending, run, _ = decode(snapshot.record.encode())
    callback = {"name": "ask", "description": "", "signature": [(name, "POSITIONAL_OR_KEYWORD", None)]}
    with pytest.raises(planaria.SnapshotCorrupt, match="parameters of callbacks"):
        read(replaced(snapshot, "state", encode((system, pending, run, [callback]))))


@pytest.mark.parametrize("seed", range(12))
def test_memory(
    session: planaria.Session, snapshot: Snapshot, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory full of anything at all leaves the session with what it had, or with a state of its own."""
    monkeypatch.setattr(restore, "PATIENCE", 0.5)
    dice = random.Random(seed)
    sections = list(snapshot.container.sections)
    for index, section in enumerate(sections):
        if section.kind == "pages" and dice.random() < 0.5:
            contents = bytearray(section.contents())
            count = int.from_bytes(contents[:4], "little")
            for _ in range(dice.choice([1, 100, 5000])):
                contents[dice.randrange(4 + 4 * count, len(contents))] = dice.randrange(256)
            sections[index] = Section.of("pages", bytes(contents))
    attempt(session, pack(snapshot.header.to_json(), sections))


def test_chunks(session: planaria.Session, snapshot: Snapshot) -> None:
    """Contents of files that were exchanged are missed by their digest."""
    assert snapshot.container.of_kind("chunks")
    forged = replaced(snapshot, "chunks", (1).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"wrong")
    with pytest.raises(planaria.SnapshotError, match="missing"):
        session.restore_state(forged)
    attempt(session, forged)


def test_recipe_is_no_code(session: planaria.Session, snapshot: Snapshot) -> None:
    """A recipe names modules; what is none is refused before anything is made."""
    header = json.loads(json.dumps(snapshot.header.to_json()))
    for preload in (["os; print(1)"], ["../x"], "os", [1], ["a" * 10_000], ["x"] * 2000, [""]):
        header["image"]["recipe"]["preload"] = preload
        with pytest.raises(planaria.SnapshotCorrupt):
            session.restore_state(pack(header, list(snapshot.container.sections)))


def test_pickled_by_the_user(snapshot: Snapshot) -> None:
    """A snapshot can be pickled among a user's own values; it is bytes there as well."""
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
