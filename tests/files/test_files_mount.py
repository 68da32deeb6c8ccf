"""Several filesystems as one tree."""

from __future__ import annotations

import copy
import errno
import json
from typing import Any

import pytest
from example_counts import examples
from filesystem_kinds import fails, names, read, ticking, write
from hypothesis import given, settings
from hypothesis import strategies as st

from planaria.errors import SnapshotError
from planaria.files import (
    FileKind,
    Files,
    MemoryFileSystem,
    MountFileSystem,
    OpenFlags,
    OverlayFileSystem,
    Quota,
    standard_layout,
)

R, W = OpenFlags.READ, OpenFlags.WRITE
NEW = OpenFlags.WRITE | OpenFlags.CREATE


@pytest.fixture
def inner() -> MemoryFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.mkdir(b"/d")
    write(filesystem, b"/d/f", b"inner")
    return filesystem


@pytest.fixture
def tree(inner: MemoryFileSystem) -> MountFileSystem:
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/m")
    write(tree, b"/m/hidden", b"")
    write(tree, b"/f", b"outer")
    tree.mount(b"/m", inner)
    return tree


def test_mounting_covers_a_directory(tree: MountFileSystem) -> None:
    """What is mounted is seen instead of what the directory holds, until it is unmounted."""
    assert names(tree, b"/m") == [b"d"]
    assert read(tree, b"/m/d/f") == b"inner"
    tree.unmount(b"/m")
    assert names(tree, b"/m") == [b"hidden"]
    fails(errno.EINVAL, tree.unmount, b"/m")
    fails(errno.EINVAL, tree.unmount, b"/")
    fails(errno.ENOTDIR, tree.mount, b"/f", MemoryFileSystem())
    fails(errno.ENOENT, tree.mount, b"/none", MemoryFileSystem())


def test_links_and_dots_cross_mounts(tree: MountFileSystem) -> None:
    """`..` leads from the root of a mount to the directory above, and absolute links to the whole tree."""
    assert read(tree, b"/m/../f") == b"outer"
    assert read(tree, b"/m/d/../../f") == b"outer"
    tree.symlink(b"/f", b"/m/absolute")
    tree.symlink(b"../f", b"/m/relative")
    tree.symlink(b"m/d", b"/in")
    assert read(tree, b"/m/absolute") == b"outer"
    assert read(tree, b"/m/relative") == b"outer"
    assert read(tree, b"/in/f") == b"inner"
    assert read(tree, b"/in/../../f") == b"outer"
    handle = tree.open(b"/m/d", R | OpenFlags.DIRECTORY)
    assert tree.stat(b"../../f", at=handle).size == 5
    assert tree.open(b"f", R, at=handle).path() == b"/m/d/f"
    assert handle.path() == b"/m/d"


def test_mounts_on_mounts(tree: MountFileSystem) -> None:
    """Mounts are nested and stacked, and taken away from the inside."""
    second, third = MemoryFileSystem(), MemoryFileSystem()
    write(second, b"/second", b"")
    write(third, b"/third", b"")
    tree.mount(b"/m/d", second)
    tree.mount(b"/m/d", third)
    assert names(tree, b"/m/d") == [b"third"]
    assert tree.stat(b"/m/d/..").inode == tree.stat(b"/m").inode
    assert [mount.path for mount in tree.mounts()] == [b"/", b"/m", b"/m/d", b"/m/d"]
    fails(errno.EBUSY, tree.unmount, b"/m")
    tree.unmount(b"/m/d")
    assert names(tree, b"/m/d") == [b"second"]
    tree.unmount(b"/m/d")
    assert names(tree, b"/m/d") == [b"f"]


def test_nothing_moves_across_mounts(tree: MountFileSystem) -> None:
    """rename and link across are EXDEV, and the directory under a mount is busy."""
    fails(errno.EXDEV, tree.rename, b"/f", b"/m/f")
    fails(errno.EXDEV, tree.rename, b"/m/d", b"/d")
    fails(errno.EXDEV, tree.link, b"/f", b"/m/f")
    fails(errno.EBUSY, tree.rmdir, b"/m")
    fails(errno.EBUSY, tree.rename, b"/m", b"/n")
    fails(errno.EBUSY, tree.rename, b"/m/d", b"/m/../m")
    tree.mkdir(b"/above")
    tree.rename(b"/m/d/f", b"/m/g")
    assert read(tree, b"/m/g") == b"inner"


