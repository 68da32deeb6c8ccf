"""What a guest writes into a directory of the host leads no program of the host out of it."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from example_counts import examples
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from planaria.files import HostFileSystem, MemoryFileSystem, MountFileSystem, OpenFlags

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "target", [b"/etc/shadow", b"../secret", b"d/../../secret", b"d/../f", b"/", b"..", b"./../f"]
)
def test_links_that_could_lead_out_are_refused(tmp_path: Path, target: bytes) -> None:
    """A link that is absolute, goes above the top or has `..` after a name is refused and says why."""
    (tmp_path / "d").mkdir()
    filesystem = HostFileSystem(tmp_path, read_only=False)
    with pytest.raises(PermissionError, match="could lead out of the mounted directory") as caught:
        filesystem.symlink(target, b"/link")
    assert caught.value.errno == errno.EPERM
    assert not os.path.lexists(tmp_path / "link")


def test_relative_links_inside_work(tmp_path: Path) -> None:
    """Relative links are links for the host's programs and for the guest alike."""
    (tmp_path / "f").write_text("inside")
    (tmp_path / "a" / "b").mkdir(parents=True)
    filesystem = HostFileSystem(tmp_path, read_only=False)
    for path, target in ((b"/l", b"f"), (b"/a/l", b"../f"), (b"/a/b/l", b"../../f"), (b"/m", b"./a/b/l")):
        filesystem.symlink(target, path)
        assert (tmp_path / os.fsdecode(path[1:])).read_text() == "inside"
        assert filesystem.stat(path).inode == (tmp_path / "f").stat().st_ino


def test_moving_a_link_up_does_not_lead_out(tmp_path: Path) -> None:
    """A link, and a directory with one below, is not moved to where the link would lead out."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    filesystem = HostFileSystem(tmp_path, read_only=False)
    filesystem.symlink(b"../../../f", b"/a/b/c/l")
    for attempt in (
        lambda: filesystem.rename(b"/a/b/c/l", b"/l"),
        lambda: filesystem.link(b"/a/b/c/l", b"/l"),
        lambda: filesystem.rename(b"/a/b/c", b"/c"),
        lambda: filesystem.rename(b"/a/b", b"/b"),
    ):
        with pytest.raises(PermissionError, match="could lead out"):
            attempt()
    filesystem.mkdir(b"/x")
    filesystem.rename(b"/a/b", b"/x/b")
    filesystem.rename(b"/x/b/c/l", b"/x/b/c/m")
    assert os.readlink(tmp_path / "x/b/c/m") == "../../../f"


def test_a_directory_that_was_moved_is_not_taken_for_deeper_than_it_is(tmp_path: Path) -> None:
    """A directory that is open while it is moved up does not serve to create a link for its old place."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    filesystem = HostFileSystem(tmp_path, read_only=False)
    handle = filesystem.open(b"/a/b", OpenFlags.READ | OpenFlags.DIRECTORY)
    filesystem.rename(b"/a/b", b"/b")
    try:
        with pytest.raises(PermissionError, match="could lead out"):
            filesystem.symlink(b"../../f", b"l", at=handle)
    finally:
        handle.close()


