"""Random operations, done in a real directory through `os` and in ours: the same must happen."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from example_counts import examples
from filesystem_kinds import make, write
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from planaria.files import (
    FileKind,
    FileSystem,
    HostFileSystem,
    MemoryFileSystem,
    OpenFlags,
    OverlayFileSystem,
)

pytestmark = pytest.mark.slow

_INNER = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f", b"g"])


@st.composite
def _paths(draw: st.DrawFn) -> bytes:
    """Paths that stay below the top, some with trailing slashes, dots and doubled slashes."""
    parts: list[bytes] = draw(st.lists(_INNER, min_size=1, max_size=3))
    if draw(st.integers(0, 9)) == 0:
        parts.insert(draw(st.integers(1, len(parts))), b".")
    if draw(st.integers(0, 9)) == 0:
        parts.insert(1, b"..")
        parts.append(draw(_INNER))
    return b"/".join(parts) + b"/" * (draw(st.integers(0, 4)) == 0)


_TARGETS = st.lists(_INNER, min_size=1, max_size=2).map(b"/".join)
_OFFSETS = st.sampled_from([0, 1, 3, 4095, 65535, 65536, 70000])
_DATA = st.binary(max_size=20) | st.sampled_from([b"x" * 5000, b"y" * 65536, bytes(70000), b"z" * 140000])


def _populate(filesystem: FileSystem) -> None:
    for path in (b"/a", b"/a/b", b"/a/b/c", b"/d", b"/d/e"):
        filesystem.mkdir(path)
    for path in (b"/f", b"/a/f", b"/a/b/f", b"/a/b/c/g", b"/d/g"):
        write(filesystem, path, path * 3000)
    filesystem.symlink(b"a/b", b"/c")
    filesystem.symlink(b"f", b"/a/g")


class _Model(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        self.real = self.top / "real"
        self.real.mkdir()
        lower = self.top / "lower"
        lower.mkdir()
        if self.kind == "overlay with contents":
            below = MemoryFileSystem()
            for filesystem in (below, HostFileSystem(self.real, read_only=False)):
                _populate(filesystem)
            self.ours: FileSystem = OverlayFileSystem(below)
        else:
            self.ours = make(self.kind, lower)
        self.handles: list[tuple[int, Any]] = []

    def teardown(self) -> None:
        for descriptor, handle in self.handles:
            os.close(descriptor)
            handle.close()
        shutil.rmtree(self.top)

    def path(self, path: bytes) -> bytes:
        return os.fsencode(self.real) + b"/" + path

    def both(self, real: Any, ours: Any, what: str) -> tuple[Any, Any] | None:
        """Do both; they succeed both, or fail both with the same errno."""
        results: list[Any] = []
        errors: list[str] = []
        for function in (real, ours):
            try:
                results.append(function())
                errors.append("")
            except OSError as error:
                errors.append(errno.errorcode[error.errno or 0])
        assert errors[0] == errors[1], what
        return (results[0], results[1]) if not errors[0] else None

    @rule(path=_paths())
    def mkdir(self, path: bytes) -> None:
        self.both(lambda: os.mkdir(self.path(path)), lambda: self.ours.mkdir(b"/" + path), f"mkdir {path!r}")

    @rule(path=_paths())
    def rmdir(self, path: bytes) -> None:
        self.both(lambda: os.rmdir(self.path(path)), lambda: self.ours.rmdir(b"/" + path), f"rmdir {path!r}")

    @rule(path=_paths())
    def unlink(self, path: bytes) -> None:
        self.both(
            lambda: os.unlink(self.path(path)), lambda: self.ours.unlink(b"/" + path), f"unlink {path!r}"
        )

    @rule(old=_paths(), new=_paths())
    def rename(self, old: bytes, new: bytes) -> None:
        self.both(
            lambda: os.rename(self.path(old), self.path(new)),
            lambda: self.ours.rename(b"/" + old, b"/" + new),
            f"rename {old!r} {new!r}",
        )

    @rule(old=_paths(), new=_paths())
    def link(self, old: bytes, new: bytes) -> None:
        self.both(
            lambda: os.link(self.path(old), self.path(new), follow_symlinks=False),
            lambda: self.ours.link(b"/" + old, b"/" + new),
            f"link {old!r} {new!r}",
        )

    @rule(aim=_TARGETS, path=_paths())
    def symlink(self, aim: bytes, path: bytes) -> None:
        self.both(
            lambda: os.symlink(aim, self.path(path)),
            lambda: self.ours.symlink(aim, b"/" + path),
            f"symlink {aim!r} {path!r}",
        )

    @rule(
        path=_paths(),
        create=st.booleans(),
        exclusive=st.booleans(),
        truncate=st.booleans(),
        keep=st.booleans(),
        offset=_OFFSETS,
        data=_DATA,
    )
    def write(
        self,
        path: bytes,
        create: bool,
        exclusive: bool,
        truncate: bool,
        keep: bool,
        offset: int,
        data: bytes,
    ) -> None:
        how, flags = os.O_RDWR, OpenFlags.READ | OpenFlags.WRITE
        if create:
            how, flags = how | os.O_CREAT, flags | OpenFlags.CREATE
            if exclusive:
                how, flags = how | os.O_EXCL, flags | OpenFlags.EXCLUSIVE
        if truncate:
            how, flags = how | os.O_TRUNC, flags | OpenFlags.TRUNCATE
        opened = self.both(
            lambda: os.open(self.path(path), how, 0o644),
            lambda: self.ours.open(b"/" + path, flags, 0o644),
            f"open {path!r} {flags!r}",
        )
        if opened is None:
            return
        descriptor, handle = opened
        assert os.pwrite(descriptor, data, offset) == handle.write(data, offset)
        if keep and len(self.handles) < 4:
            self.handles.append((descriptor, handle))
        else:
            os.close(descriptor)
            handle.close()

    @rule(index=st.integers(0, 3), size=_OFFSETS, offset=_OFFSETS, data=_DATA)
    def use_handle(self, index: int, size: int, offset: int, data: bytes) -> None:
        if index < len(self.handles):
            descriptor, handle = self.handles[index]
            os.ftruncate(descriptor, size)
            handle.truncate(size)
            os.pwrite(descriptor, data, offset)
            handle.write(data, offset)
            assert os.pread(descriptor, 1 << 20, 1) == handle.read(1 << 20, 1)
            assert os.fstat(descriptor).st_size == handle.stat().size
            assert os.fstat(descriptor).st_nlink == handle.stat().links

    @rule(path=_paths(), follow=st.booleans())
    def stat(self, path: bytes, follow: bool) -> None:
        found = self.both(
            lambda: os.stat(self.path(path), follow_symlinks=follow),
            lambda: self.ours.stat(b"/" + path, follow=follow),
            f"stat {path!r}",
        )
        if found is not None:
            real, ours = found
            assert real.st_mode & 0o170000 == ours.mode & 0o170000
            if ours.kind is not FileKind.DIRECTORY:
                assert (real.st_size, real.st_nlink) == (ours.size, ours.links)

    @rule()
    def go_through_a_snapshot(self) -> None:
        if not self.handles:
            snapshot = self.ours.snapshot()
            again = self.ours.read_manifest(snapshot.manifest(), snapshot.chunks())
            assert again.manifest() == snapshot.manifest()
            self.ours.restore(again)
            usage = self.ours.usage()
            assert self.ours.fork().usage() == usage

    @rule()
    def go_on_in_a_fork(self) -> None:
        if not self.handles:
            self.ours = self.ours.fork()

    @invariant()
    def trees_are_equal(self) -> None:
        pending = [b""]
        while pending:
            directory = pending.pop()
            entries = {entry.name: entry for entry in self.ours.scandir(b"/" + directory)}
            with os.scandir(self.path(directory)) as listing:
                real = {entry.name: entry for entry in listing}
            assert sorted(real) == sorted(entries)
            for name, entry in entries.items():
                path = directory + b"/" + name if directory else name
                if entry.kind is FileKind.DIRECTORY:
                    assert real[name].is_dir(follow_symlinks=False)
                    pending.append(path)
                elif entry.kind is FileKind.SYMBOLIC_LINK:
                    assert os.readlink(self.path(path)) == self.ours.readlink(b"/" + path)
                else:
                    handle = self.ours.open(b"/" + path, OpenFlags.READ)
                    assert Path(os.fsdecode(self.path(path))).read_bytes() == handle.read(1 << 20, 0)
                    assert handle.path() is not None
                    assert self.ours.stat(handle.path() or b"").inode == handle.stat().inode
                    handle.close()


@pytest.mark.parametrize(
    "kind", ["memory", "overlay with whiteouts", "overlay with contents", "mount", "host"]
)
def test_the_same_happens_as_in_a_real_directory(kind: str) -> None:
    """Any sequence of operations gives the results, errors and trees that the system gives."""
    machine = type("Model", (_Model,), {"kind": kind})
    machine.TestCase.settings = settings(  # type: ignore[attr-defined]
        max_examples=examples(30),
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    test = machine.TestCase()  # type: ignore[attr-defined]
    test.runTest()