def test_devices_distinguish_filesystems(tree: MountFileSystem, inner: MemoryFileSystem) -> None:
    """Each filesystem has a device number of its own, the same wherever it is mounted."""
    assert tree.stat(b"/").device != tree.stat(b"/m").device
    assert tree.open(b"/m/d/f", R).stat().device == tree.stat(b"/m/d/f").device
    tree.mkdir(b"/again")
    tree.mount(b"/again", inner)
    assert tree.stat(b"/again/d/f") == tree.stat(b"/m/d/f")
    fails(errno.EXDEV, tree.rename, b"/again/d", b"/m/e")


def test_read_only_mounts(inner: MemoryFileSystem) -> None:
    """A filesystem that can be written is not written through a read-only mount."""
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/m")
    tree.mount(b"/m", inner, read_only=True)
    fails(errno.EROFS, tree.open, b"/m/d/f", W)
    fails(errno.EROFS, tree.open, b"/m/new", NEW)
    fails(errno.EROFS, tree.unlink, b"/m/d/f")
    fails(errno.EROFS, tree.mkdir, b"/m/e")
    handle = tree.open(b"/m/d/f", R)
    fails(errno.EROFS, handle.chmod, 0)
    fails(errno.EROFS, handle.utime, 1, 1)
    fails(errno.EBADF, handle.write, b"x", 0)
    write(inner, b"/d/f", b"changed")
    assert handle.read(10, 0) == b"changed"


def test_open_files_keep_a_mount_busy(tree: MountFileSystem) -> None:
    """A mount with open files is busy; when it is taken away lazily, they go on."""
    handle = tree.open(b"/m/d/f", R)
    fails(errno.EBUSY, tree.unmount, b"/m")
    tree.unmount(b"/m", lazy=True)
    assert handle.read(5, 0) == b"inner"
    handle.close()


def test_snapshots_hold_mounts(tree: MountFileSystem) -> None:
    """restore brings back contents and table, whatever was mounted or taken away since."""
    snapshot = tree.snapshot()
    write(tree, b"/m/d/f", b"changed")
    tree.unmount(b"/m")
    tree.mkdir(b"/other")
    tree.mount(b"/other", MemoryFileSystem())
    tree.restore(snapshot)
    assert names(tree) == [b"f", b"m"]
    assert read(tree, b"/m/d/f") == b"inner"
    assert [mount.path for mount in tree.mounts()] == [b"/", b"/m"]
    opened = snapshot.open()
    assert read(opened, b"/m/d/f") == b"inner"
    assert opened.stat(b"/m/d/f") == tree.stat(b"/m/d/f")


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: write(tree, b"/f", b"changed"),
        lambda tree: write(tree, b"/m/d/f", b"changed"),
        lambda tree: tree.unlink(b"/m/d/f"),
        lambda tree: tree.chmod(b"/m/d", 0o700),
        lambda tree: tree.mount(b"/m/d", MemoryFileSystem()),
        lambda tree: tree.unmount(b"/m"),
        lambda tree: tree.restore(MountFileSystem(MemoryFileSystem()).snapshot()),
    ],
    ids=["the root", "a mount", "a name", "a mode", "another mount", "one less", "a restore"],
)
def test_snapshots_are_new_when_something_has_changed(tree: MountFileSystem, change: Any) -> None:
    """A tree that has not changed is the same snapshot as before; any change makes another one, and each has
    the contents of its time.
    """
    before = tree.snapshot()
    manifest = before.manifest()
    assert tree.snapshot() is before
    change(tree)
    after = tree.snapshot()
    assert after is not before
    assert after.manifest() != manifest == before.manifest()
    assert after.manifest() == after.open().snapshot().manifest()


def test_paths_of_mounts_follow_renames() -> None:
    """A snapshot has the paths that mounts have when it is taken, also when directories above were renamed."""
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/a")
    tree.mkdir(b"/a/b")
    tree.mount(b"/a/b", MemoryFileSystem())
    assert [mount.path for mount in tree.snapshot().mounts] == [b"/", b"/a/b"]
    tree.rename(b"/a", b"/c")
    assert [mount.path for mount in tree.snapshot().mounts] == [b"/", b"/c/b"]


