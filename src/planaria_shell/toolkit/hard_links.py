"""Hard links, where the system may not know how to follow symbolic ones."""

from __future__ import annotations

import os

__all__ = ["hard_link"]


def hard_link(source: str, path: str, *, follow: bool = False) -> None:
    """Give a file one more name; with `follow`, that which a symbolic link leads to.

    The sandbox's Python refuses `follow_symlinks`, and links what it is given.
    """
    if follow:
        source = os.path.realpath(source)
    if os.link in os.supports_follow_symlinks:
        os.link(source, path, follow_symlinks=False)
    else:
        os.link(source, path)
