"""Copying trees from one filesystem into another, the host's included."""

from __future__ import annotations

import errno

from planaria.files.containment import stays_inside
from planaria.files.filesystem import FileKind, FileSystem, Handle, OpenFlags, failure

__all__ = ["PIECE", "ImportBudget", "copy_tree", "write_pieces"]

#: How much is copied at a time, in bytes.
PIECE = 1 << 20
_ZEROS = bytes(PIECE)


class ImportBudget:
    """How many bytes and nodes an import may still bring; None is without limit."""

    def __init__(self, max_bytes: int | None = None, max_nodes: int | None = None) -> None:
        self._bytes = max_bytes
        self._nodes = max_nodes

    def node(self, path: bytes) -> None:
        """Count one file, directory or link."""
        if self._nodes is not None:
            self._nodes -= 1
            if self._nodes < 0:
                raise failure(errno.EDQUOT, path, "more files than are allowed")

    def spend(self, size: int, path: bytes) -> None:
        """Count bytes of contents, zeros and holes included."""
        if self._bytes is not None:
            self._bytes -= size
            if self._bytes < 0:
                raise failure(errno.EFBIG, path, "more bytes than are allowed")


def write_pieces(handle: Handle, offset: int, piece: bytes) -> None:
    """Write a piece of a file being copied, leaving a hole where it is long and all zeros."""
    if len(piece) < PIECE or piece != _ZEROS:
        handle.write(piece, offset)


def copy_tree(
    source: FileSystem,
    source_path: bytes,
    target: FileSystem,
    target_path: bytes,
    *,
    budget: ImportBudget | None = None,
    contained: bool = False,
) -> None:
    """Copy a file, link or directory with everything in it to `target_path`.

    Directories merge into existing ones, files are written over, links are copied as links. With
    `contained`, a link that could lead out of the copied tree is refused (EPERM): it is written where
    others will follow it. Devices, FIFOs and sockets are refused (EINVAL).
    """
    budget = budget or ImportBudget()
    # The top is followed when it is a link: it is what the caller asked for.
    pending = [(source_path, target_path, 0)]
    finished: list[tuple[bytes, int, int, int]] = []
    while pending:
        origin, path, depth = pending.pop()
        info = source.stat(origin, follow=depth == 0)
        kind = info.kind
        budget.node(origin)
        if kind is FileKind.DIRECTORY:
            try:
                target.mkdir(path, 0o700)
            except FileExistsError:
                if target.stat(path, follow=depth == 0).kind is not FileKind.DIRECTORY:
                    raise
            finished.append((path, info.mode & 0o777, info.atime, info.mtime))
            for entry in source.scandir(origin):
                pending.append(
                    (
                        origin.rstrip(b"/") + b"/" + entry.name,
                        path.rstrip(b"/") + b"/" + entry.name,
                        depth + 1,
                    )
                )
        elif kind is FileKind.REGULAR:
            _copy_file(source, origin, target, path, info.mode & 0o777, budget)
            target.utime(path, info.atime, info.mtime)
        elif kind is FileKind.SYMBOLIC_LINK:
            link = source.readlink(origin)
            if contained and not stays_inside(link, depth - 1):
                raise failure(errno.EPERM, origin, f"the link to {link!r} could lead out of the copied tree")
            _clear(target, path)
            target.symlink(link, path)
        else:
            raise failure(errno.EINVAL, origin, "only files, directories and links can be copied")
    # Last, and the inner ones first: what is written into a directory changes its times.
    for path, mode, atime, mtime in reversed(finished):
        target.chmod(path, mode)
        target.utime(path, atime, mtime)


def _copy_file(
    source: FileSystem, origin: bytes, target: FileSystem, path: bytes, mode: int, budget: ImportBudget
) -> None:
    reader = source.open(origin, OpenFlags.READ)
    try:
        _clear(target, path)
        writer = target.open(path, OpenFlags.WRITE | OpenFlags.CREATE | OpenFlags.EXCLUSIVE, mode)
        try:
            offset = 0
            while piece := reader.read(PIECE, offset):
                budget.spend(len(piece), origin)
                write_pieces(writer, offset, piece)
                offset += len(piece)
            if writer.stat().size != offset:
                writer.truncate(offset)
        finally:
            writer.close()
    finally:
        reader.close()


def _clear(target: FileSystem, path: bytes) -> None:
    """Take away a file or link that is in the way, so that nothing is written through a link."""
    try:
        target.unlink(path)
    except FileNotFoundError:
        pass
