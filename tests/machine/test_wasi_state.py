from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from wasi_guest import BOTH, READ, Guest

from planaria.errors import SnapshotError
from planaria.files import HostFileSystem, MemoryFileSystem, MountFileSystem
from planaria.machine.wasi.abi import Errno, FdFlags, OFlags
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.random import SeededRandom


def everything(guest: Guest, fd: int) -> bytes:
    return guest.read(fd, 100, name="fd_pread", extra=(0,))


def fork(guest: Guest) -> Guest:
    state = guest.wasi.state()
    child = Guest(guest.files.fork())
    child.wasi.restore(state)
    return child


def test_a_fork_has_the_same_descriptors_and_its_own_files() -> None:
    """Numbers, positions, flags and rights are those of the parent; what either writes stays its own."""
    guest = Guest()
    a, b, c = (guest.create(name, b"data") for name in (b"a", b"b", b"c"))
    guest.call("fd_close", b)
    guest.call("fd_seek", a, 2, 0, result="<Q")
    guest.call("fd_fdstat_set_flags", c, FdFlags.APPEND)
    reading = guest.open(b"a", 0, READ)
    guest.call("fd_close", reading)
    child = fork(guest)
    for fd in (a, c):
        assert child.call("fd_fdstat_get", fd, result="<BxHxxxxQQ") == guest.call(
            "fd_fdstat_get", fd, result="<BxHxxxxQQ"
        )
    child.write(a, b"XX")
    child.write(c, b"!")
    assert (everything(child, a), everything(child, c)) == (b"daXX", b"data!")
    assert (everything(guest, a), everything(guest, c)) == (b"data", b"data")
    assert guest.call("fd_tell", a, result="<Q") == 2
    assert child.create(b"n") == guest.create(b"n") == b


def test_files_without_a_name_survive() -> None:
    """A file that was unlinked while open goes on in the fork, shared by those who shared it."""
    guest = Guest()
    first = guest.create(b"f", b"secret")
    second = guest.open(b"f", 0, READ)
    guest.call("path_unlink_file", 3, b"f")
    child = fork(guest)
    child.write(first, b" plan")
    assert everything(child, second) == b"secret plan"
    assert everything(guest, second) == b"secret"
    assert child.raw("path_filestat_get", 3, 1, b"f", 64) == Errno.NOENT


def test_renamed_files_are_found() -> None:
    """A file is known by what it is, not by the name it was opened under."""
    guest = Guest()
    fd = guest.create(b"f", b"mine")
    guest.call("path_rename", 3, b"f", 3, b"g")
    guest.create(b"f", b"other")
    assert everything(fork(guest), fd) == b"mine"


def test_duplicates_share_their_position() -> None:
    """What os.dup gave has one position with its original, in a fork too, and the file is open until both are
    closed.
    """
    guest = Guest()
    first = guest.create(b"f", b"0123456789")
    second = guest.wasi.dup(first)
    guest.call("fd_seek", first, 4, 0, result="<Q")
    child = fork(guest)
    for one in (guest, child):
        assert one.call("fd_tell", second, result="<Q") == 4
        one.call("fd_seek", second, 6, 0, result="<Q")
        assert one.read(first, 2) == b"67"
        one.call("fd_close", first)
        assert one.read(second, 2) == b"89"
        one.call("fd_close", second)
        assert one.raw("fd_tell", second, 64) == Errno.BADF


def test_a_stream_is_redirected_and_put_back() -> None:
    """os.dup2 gives a number to something else, and what it was before stays open under another one."""
    guest = Guest()
    file = guest.create(b"f")
    old = guest.wasi.dup(1)
    guest.wasi.dup(file, 1)
    guest.write(1, b"hidden")
    child = fork(guest)
    for one in (guest, child):
        one.wasi.dup(old, 1)
        one.write(1, b"seen")
        assert one.output == [(1, b"seen")]
        assert everything(one, file) == b"hidden"
    with pytest.raises(OSError, match="not open"):
        guest.wasi.dup(99)
    with pytest.raises(OSError, match="root directory"):
        guest.wasi.dup(3)


def test_locks_end_with_their_holder() -> None:
    """The directory by which SQLite locks a file goes when its guest ends, and is back on restoring."""
    guest = Guest()
    guest.create(b"x.db")
    for name in (b"x.db.lock", b"other.lock", b"x.db.lock/inner"):
        guest.call("path_create_directory", 3, name)
    guest.call("path_remove_directory", 3, b"x.db.lock/inner")
    state = guest.wasi.state()
    assert state["locks"] == ["/x.db.lock"]
    guest.wasi.close()
    assert [entry.name for entry in guest.files.scandir(b"/")] == [b"other.lock", b"x.db"]
    again = Guest(guest.files)
    again.wasi.restore(state)
    assert again.raw("path_create_directory", 3, b"x.db.lock") == Errno.EXIST
    again.call("path_remove_directory", 3, b"x.db.lock")
    assert again.wasi.state()["locks"] == []


