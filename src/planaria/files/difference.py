"""Comparing two filesystems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from planaria.files.handle import DirEntry, FileKind, Handle, OpenFlags, Stat

__all__ = ["Difference", "Tree", "difference"]

_PIECE = 1 << 20


class Difference(NamedTuple):
    """Paths, sorted; of a directory that was added or removed, all paths in it as well."""

    added: list[bytes]
    removed: list[bytes]
    changed: list[bytes]
    """Of another kind, or with other contents, link target or permission bits; times do not count."""


class Tree(Protocol):
    """What is asked of a filesystem to compare it; see `FileSystem`."""

    def stat(self, path: bytes, *, follow: bool = True) -> Stat: ...

    def readlink(self, path: bytes) -> bytes: ...

    def open(self, path: bytes, flags: OpenFlags) -> Handle: ...

    def scandir(self, path: bytes) -> Iterable[DirEntry]: ...


def difference(old: Tree, new: Tree) -> Difference:
    """What is added, removed and changed in `new`."""
    added: list[bytes] = []
    removed: list[bytes] = []
    changed: list[bytes] = []
    pending = [b""]
    while pending:
        directory = pending.pop()
        here = _listing(old, directory or b"/")
        there = _listing(new, directory or b"/")
        for name in here.keys() | there.keys():
            path = directory + b"/" + name
            if name not in there:
                removed += _tree(old, path, here[name])
            elif name not in here:
                added += _tree(new, path, there[name])
            elif here[name].kind != there[name].kind:
                changed.append(path)
                for filesystem, entry, paths in ((old, here[name], removed), (new, there[name], added)):
                    paths += _tree(filesystem, path, entry)[1:]
            else:
                if not _same(old, new, path, here[name].kind):
                    changed.append(path)
                if here[name].kind is FileKind.DIRECTORY:
                    pending.append(path)
    return Difference(sorted(added), sorted(removed), sorted(changed))


def _listing(filesystem: Tree, path: bytes) -> dict[bytes, DirEntry]:
    return {entry.name: entry for entry in filesystem.scandir(path)}


def _tree(filesystem: Tree, path: bytes, entry: DirEntry) -> list[bytes]:
    """A path and everything below it."""
    paths = [path]
    pending = [path] if entry.kind is FileKind.DIRECTORY else []
    while pending:
        directory = pending.pop()
        for inner in filesystem.scandir(directory):
            below = directory + b"/" + inner.name
            paths.append(below)
            if inner.kind is FileKind.DIRECTORY:
                pending.append(below)
    return paths


def _same(old: Tree, new: Tree, path: bytes, kind: FileKind) -> bool:
    left, right = old.stat(path, follow=False), new.stat(path, follow=False)
    if left.mode != right.mode:
        return False
    if kind is FileKind.SYMBOLIC_LINK:
        return old.readlink(path) == new.readlink(path)
    if kind is not FileKind.REGULAR:
        return True
    if left.size != right.size:
        return False
    first = old.open(path, OpenFlags.READ)
    try:
        second = new.open(path, OpenFlags.READ)
        try:
            known = first.same_contents(second)
            if known is not None:
                return known
            offset = 0
            while True:
                piece = first.read(_PIECE, offset)
                if piece != second.read(_PIECE, offset):
                    return False
                if not piece:
                    return True
                offset += len(piece)
        finally:
            second.close()
    finally:
        first.close()