def test_handles_of_the_root_outlive_a_restore(tree: MountFileSystem) -> None:
    """The root directory that a guest has open from the start stays usable when the state is replaced."""
    root = tree.open(b"/", R | OpenFlags.DIRECTORY)
    snapshot = tree.snapshot()
    tree.unlink(b"/f")
    tree.restore(snapshot)
    assert tree.stat(b"f", at=root).size == 5
    assert tree.stat(b"m/d/f", at=root).size == 5


def test_shared_mounts_are_left_alone(tree: MountFileSystem) -> None:
    """A shared filesystem is the same in forks, and its contents are not captured."""
    shared = MemoryFileSystem()
    tree.mkdir(b"/s")
    tree.mount(b"/s", shared, shared=True)
    snapshot = tree.snapshot()
    fork = tree.fork()
    write(fork, b"/s/x", b"both")
    write(fork, b"/m/x", b"fork only")
    assert read(tree, b"/s/x") == b"both"
    assert names(tree, b"/m") == [b"d"]
    tree.restore(snapshot)
    assert read(tree, b"/s/x") == b"both"


def test_manifests_of_trees(tree: MountFileSystem) -> None:
    """A tree is restored from its manifest where the same mounts are present, and not elsewhere."""
    snapshot = tree.snapshot()
    manifest = json.loads(json.dumps(snapshot.manifest()))
    write(tree, b"/m/d/f", b"changed")
    again = tree.read_manifest(manifest, snapshot.chunks())
    assert again.manifest() == manifest
    tree.restore(again)
    assert read(tree, b"/m/d/f") == b"inner"
    with pytest.raises(SnapshotError, match="/m"):
        MountFileSystem(MemoryFileSystem()).read_manifest(manifest, snapshot.chunks())
    without = copy.deepcopy(manifest)
    del without["mounts"][0]["state"]["nodes"][0]["names"]["m"]
    del without["mounts"][0]["state"]["nodes"][1:3]
    with pytest.raises(SnapshotError, match="not a directory"):
        tree.read_manifest(without, snapshot.chunks())
    assert read(tree, b"/m/d/f") == b"inner"
    for broken in ({}, {**manifest, "mounts": manifest["mounts"][1:]}, {**manifest, "mounts": [1]}):
        with pytest.raises(SnapshotError):
            tree.read_manifest(broken, snapshot.chunks())


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a manifest."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, below in inner:
        found += _places(below, (*path, key))
    return found


def _layered() -> MountFileSystem:
    lower = MemoryFileSystem(clock=lambda: 1)
    lower.mkdir(b"/d")
    lower.mkdir(b"/d/e")
    write(lower, b"/d/f", b"lower")
    overlay = OverlayFileSystem(lower, clock=lambda: 1)
    overlay.rename(b"/d/e", b"/moved")
    overlay.chmod(b"/d/f", 0o600)
    overlay.mkdir(b"/d/e")
    tree = MountFileSystem(MemoryFileSystem(clock=lambda: 1))
    tree.mkdir(b"/o")
    tree.mount(b"/o", overlay)
    return tree


_LAYERED = json.loads(json.dumps(_layered().snapshot().manifest()))
_CHUNKS = _layered().snapshot().chunks()


@given(
    place=st.sampled_from(_places(_LAYERED)),
    value=st.sampled_from(
        [
            None,
            True,
            -1,
            0,
            1,
            2,
            3,
            5,
            2**70,
            1.5,
            "",
            "/",
            "/d",
            "..",
            "\0",
            "\ud800",
            "x",
            [],
            {},
            [1],
            [[1]],
        ]
    ),
)
@settings(max_examples=examples(300), deadline=None)
def test_damaged_manifests_of_trees(place: tuple[Any, ...], value: Any) -> None:
    """A changed manifest of mounts and overlays is refused, or it gives a tree that can be walked."""
    manifest = copy.deepcopy(_LAYERED)
    inner: Any = manifest
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    tree = _layered()
    before = tree.snapshot().manifest()
    try:
        snapshot = tree.read_manifest(manifest, _CHUNKS)
    except SnapshotError:
        assert tree.snapshot().manifest() == before
        return
    tree.restore(snapshot)
    assert tree.snapshot().manifest() == snapshot.manifest()
    seen = 0
    for _, directories, others in Files(tree).walk("/"):
        seen += len(directories) + len(others)
        assert seen < 100


