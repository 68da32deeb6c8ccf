"""Which symbolic links cannot lead out of a directory tree, whatever else changes in the tree.

A link `../../f` may go up at most as many levels as its directory lies below the top. After a name, `..` is
not allowed: the name may be, or become, a link to a directory elsewhere in the tree, and `..` is
that directory's parent (path_resolution(7)). Where every link obeys this, resolving one never passes the top:
each leads to a directory of the tree first, and from there down only.
"""

from __future__ import annotations

__all__ = ["climbs", "stays_inside"]


def stays_inside(target: bytes, depth: int) -> bool:
    """Whether a link in a directory `depth` levels below the top cannot lead above the top."""
    if target.startswith(b"/"):
        return False
    up = 0
    below = False
    for name in target.split(b"/"):
        if name == b"..":
            if below:
                return False
            up += 1
        elif name not in (b"", b"."):
            below = True
    return up <= depth


def climbs(target: bytes) -> int:
    """How many levels a relative link may go up; 0 for an absolute one, which leads to the same place
    wherever it lies.
    """
    return 0 if target.startswith(b"/") else target.split(b"/").count(b"..")
