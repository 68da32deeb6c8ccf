"""Quotas, determinism, snapshots and manifests of filesystems in memory."""

from __future__ import annotations

import copy
import errno
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from filesystem_kinds import fails, names, read, ticking, write
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.errors import SnapshotError
from planaria.files import HostBlob, MemoryFileSystem, OpenFlags, Quota

R, W = OpenFlags.READ, OpenFlags.WRITE
NEW = OpenFlags.WRITE | OpenFlags.CREATE


def state(filesystem: MemoryFileSystem) -> Any:
    return filesystem.snapshot().manifest(), filesystem.usage()


# -- quotas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 5000, 65536, 200_000])
def test_a_full_filesystem_is_left_as_it_was(size: int) -> None:
    """A write beyond the quota fails as a whole, wherever it would have gone."""
    filesystem = MemoryFileSystem(quota=Quota(bytes=150_000))
    write(filesystem, b"/f", b"x" * (140_000 - size // 20))
    handle = filesystem.open(b"/f", W)
    before = state(filesystem)
    for offset in (0, 1, 65536, 100_000, 139_000):
        fails(errno.ENOSPC, handle.write, b"y" * 200_000, offset)
    assert state(filesystem) == before
    fails(errno.ENOSPC, handle.append, b"y" * 20_000)
    assert state(filesystem) == before


def test_what_is_freed_can_be_used_again() -> None:
    """Removing, truncating and overwriting give the bytes back, to the last one."""
    filesystem = MemoryFileSystem(quota=Quota(bytes=100_000))
    empty = filesystem.usage()
    for _ in range(5):
        write(filesystem, b"/f", b"x" * 90_000)
        write(filesystem, b"/f", b"y" * 90_000)
        filesystem.mkdir(b"/d")
        filesystem.symlink(b"f", b"/d/l")
        filesystem.link(b"/f", b"/d/g")
        filesystem.rename(b"/d/l", b"/a longer name")
        filesystem.rename(b"/a longer name", b"/d/g")
        filesystem.unlink(b"/d/g")
        filesystem.rmdir(b"/d")
        handle = filesystem.open(b"/f", W)
        filesystem.unlink(b"/f")
        handle.truncate(10)
        assert filesystem.usage().nodes_used == 2
        handle.close()
        assert filesystem.usage() == empty


def test_metadata_counts() -> None:
    """Empty files, names, link targets and scattered bytes use up the quota, too."""
    makers: list[Callable[[MemoryFileSystem, int], object]] = [
        lambda filesystem, number: filesystem.open(b"/%d" % number, NEW).close(),
        lambda filesystem, number: filesystem.mkdir(b"/%d" % number),
        lambda filesystem, number: filesystem.symlink(b"x" * 1000, b"/%d" % number),
        lambda filesystem, number: filesystem.link(b"/first", b"/%d" % number),
        lambda filesystem, number: filesystem.open(b"/first", W).write(b"x", number << 20),
    ]
    for make in makers:
        filesystem = MemoryFileSystem(quota=Quota(bytes=50_000))
        write(filesystem, b"/first", b"")

        def fill(filesystem: MemoryFileSystem = filesystem, make: Any = make) -> None:
            for number in range(1000):
                make(filesystem, number)

        fails(errno.ENOSPC, fill)


def test_holes_are_free() -> None:
    """A sparse file uses what is written in it, not its length."""
    filesystem = MemoryFileSystem(quota=Quota(bytes=100_000))
    handle = filesystem.open(b"/f", NEW | R)
    handle.truncate(1 << 50)
    handle.write(b"end", (1 << 50) - 3)
    assert handle.read(10, (1 << 50) - 3) == b"end"
    handle.truncate(5)
    assert handle.read(10, 0) == bytes(5)
    fork = filesystem.fork()
    assert read(fork, b"/f") == bytes(5)


def test_other_limits() -> None:
    """Nodes are EDQUOT, long files EFBIG, handles EMFILE, names, paths and depth ENAMETOOLONG."""
    quota = Quota(nodes=6, file_size=1000, handles=2, name_length=10, path_length=30, depth=3)
    filesystem = MemoryFileSystem(quota=quota)
    handle = filesystem.open(b"/f", NEW)
    fails(errno.EFBIG, handle.write, b"x" * 1001, 0)
    fails(errno.EFBIG, handle.write, b"x", 1000)
    fails(errno.EFBIG, handle.truncate, 1001)
    assert handle.write(b"x", 999) == 1
    fails(errno.EFBIG, handle.append, b"x")
    second = filesystem.open(b"/f", R)
    fails(errno.EMFILE, filesystem.open, b"/f", R)
    second.close()
    filesystem.open(b"/f", R).close()
    fails(errno.ENAMETOOLONG, filesystem.mkdir, b"/elevenbytes")
    fails(errno.ENAMETOOLONG, filesystem.rename, b"/f", b"/elevenbytes")
    fails(errno.ENAMETOOLONG, filesystem.stat, b"/./././././././././././././././")
    fails(errno.ENAMETOOLONG, filesystem.symlink, b"x" * 31, b"/l")
    filesystem.mkdir(b"/1")
    filesystem.mkdir(b"/1/2")
    filesystem.mkdir(b"/1/2/3")
    fails(errno.ENAMETOOLONG, filesystem.mkdir, b"/1/2/3/4")
    filesystem.mkdir(b"/a")
    fails(errno.EDQUOT, filesystem.mkdir, b"/b")
    fails(errno.EDQUOT, filesystem.symlink, b"x", b"/l")
    fails(errno.EDQUOT, filesystem.open, b"/new", NEW)
    filesystem.rename(b"/1/2", b"/a/2")
    fails(errno.ENAMETOOLONG, filesystem.rename, b"/a", b"/1/a")
    assert names(filesystem) == [b"1", b"a", b"f"]


def test_huge_offsets() -> None:
    """Offsets beyond any file are errors, never overflows."""
    filesystem = MemoryFileSystem()
    handle = filesystem.open(b"/f", NEW | R)
    fails(errno.EFBIG, handle.write, b"x", 2**63 - 1)
    fails(errno.EFBIG, handle.write, b"x", 2**64)
    fails(errno.EINVAL, handle.write, b"x", -1)
    fails(errno.EINVAL, handle.read, 1, -1)
    fails(errno.EFBIG, handle.truncate, 2**63)
    assert handle.read(10, 2**64) == b""
    assert handle.write(b"", 2**70) == 0


# -- determinism and sharing -----------------------------------------------------------------------


_OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["write", "truncate", "mkdir", "unlink", "rename", "link", "symlink", "chmod"]),
        st.sampled_from([b"/a", b"/b", b"/d", b"/d/a", b"/d/b"]),
        st.sampled_from([b"/a", b"/c", b"/d/a", b"/d/e"]),
        st.integers(0, 140_000),
    ),
    max_size=25,
)