def test_going_back_lets_go_of_locks() -> None:
    """A guest that goes back holds the locks of that moment, and lets go of those that it took since."""
    guest = Guest()
    for name in (b"x.db", b"y.db"):
        guest.create(name)
    guest.call("path_create_directory", 3, b"x.db.lock")
    state = guest.wasi.state()
    guest.call("path_create_directory", 3, b"y.db.lock")
    guest.wasi.restore(state)
    assert guest.wasi.state()["locks"] == ["/x.db.lock"]
    assert guest.raw("path_create_directory", 3, b"x.db.lock") == Errno.EXIST
    assert guest.raw("path_create_directory", 3, b"y.db.lock") == 0


def _with_host(directory: Path) -> MountFileSystem:
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/out")
    tree.mount(b"/out", HostFileSystem(directory, read_only=False))
    return tree


def test_restoring_takes_and_removes_no_locks_of_the_host(tmp_path: Path) -> None:
    """A state that lists locks in a directory of the host, or behind a link to it, creates and removes nothing
    there.
    """
    (tmp_path / "x.db").write_bytes(b"")
    (tmp_path / "taken.db").write_bytes(b"")
    (tmp_path / "taken.db.lock").mkdir()
    guest = Guest(_with_host(tmp_path))
    guest.files.symlink(b"/out", b"/link")
    state = guest.wasi.state()
    forged = [f"{where}/{name}.lock" for where in ("/out", "/link") for name in ("x.db", "taken.db", "new")]
    guest.wasi.restore({**state, "locks": forged})
    guest.wasi.restore(state)
    guest.wasi.restore({**state, "locks": forged})
    guest.wasi.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken.db", "taken.db.lock", "x.db"]


def test_a_lock_on_the_host_is_released_by_its_holder_alone(tmp_path: Path) -> None:
    """A guest that ends removes the lock it took, and neither another's nor one that was put in its place."""
    (tmp_path / "x.db").write_bytes(b"")
    one, two = Guest(_with_host(tmp_path)), Guest(_with_host(tmp_path))
    one.call("path_create_directory", 3, b"out/x.db.lock")
    two.wasi.restore(one.wasi.state())
    two.wasi.close()
    assert (tmp_path / "x.db.lock").is_dir()
    (tmp_path / "x.db.lock").rmdir()
    (tmp_path / "x.db.lock").mkdir()
    one.wasi.close()
    assert (tmp_path / "x.db.lock").is_dir()
    (tmp_path / "x.db.lock").rmdir()
    three = Guest(_with_host(tmp_path))
    three.call("path_create_directory", 3, b"out/x.db.lock")
    three.wasi.close()
    assert not (tmp_path / "x.db.lock").exists()


def test_a_lost_lock_is_not_removed_by_the_restored_guest(tmp_path: Path) -> None:
    """A restored guest that ends its transaction removes nothing, since the lock may be another's by now."""
    (tmp_path / "x.db").write_bytes(b"")
    guest = Guest(_with_host(tmp_path))
    guest.call("path_create_directory", 3, b"out/x.db.lock")
    state = guest.wasi.state()
    guest.call("path_remove_directory", 3, b"out/x.db.lock")
    guest.wasi.restore(state)
    (tmp_path / "x.db.lock").mkdir()
    guest.call("path_remove_directory", 3, b"out/x.db.lock")
    assert (tmp_path / "x.db.lock").is_dir()
    assert guest.wasi.state()["locks"] == []


def test_files_whose_lock_is_lost_are_stale() -> None:
    """In a storage that sessions share, the database and its journal of a lost lock are stale, the rest is not."""
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/data")
    tree.mount(b"/data", MemoryFileSystem(), shared=True)
    guest = Guest(tree)
    files = [guest.create(name, b"text") for name in (b"data/x.db", b"data/x.db-journal", b"data/other")]
    guest.call("path_create_directory", 3, b"data/x.db.lock")
    state = guest.wasi.state()
    successor = Guest(tree)
    successor.wasi.restore(state, predecessor=guest.wasi)
    guest.wasi.locks.forget()
    guest.wasi.close()
    assert [everything(successor, fd) for fd in files] == [b"text"] * 3
    successor.wasi.restore(state)
    assert [successor.raw("fd_tell", fd, 64) for fd in files] == [Errno.SUCCESS] * 3
    assert everything(successor, files[2]) == b"text"
    assert [successor.raw("fd_filestat_get", fd, 64) for fd in files[:2]] == [Errno.STALE] * 2
    assert [entry.name for entry in tree.scandir(b"/data")] == [b"other", b"x.db", b"x.db-journal"]


