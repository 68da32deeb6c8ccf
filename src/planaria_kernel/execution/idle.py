"""What is done when a cell parks or ends."""

from __future__ import annotations

from collections.abc import Callable, Sized

__all__ = ["Idle"]


class Idle:
    """`run` runs queued threads, and says whether there were any; it writes maps of files back.

    `threads` and `maps` are looked at before, since they are nearly always empty.
    """

    __slots__ = ("maps", "run", "threads")

    def __init__(self, run: Callable[[], bool], threads: Sized, maps: Sized) -> None:
        self.run = run
        self.threads = threads
        self.maps = maps