def perform(filesystem: MemoryFileSystem, operations: list[tuple[str, bytes, bytes, int]]) -> None:
    for kind, path, other, number in operations:
        try:
            if kind == "write":
                handle = filesystem.open(path, NEW)
                try:
                    handle.write(b"%d " % number * 10, number)
                finally:
                    handle.close()
            elif kind == "truncate":
                handle = filesystem.open(path, W)
                try:
                    handle.truncate(number)
                finally:
                    handle.close()
            elif kind == "mkdir":
                filesystem.mkdir(path)
            elif kind == "unlink":
                filesystem.unlink(path)
            elif kind == "rename":
                filesystem.rename(path, other)
            elif kind == "link":
                filesystem.link(path, other)
            elif kind == "symlink":
                filesystem.symlink(other, path)
            else:
                filesystem.chmod(path, number & 0o777)
        except OSError:
            pass


@given(first=_OPERATIONS, second=_OPERATIONS)
@settings(max_examples=examples(60), deadline=None)
def test_the_same_operations_give_the_same_state(first: Any, second: Any) -> None:
    """Whether there were snapshots, forks or restores in between does not show in the result."""
    straight = MemoryFileSystem(clock=ticking())
    perform(straight, first)
    perform(straight, second)

    winding = MemoryFileSystem(clock=ticking())
    perform(winding, first)
    middle = winding.snapshot()
    described = json.loads(json.dumps(middle.manifest()))
    fork = winding.fork()
    perform(winding, second)
    assert state(winding) == state(straight)
    assert middle.manifest() == described
    winding.restore(winding.read_manifest(described, middle.chunks()))
    assert state(winding) == state(fork)
    usage = winding.usage()
    perform(winding, second)
    perform(fork, second)
    assert names(winding) == names(fork) == names(straight)
    assert fork.diff(straight) == ([], [], [])
    assert winding.diff(straight) == ([], [], [])
    winding.restore(middle)
    assert winding.usage() == usage
    assert middle.manifest() == described


