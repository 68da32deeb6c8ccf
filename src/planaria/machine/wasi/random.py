"""Where a guest's random bytes come from: the host's secure source, or a stream that a seed determines.

A source belongs to one session: a fork gets its own (`copy.copy`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from copy import copy
from typing import Final, Protocol

__all__ = ["JournaledRandom", "RandomSource", "SeededRandom", "SystemRandom", "take"]

#: The guest chooses how much it wants; the host never holds more than this at once.
PIECE: Final = 1 << 16


class RandomSource(Protocol):
    """What a session takes random bytes from."""

    def fill(self, view: memoryview) -> None:
        """Overwrite all of `view`."""

    def state(self) -> int | None:
        """What `restore` needs to go on with the same stream; None when there is no stream to go on with."""

    def restore(self, state: int | None) -> None: ...


def take(source: RandomSource, size: int) -> bytes:
    """The next `size` bytes of a source."""
    taken = bytearray(size)
    source.fill(memoryview(taken))
    return bytes(taken)


class SystemRandom:
    """The operating system's secure source (`os.urandom`)."""

    __slots__ = ()

    def fill(self, view: memoryview) -> None:
        for start in range(0, len(view), PIECE):
            piece = view[start : start + PIECE]
            piece[:] = os.urandom(len(piece))

    def state(self) -> int | None:
        return None

    def restore(self, state: int | None) -> None:
        pass  # secure bytes are fresh everywhere


class SeededRandom:
    """A repeatable stream: the same seed and the same requests give the same bytes on every machine.

    Each piece is SHAKE-256 (FIPS 202) of the seed and the number of the piece. Not a source of secrets.
    """

    __slots__ = ("_hash", "_pieces")

    def __init__(self, seed: int | bytes) -> None:
        text = seed if isinstance(seed, bytes) else b"%d" % seed
        self._hash = hashlib.shake_256(b"planaria.random:" + text + b":")
        self._pieces = 0

    def fill(self, view: memoryview) -> None:
        for start in range(0, len(view), PIECE):
            piece = view[start : start + PIECE]
            source = self._hash.copy()
            source.update(b"%d" % self._pieces)
            self._pieces += 1
            piece[:] = source.digest(len(piece))

    def state(self) -> int | None:
        return self._pieces

    def restore(self, state: int | None) -> None:
        self._pieces = state or 0


class JournaledRandom:
    """A source whose bytes go through `outcome(kind, take)`; see `planaria.executors.journal`.

    A copy, which is that of another session, has a copy of the source behind it.
    """

    __slots__ = ("_inner", "_outcome")

    def __init__(self, inner: RandomSource, outcome: Callable[[str, Callable[[], bytes]], bytes]) -> None:
        self._inner = inner
        self._outcome = outcome

    def __copy__(self) -> JournaledRandom:
        return JournaledRandom(copy(self._inner), self._outcome)

    def fill(self, view: memoryview) -> None:
        view[:] = self._outcome("random", lambda: take(self._inner, len(view)))

    def state(self) -> int | None:
        return self._inner.state()

    def restore(self, state: int | None) -> None:
        self._inner.restore(state)