# -- the standard layout ---------------------------------------------------------------------------


def test_the_standard_layout() -> None:
    """A guest finds a home, a place for temporary files, its user, devices, and its storage."""
    library = MemoryFileSystem()
    write(library, b"/python.zip", b"zip")
    tree = standard_layout(library=library, storage=MemoryFileSystem())
    write(tree, b"/home/user/f", b"x")
    write(tree, b"/data/f", b"x")
    assert tree.stat(b"/tmp").mode == 0o041777
    assert b"/home/user" in read(tree, b"/etc/passwd")
    assert read(tree, b"/usr/local/lib/python.zip") == b"zip"
    fails(errno.EROFS, tree.unlink, b"/usr/local/lib/python.zip")
    assert b"MemTotal" in read(tree, b"/proc/meminfo")
    assert set(names(tree)) >= {b"bin", b"data", b"dev", b"etc", b"home", b"proc", b"tmp", b"usr"}
    assert b"data" not in names(standard_layout())


def test_the_same_layout_is_the_same_state() -> None:
    """With the same clock, two layouts have the same manifest."""
    first, second = (standard_layout(clock=ticking()) for _ in range(2))
    assert first.snapshot().manifest() == second.snapshot().manifest()


def test_devices() -> None:
    """Devices do what those of Linux do, with randomness from the source that was given."""
    tree = standard_layout(random=lambda size: b"r" * size)
    null = tree.open(b"/dev/null", R | W)
    assert null.write(b"gone", 0) == 4
    assert null.read(10, 0) == b""
    assert null.stat().kind is FileKind.CHARACTER_DEVICE
    tree.open(b"/dev/null", NEW | OpenFlags.TRUNCATE).close()
    zero = tree.open(b"/dev/zero", R)
    assert zero.read(5, 1000) == bytes(5)
    full = tree.open(b"/dev/full", R | W)
    fails(errno.ENOSPC, full.write, b"x", 0)
    for name in (b"/dev/random", b"/dev/urandom"):
        assert tree.open(name, R).read(3, 0) == b"rrr"
    fails(errno.ENXIO, tree.open, b"/dev/tty", R)
    fails(errno.EROFS, tree.open, b"/dev/new", NEW)
    fails(errno.EROFS, tree.unlink, b"/dev/null")
    fails(errno.EACCES, tree.open, b"/proc/meminfo", W)


def test_proc_shows_descriptors() -> None:
    """/proc/self/fd has a link for each descriptor that the session reports."""
    tree = standard_layout()
    proc = next(mount.filesystem for mount in tree.mounts() if mount.path == b"/proc")
    proc.descriptors = lambda: {3: b"/", 5: b"/etc/passwd"}  # type: ignore[attr-defined]
    assert names(tree, b"/proc/self/fd") == [b"3", b"5"]
    assert tree.readlink(b"/proc/self/fd/5") == b"/etc/passwd"
    assert read(tree, b"/dev/fd/5") == read(tree, b"/etc/passwd")
    fork = tree.fork()
    assert names(fork, b"/proc/self/fd") == []


# -- overlays --------------------------------------------------------------------------------------


def test_an_overlay_reads_through(inner: MemoryFileSystem) -> None:
    """The lower layer is seen, and never written; the upper layer gets what changed."""
    upper = MemoryFileSystem()
    overlay = OverlayFileSystem(inner, upper)
    assert read(overlay, b"/d/f") == b"inner"
    assert names(upper) == []
    write(inner, b"/d/later", b"later")
    assert read(overlay, b"/d/later") == b"later"
    before = inner.snapshot().manifest()
    handle = overlay.open(b"/d/f", W)
    handle.write(b"I", 0)
    handle.close()
    overlay.unlink(b"/d/later")
    overlay.chmod(b"/d", 0o700)
    write(overlay, b"/new", b"new")
    assert inner.snapshot().manifest() == before
    assert read(upper, b"/d/f") == b"Inner"
    assert names(overlay, b"/d") == [b"f"]
    assert names(upper) == [b"d", b"new"]