def test_equal_contents_are_stored_once() -> None:
    """Files with the same contents share their chunks once captured, in one filesystem and across."""
    filesystem, other = MemoryFileSystem(), MemoryFileSystem()
    data = b"".join(b"%08d" % number for number in range(40_000))
    for number in range(5):
        write(filesystem, b"/%d" % number, data)
        write(other, b"/%d" % number, data)
    snapshot = filesystem.snapshot()
    chunks = [chunk for _, record in snapshot.records.items() for chunk in (record.chunks or {}).values()]
    others = [
        chunk for _, record in other.snapshot().records.items() for chunk in (record.chunks or {}).values()
    ]
    assert len(chunks) == 25
    assert len({id(chunk) for chunk in chunks + others}) == 5
    assert len(snapshot.chunks()) == 5


def test_a_snapshot_shares_what_did_not_change() -> None:
    """The next snapshot makes new records for changed files alone, and new chunks for changed ranges."""
    filesystem = MemoryFileSystem()
    for number in range(1000):
        write(filesystem, b"/%d" % number, b"x")
    write(filesystem, b"/big", bytes(range(1, 256)) * 1000)
    first = filesystem.snapshot()
    handle = filesystem.open(b"/big", W)
    handle.write(b"!", 100_000)
    second = filesystem.snapshot()
    inode = filesystem.stat(b"/big").inode
    changed = [number for number, record in second.records.items() if first.records.get(number) is not record]
    assert changed == [inode]
    before, after = first.records[inode].chunks or {}, second.records[inode].chunks or {}
    assert [index for index in after if after[index] is not before[index]] == [1]
    assert filesystem.snapshot().records is second.records


def test_zeros_do_not_show_how_they_came() -> None:
    """Written zeros and holes are the same state."""
    first, second = MemoryFileSystem(clock=lambda: 1), MemoryFileSystem(clock=lambda: 1)
    write(first, b"/f", b"x" + bytes(200_000))
    write(second, b"/f", b"x")
    handle = second.open(b"/f", W)
    handle.truncate(200_001)
    assert first.snapshot().manifest() == second.snapshot().manifest()
    assert first.usage() == second.usage()
    assert read(first, b"/f") == read(second, b"/f")


def test_a_host_file_is_shown_without_copying(tmp_path: Path) -> None:
    """A file of the host can be read and not written; nothing of its times or inode shows."""
    (tmp_path / "blob").write_bytes(b"0123456789")
    blob = HostBlob.open(tmp_path / "blob")
    filesystem = MemoryFileSystem(clock=lambda: 5)
    filesystem.add_host_file(b"/lib.zip", blob)
    info = filesystem.stat(b"/lib.zip")
    assert (info.size, info.mtime, info.inode, info.mode) == (10, 0, 2, 0o100444)
    fails(errno.EROFS, filesystem.open, b"/lib.zip", W)
    handle = filesystem.open(b"/lib.zip", R)
    assert handle.read(4, 3) == b"3456"
    assert handle.read(100, 8) == b"89"
    assert handle.read(100, 80) == b""
    snapshot = filesystem.snapshot()
    manifest = snapshot.manifest()
    assert str(tmp_path) not in json.dumps(manifest)
    assert read(filesystem.fork(), b"/lib.zip") == b"0123456789"
    with pytest.raises(SnapshotError, match="blob"):
        filesystem.read_manifest(manifest, {})
    again = filesystem.read_manifest(manifest, {}, host_files={blob.digest(): blob})
    assert read(again.open(), b"/lib.zip") == b"0123456789"
    with pytest.raises(ValueError, match="regular"):
        HostBlob.open(tmp_path)


def test_threads_share_a_filesystem() -> None:
    """Several threads that write, append and remove at once lose nothing and miscount nothing."""
    filesystem = MemoryFileSystem()
    empty = filesystem.usage()
    errors: list[BaseException] = []

    def work(name: bytes) -> None:
        try:
            log = filesystem.open(b"/log", NEW | OpenFlags.APPEND)
            for number in range(150):
                write(filesystem, b"/%s%d" % (name, number), name * 1000)
                assert read(filesystem, b"/%s%d" % (name, number)) == name * 1000
                log.append(name * 700)
                filesystem.snapshot() if number % 50 == 0 else filesystem.scandir(b"/")
                filesystem.unlink(b"/%s%d" % (name, number))
            log.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    log = read(filesystem, b"/log")
    assert len(log) == 4 * 150 * 700
    assert {log[start : start + 700] for start in range(0, len(log), 700)} == {
        name * 700 for name in (b"a", b"b", b"c", b"d")
    }
    filesystem.unlink(b"/log")
    assert filesystem.usage() == empty