def test_links_that_the_host_made_can_be_moved_down(tmp_path: Path) -> None:
    """A link out that was there before may be moved sideways and down, as part of its directory."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "python").symlink_to("/usr/bin/python3")
    filesystem = HostFileSystem(tmp_path, read_only=False)
    filesystem.mkdir(b"/d")
    filesystem.rename(b"/venv", b"/d/venv")
    filesystem.rename(b"/d/venv", b"/env")
    assert os.readlink(tmp_path / "env" / "python") == "/usr/bin/python3"


def test_a_mount_may_allow_links_that_lead_out(tmp_path: Path) -> None:
    """With `escaping_links`, a mount takes any link."""
    filesystem = HostFileSystem(tmp_path, read_only=False, escaping_links=True)
    filesystem.symlink(b"/etc/passwd", b"/l")
    assert os.readlink(tmp_path / "l") == "/etc/passwd"


def test_links_in_memory_are_free(tmp_path: Path) -> None:
    """Only mounted directories of the host have the rule."""
    tree = MountFileSystem(MemoryFileSystem())
    tree.mkdir(b"/out")
    tree.mount(b"/out", HostFileSystem(tmp_path, read_only=False))
    tree.symlink(b"/out/f", b"/l")
    with pytest.raises(PermissionError):
        tree.symlink(b"/l", b"/out/l")


_NAMES = st.sampled_from([b"a", b"b", b"c", b"l", b"m"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map(lambda parts: b"/" + b"/".join(parts))
_TARGETS = st.lists(st.sampled_from([b"a", b"b", b"l", b"..", b"..", b"."]), min_size=1, max_size=5).map(
    b"/".join
)


class _Containment(RuleBasedStateMachine):
    """Random directories, links, hard links and moves: no path below the top resolves outside."""

    def __init__(self) -> None:
        super().__init__()
        self.holder = tempfile.TemporaryDirectory()
        self.top = Path(os.path.realpath(self.holder.name)) / "outer" / "top"
        self.top.mkdir(parents=True)
        for name in "abc":
            (self.top / name / "b" / "c").mkdir(parents=True)
            (self.top.parent / name).mkdir()
        self.files = HostFileSystem(self.top, read_only=False)

    def teardown(self) -> None:
        self.holder.cleanup()

    @rule(path=_PATHS)
    def mkdir(self, path: bytes) -> None:
        _attempt(lambda: self.files.mkdir(path))

    @rule(path=_PATHS, leading=_TARGETS)
    def symlink(self, path: bytes, leading: bytes) -> None:
        _attempt(lambda: self.files.symlink(leading, path))

    @rule(old=_PATHS, new=_PATHS)
    def rename(self, old: bytes, new: bytes) -> None:
        _attempt(lambda: self.files.rename(old, new))

    @rule(old=_PATHS, new=_PATHS)
    def link(self, old: bytes, new: bytes) -> None:
        _attempt(lambda: self.files.link(old, new))

    @rule(data=st.data(), name=_NAMES)
    def climb(self, data: st.DataObject, name: bytes) -> None:
        """A link that goes as far up as it may."""
        directory = data.draw(st.sampled_from(self.directories()))
        target = b"../" * (directory.count(b"/") if directory != b"/" else 0) + name
        _attempt(lambda: self.files.symlink(target, directory.rstrip(b"/") + b"/l"))

    @rule(data=st.data(), name=_NAMES)
    def raise_up(self, data: st.DataObject, name: bytes) -> None:
        """A directory, to any other one."""
        moved, into = (data.draw(st.sampled_from(self.directories())) for _ in range(2))
        _attempt(lambda: self.files.rename(moved, into.rstrip(b"/") + b"/" + name))

    def directories(self) -> list[bytes]:
        return sorted(
            b"/" + os.path.relpath(os.fsencode(directory), os.fsencode(self.top)).lstrip(b".")
            for directory, _, _ in os.walk(self.top)
        )

    @rule(path=_PATHS)
    def unlink(self, path: bytes) -> None:
        _attempt(lambda: self.files.unlink(path))

    @invariant()
    def nothing_leads_out(self) -> None:
        for directory, names, files in os.walk(self.top):
            for name in (*names, *files):
                resolved = os.path.realpath(os.path.join(directory, name))
                assert (resolved + "/").startswith(f"{self.top}/")


#: What operations on random paths may fail with.
_EXPECTED = frozenset(
    {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EPERM, errno.ENOTEMPTY, errno.EINVAL}
    | {errno.ELOOP, errno.EBUSY}
)


def _attempt(change: Callable[[], None]) -> None:
    try:
        change()
    except OSError as error:
        if error.errno not in _EXPECTED:
            raise


TestContainment = _Containment.TestCase
TestContainment.settings = settings(
    max_examples=examples(60), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