def test_trees_of_mounts_are_neither_mounted_nor_layered(tree: MountFileSystem) -> None:
    """What would silently lose its inner mounts is refused."""
    with pytest.raises(TypeError, match="MountFileSystem"):
        tree.mount(b"/", tree)
    with pytest.raises(TypeError, match="MountFileSystem"):
        OverlayFileSystem(tree)


def test_an_overlay_keeps_inode_numbers(inner: MemoryFileSystem) -> None:
    """A file is the same file before and after it was copied up, also for who holds it open."""
    overlay = OverlayFileSystem(inner)
    before = overlay.stat(b"/d/f")
    reader = overlay.open(b"/d/f", R)
    writer = overlay.open(b"/d/f", W)
    writer.write(b"I", 0)
    assert reader.read(5, 0) == b"Inner"
    assert overlay.stat(b"/d/f").inode == reader.stat().inode == before.inode
    assert overlay.fork().stat(b"/d/f").inode == before.inode


def test_directories_of_the_lower_layer_move(inner: MemoryFileSystem) -> None:
    """A directory of the lower layer can be renamed, and what is made in its place starts empty."""
    overlay = OverlayFileSystem(inner)
    overlay.rename(b"/d", b"/moved")
    assert read(overlay, b"/moved/f") == b"inner"
    overlay.mkdir(b"/d")
    assert names(overlay, b"/d") == []
    overlay.rename(b"/moved", b"/d/deep")
    write(overlay, b"/d/deep/f", b"changed")
    for state in (overlay, overlay.fork(), overlay.snapshot().open()):
        assert names(state) == [b"d"]
        assert read(state, b"/d/deep/f") == b"changed"
    assert read(inner, b"/d/f") == b"inner"


def test_a_full_upper_layer_changes_nothing(inner: MemoryFileSystem) -> None:
    """When a file cannot be copied up for lack of space, the overlay is as before."""
    write(inner, b"/big", b"x" * 200_000)
    overlay = OverlayFileSystem(inner, quota=Quota(bytes=100_000))
    used = overlay.usage().bytes_used
    fails(errno.ENOSPC, overlay.open, b"/big", W)
    assert overlay.usage().bytes_used == used
    assert overlay.stat(b"/big").size == 200_000


def test_remembered_directories() -> None:
    """A path is looked up anew when a directory on it was moved, removed, covered, uncovered or restored."""
    tree = MountFileSystem(MemoryFileSystem())
    for path in (b"/a", b"/a/b", b"/a/b/old", b"/z"):
        tree.mkdir(path)
    before = tree.snapshot()

    def seen(path: bytes) -> list[bytes]:
        return [name for name in (b"old", b"new", b"inner") if _is_there(tree, path + b"/" + name)]

    assert seen(b"/a/b") == [b"old"]
    tree.rename(b"/a", b"/c")
    assert (seen(b"/a/b"), seen(b"/c/b")) == ([], [b"old"])
    tree.mkdir(b"/a")
    tree.mkdir(b"/a/b")
    tree.mkdir(b"/a/b/new")
    assert seen(b"/a/b") == [b"new"]
    tree.rmdir(b"/a/b/new")
    tree.rmdir(b"/a/b")
    assert seen(b"/a/b") == []
    tree.symlink(b"/c/b", b"/a/b")
    assert seen(b"/a/b") == [b"old"]
    tree.unlink(b"/a/b")
    tree.rename(b"/c/b", b"/a/b")
    assert (seen(b"/a/b"), seen(b"/a/b/../../a/b")) == ([b"old"], [b"old"])
    inner = MemoryFileSystem()
    inner.mkdir(b"/b")
    inner.mkdir(b"/b/inner")
    tree.mount(b"/a", inner)
    assert seen(b"/a/b") == [b"inner"]
    other = tree.fork()
    other.rmdir(b"/a/b/inner")
    assert (seen(b"/a/b"), _is_there(other, b"/a/b/inner")) == ([b"inner"], False)
    tree.unmount(b"/a")
    assert seen(b"/a/b") == [b"old"]
    tree.restore(before)
    assert (seen(b"/a/b"), _is_there(tree, b"/c/b")) == ([b"old"], False)


def _is_there(tree: MountFileSystem, path: bytes) -> bool:
    try:
        tree.stat(path)
    except FileNotFoundError:
        return False
    return True