# -- manifests from anyone -------------------------------------------------------------------------


def _example() -> tuple[dict[str, Any], dict[str, bytes]]:
    filesystem = MemoryFileSystem(clock=lambda: 7)
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"contents" * 20_000)
    write(filesystem, b"/\xff", b"x")
    filesystem.symlink(b"d/f", b"/l")
    filesystem.link(b"/d/f", b"/hard")
    snapshot = filesystem.snapshot()
    return json.loads(json.dumps(snapshot.manifest())), dict(snapshot.chunks())


def _edits(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a manifest."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _edits(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _edits(inner, (*path, index))
    return found


_EXAMPLE, _CHUNKS = _example()
_JUNK: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(0, 20)
    | st.floats(allow_nan=True)
    | st.text(max_size=5)
    | st.sampled_from(["..", ".", "a/b", "\0", "\udc80", "\ud800", "x" * 300, [], {}, [1, 2, 3], {"a": 2}])
    | st.sampled_from(list(_EXAMPLE["nodes"]))
)


@given(path=st.sampled_from(_edits(_EXAMPLE)), value=_JUNK, drop=st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_damaged_manifests_are_refused_or_sound(path: tuple[Any, ...], value: Any, drop: bool) -> None:
    """A manifest that was changed anywhere is refused, or it describes a filesystem that works."""
    manifest = copy.deepcopy(_EXAMPLE)
    inner: Any = manifest
    for key in path[:-1]:
        inner = inner[key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = copy.deepcopy(value)
    filesystem = MemoryFileSystem()
    try:
        snapshot = filesystem.read_manifest(manifest, _CHUNKS)
    except SnapshotError:
        return
    filesystem.restore(snapshot)
    assert filesystem.snapshot().manifest() == manifest
    usage = filesystem.usage()
    pending = [b"/"]
    while pending:
        directory = pending.pop()
        for entry in filesystem.scandir(directory):
            where = directory.rstrip(b"/") + b"/" + entry.name
            handle_path = filesystem.stat(where, follow=False)
            assert handle_path.inode == entry.inode
            if entry.kind.name == "DIRECTORY":
                pending.append(where)
    filesystem.discard_orphans()
    for entry in filesystem.scandir(b"/"):
        if entry.kind.name != "DIRECTORY":
            filesystem.unlink(b"/" + entry.name)
    assert filesystem.usage().bytes_used <= usage.bytes_used


@pytest.mark.parametrize(
    "change",
    [
        lambda chunks: chunks.clear(),
        lambda chunks: chunks.update({key: data[:-1] for key, data in chunks.items()}),
        lambda chunks: chunks.update(dict.fromkeys(chunks, b"x" * 65536)),
        lambda chunks: chunks.update(dict.fromkeys(chunks, b"x" * 1000000)),
        lambda chunks: chunks.update(dict.fromkeys(chunks, "text")),
        lambda chunks: chunks.update(dict.fromkeys(chunks, b"")),
    ],
)
def test_damaged_chunks_are_refused(change: Callable[[dict[str, Any]], None]) -> None:
    """Contents that are missing or not what their digest says are refused."""
    chunks: dict[str, Any] = dict(_CHUNKS)
    change(chunks)
    with pytest.raises(SnapshotError):
        MemoryFileSystem().read_manifest(_EXAMPLE, chunks)


@pytest.mark.parametrize(
    "quota", [Quota(bytes=10_000), Quota(nodes=3), Quota(file_size=1000), Quota(depth=0)]
)
def test_manifests_obey_the_quota(quota: Quota) -> None:
    """A state that is larger than the receiving filesystem may be is refused."""
    with pytest.raises(SnapshotError):
        MemoryFileSystem(quota=quota).read_manifest(_EXAMPLE, _CHUNKS)


def test_directories_that_contain_themselves_are_refused() -> None:
    """Directories that are not a tree are not a state of a filesystem."""
    for edit in ({"d": 1}, {"self": 2, "d": 2}, {}):
        manifest = copy.deepcopy(_EXAMPLE)
        manifest["nodes"][0]["names"].update(edit)
        manifest["nodes"][1]["names"]["loop"] = 2
        if not edit:
            del manifest["nodes"][0]["names"]["d"]
        with pytest.raises(SnapshotError):
            MemoryFileSystem().read_manifest(manifest, _CHUNKS)
