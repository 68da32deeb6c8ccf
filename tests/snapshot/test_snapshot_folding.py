"""Folding a delta into a complete snapshot of the same state."""

from __future__ import annotations

import uuid

import pytest
from example_counts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import planaria
from planaria.images import registry
from planaria.snapshot.decode import pages_of
from planaria.snapshot.folding import folded
from planaria.snapshot.snapshot import Snapshot

#: What executions do to memory and files.
STEPS = (
    "kept.append(len(kept))",
    "data = bytes(range(256)) * 4096",
    "data = None",
    "open('a', 'ab').write(bytes(100_000))",
    "open(f'{len(kept)}', 'w').write('text')",
    "import os; [os.remove(one) for one in os.listdir()]",
)
LOOK = "import os, hashlib\nkept, data and hashlib.sha256(data).hexdigest(), {one: len(open(one, 'rb').read()) for one in os.listdir()}"


@settings(max_examples=examples(10), deadline=None)
@given(
    before=st.lists(st.sampled_from(STEPS), max_size=3), after=st.lists(st.sampled_from(STEPS), max_size=5)
)
def test_the_state_is_the_same(before: list[str], after: list[str]) -> None:
    """The complete snapshot has the pages and files of the delta with all that it rests on, and rests on nothing."""
    with planaria.Session() as session:
        session.execute("kept, data = [], None")
        for step in before:
            session.execute(step)
        delta = session.snapshot_state()
        for step in after:
            session.execute(step)
            delta = session.snapshot_state(parent=delta)
        whole = folded(delta)
        assert whole.header.parent is None
        assert whole.parent is None
        assert pages_of(whole) == pages_of(delta)
        read = Snapshot(bytes(whole))
        assert read.info.execution_count == delta.info.execution_count
        with planaria.Session.from_snapshot(read) as restored:
            assert restored.execute(LOOK).value == session.execute(LOOK).value


def test_it_is_as_small_as_one_that_was_taken() -> None:
    """Chunks that only earlier states had are left out, and what is equal to the image."""
    with planaria.Session() as session:
        session.execute("open('big', 'wb').write(__import__('random').randbytes(3_000_000))")
        first = session.snapshot_state()
        session.execute("import os; os.remove('big')")
        delta = session.snapshot_state(parent=first)
        assert len(folded(delta)) < len(session.snapshot_state()) + 100_000


def test_deltas_go_on_from_it() -> None:
    """What is taken next is a delta of the complete snapshot, as small as one of the delta."""
    with planaria.Session() as session:
        session.execute("rows = list(range(100_000))")
        first = session.snapshot_state()
        session.execute("more = list(range(50_000))")
        second = session.snapshot_state(parent=first)
        whole = folded(second)
        session.execute("rows.append(1)")
        third = session.snapshot_state(parent=whole)
        assert len(third) < len(session.snapshot_state(parent=second)) + 10_000
        read = Snapshot(bytes(third), parent=Snapshot(bytes(whole)))
        with planaria.Session.from_snapshot(read) as restored:
            assert restored.execute("len(rows), len(more), rows[-1]").value == (100_001, 50_000, 1)


def test_an_execution_that_waits() -> None:
    """A call that waits for its answer does so in the complete snapshot, too."""

    def ask() -> int:
        raise planaria.Suspend("later")

    with planaria.Session(callbacks=[ask]) as session:
        session.execute("x = 1")
        first = session.snapshot_state()
        session.start("x += await ask()\nx")
        whole = folded(session.snapshot_state(parent=first))
    with planaria.Session.from_snapshot(bytes(whole), callbacks=[ask]) as restored:
        run = restored.run_in_progress
        assert run is not None
        run.resolve(run.pending[0].id, 4)
        assert run.result().value == 5


def test_files_of_an_image() -> None:
    """The files that its image is made with are carried along."""
    name = f"test-{uuid.uuid4().hex}"
    image = planaria.Image.build(name, files={"table.txt": b"1 2 3"}, setup="words = 'a b c'")
    with planaria.Session(image=image) as session:
        first = session.snapshot_state()
        session.execute("open('table.txt', 'a').write(' 4'); n = 1")
        whole = folded(session.snapshot_state(parent=first))
        assert whole.layers == first.layers
    with planaria.Session.from_snapshot(bytes(whole)) as restored:
        registry.unregister(name)
        assert restored.execute("words, n, open('table.txt').read()").value == ("a b c", 1, "1 2 3 4")


def test_what_cannot_be_folded() -> None:
    """A complete snapshot is itself; one without its parent, and one that is signed, are refused."""
    with planaria.Session() as session:
        first = session.snapshot_state()
        assert folded(first) is first
        session.execute("x = 1")
        delta = session.snapshot_state(parent=first)
        with pytest.raises(planaria.SnapshotMismatch, match="not at hand"):
            folded(Snapshot(bytes(delta)))
        with pytest.raises(planaria.SnapshotKeyError):
            folded(session.snapshot_state(key="secret"))