def test_a_listing_goes_on() -> None:
    """A directory that was being read is read to the end as it was, in the fork too."""
    guest = Guest()
    for i in range(20):
        guest.call("fd_close", guest.create(b"f%02d" % i))
    fd = guest.open(b".", OFlags.DIRECTORY)
    names = [name for name, _, _ in guest.list(fd)]
    child = fork(guest)
    child.call("path_unlink_file", 3, b"f07")
    assert [name for name, _, _ in child.list(fd, cookie=5)] == names[5:]


def test_going_back_to_a_snapshot() -> None:
    """Files and descriptors restored together are as they were, whatever happened since."""
    guest = Guest()
    fd = guest.create(b"f", b"data")
    files, state = guest.files.snapshot(), guest.wasi.state()
    guest.write(fd, b" and more")
    guest.call("fd_close", fd)
    guest.call("path_unlink_file", 3, b"f")
    guest.create(b"g")
    guest.files.restore(files)
    guest.wasi.restore(state)
    assert everything(guest, fd) == b"data"
    assert guest.raw("path_filestat_get", 3, 1, b"g", 64) == Errno.NOENT
    assert guest.create(b"h") == fd + 1


def test_what_is_gone_is_stale() -> None:
    """A descriptor whose file is not in the filesystem gives ESTALE; it can be closed and captured again."""
    guest = Guest()
    fd = guest.create(b"f", b"data")
    child = Guest(MemoryFileSystem())
    child.wasi.restore(guest.wasi.state())
    at, _ = child.vectors(4)
    assert child.raw("fd_read", fd, at, 1, 64) == Errno.STALE
    assert child.raw("fd_write", fd, at, 1, 64) == Errno.STALE
    assert child.raw("fd_filestat_get", fd, 64) == Errno.STALE
    again = fork(child)
    assert again.raw("fd_sync", fd) == Errno.STALE
    again.call("fd_close", fd)


def test_time_chance_and_umask_go_on() -> None:
    """A fork continues the clock and the seeded stream, and keeps the umask."""
    guest, child = (Guest(clock=FrozenClock(0), random=SeededRandom(7)) for _ in range(2))
    guest.wasi.umask = 0o027
    guest.wasi.clock.slept(5)
    guest.call("random_get", 64, 100)
    child.wasi.restore(guest.wasi.state())
    for system in (guest, child):
        system.call("random_get", 64, 32)
    assert guest.bytes[64:96] == child.bytes[64:96]
    assert child.call("clock_time_get", 1, 0, result="<Q") == 5
    child.open(b"f", OFlags.CREAT, BOTH)
    assert child.stat(b"f")[0] >> 48 == 0o640


def damaged(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda state: state["descriptors"][4].update(changes)


@pytest.mark.parametrize(
    "damage",
    [
        damaged(number=3),
        damaged(number=10**9),
        damaged(number="4"),
        damaged(stream=3),
        damaged(position=-1),
        damaged(position=1 << 63),
        damaged(rights=1 << 64),
        damaged(flags=32),
        damaged(file=(1, 2)),
        damaged(file=(1, 2, "x")),
        damaged(listing=b"short"),
        damaged(listing=b"\xff" * 24),
        damaged(listing="text"),
        damaged(duplicate=4),
        damaged(duplicate=99),
        damaged(duplicate="1"),
        lambda state: state["descriptors"].pop(3),
        lambda state: state["descriptors"].append(None),
        lambda state: state.update(descriptors={}),
        lambda state: state.update(umask=-1),
        lambda state: state.update(clock={"monotonic": "soon", "cpu": 0}),
        lambda state: state.update(clock={"monotonic": 0, "cpu": 0, "realtime": "now"}),
        lambda state: state.update(locks="/x.lock"),
        lambda state: state.update(locks=["/home"]),
        lambda state: state.update(locks=[b"/x.lock"]),
        lambda state: state.update(random=b"x"),
        lambda state: state.clear(),
    ],
)
def test_a_state_that_was_tampered_with_is_refused(damage: Callable[[dict[str, Any]], object]) -> None:
    """What no capture can have given is a SnapshotError and leaves everything as it was."""
    guest = Guest()
    fd = guest.create(b"f", b"data")
    state = guest.wasi.state()
    damage(state)
    with pytest.raises(SnapshotError):
        guest.wasi.restore(state)
    assert everything(guest, fd) == b"data"
    assert guest.create(b"g") == fd + 1
