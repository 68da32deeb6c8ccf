"""Comparing two filesystems."""

from __future__ import annotations

from planaria.files.filesystem import (
    Difference,
    DirEntry,
    FileKind,
    FileSystem,
    FileSystemSnapshot,
    OpenFlags,
)
from planaria.files.node import NodeHandle

__all__ = ["difference"]

_PIECE = 1 << 20


def difference(before: FileSystem | FileSystemSnapshot, after: FileSystem | FileSystemSnapshot) -> Difference:
    """What is added, removed and changed in `after`."""
    old = _filesystem(before)
    new = _filesystem(after)
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


def _filesystem(state: FileSystem | FileSystemSnapshot) -> FileSystem:
    if isinstance(state, FileSystem):
        # Contents that are frozen need not be read again to be compared.
        state.snapshot()
        return state
    return state.open()


def _listing(filesystem: FileSystem, path: bytes) -> dict[bytes, DirEntry]:
    return {entry.name: entry for entry in filesystem.scandir(path)}


def _tree(filesystem: FileSystem, path: bytes, entry: DirEntry) -> list[bytes]:
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


def _same(old: FileSystem, new: FileSystem, path: bytes, kind: FileKind) -> bool:
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
            if isinstance(first, NodeHandle) and isinstance(second, NodeHandle):
                known = first.node.same_contents(second.node)
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
