"""`os.walk` with as few calls out of the sandbox as it takes.

It asks a directory's entries, and never the system, which of them are links, and it goes over the entries of
the interpreter, not over those that know permission bits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["install"]

_scandir: Final = os.scandir


def walk(
    top: Any,
    topdown: bool = True,
    onerror: Callable[[OSError], object] | None = None,
    followlinks: bool = False,
) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Directory tree generator: yields (path, names of directories, names of other files).

    With `topdown` a directory comes before what is in it, and the caller may change the list of directories
    in place to say where to go on. `onerror` is called with the error of a directory that cannot be listed,
    which is left out. Links to directories are among the directories; they are entered if `followlinks`.
    """
    sys.audit("os.walk", top, topdown, onerror, followlinks)
    # shutil.rmtree's private way to say that links to directories are to be among the files.
    as_files = followlinks is getattr(os, "_walk_symlinks_as_files", None)
    join = os.path.join
    # A directory to list, or what was found in one whose turn comes after those below it.
    pending: list[Any] = [os.fspath(top)]
    while pending:
        place = pending.pop()
        if isinstance(place, tuple):
            yield place
            continue
        try:
            with _scandir(place) as found:
                entries = list(found)
        except OSError as error:
            if onerror is not None:
                onerror(error)
            continue
        directories: list[Any] = []
        others: list[Any] = []
        links: set[Any] = set()
        for entry in entries:
            try:
                is_directory = entry.is_dir(follow_symlinks=not as_files)
            except OSError:
                is_directory = False  # as os.path.isdir has it
            if not is_directory:
                others.append(entry.name)
                continue
            directories.append(entry.name)
            if entry.is_symlink():
                links.add(entry.name)
        if topdown:
            known = frozenset(directories)
            yield place, directories, others
            for name in reversed(directories):
                path = join(place, name)
                is_link = name in links if name in known else os.path.islink(path)
                if followlinks or not is_link:
                    pending.append(path)
        else:
            pending.append((place, directories, others))
            below = [name for name in directories if followlinks or name not in links]
            pending += [join(place, name) for name in reversed(below)]


def install() -> None:
    """Put it in the place of `os.walk`."""
    os.walk = walk  # type: ignore[assignment,unused-ignore]
