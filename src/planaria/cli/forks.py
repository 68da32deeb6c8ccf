"""The sessions of a prompt: the one in which cells run, copies that were kept of it, forks to choose from."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from planaria import Session
from planaria.errors import SessionError

__all__ = ["Forks"]

T = TypeVar("T")

#: Forks that a `%%parallel` cell may have, as in notebooks.
_MOST: Final = 64


class Forks:
    """Names the sessions of a prompt. What cannot be done raises SessionError."""

    def __init__(self, session: Session) -> None:
        self.session = session
        """The session in which cells run now."""
        self._name = "main"
        self._kept: dict[str, Session] = {}
        #: The forks of the last `%%parallel`, until one is chosen.
        self._choices: list[Session] = []

    def fork(self, name: str) -> None:
        """Keep a running copy of the present session under a name."""
        if name == self._name or name in self._kept:
            raise SessionError(f"%fork {name}: there is a session of that name; %forks lists them")
        (self._kept[name],) = self.session.fork()

    def switch(self, name: str) -> None:
        """Have cells run in the session of a name."""
        if name == self._name:
            return
        if name not in self._kept:
            raise SessionError(f"%switch {name}: there is no session of that name; %forks lists them")
        self._kept[self._name], self.session = self.session, self._kept.pop(name)
        self._name = name

    def names(self) -> list[str]:
        """The names, that of the present session first."""
        return [self._name, *sorted(self._kept)]

    def parallel(self, count: int, run: Callable[[int, Session], T]) -> list[T]:
        """Call `run` with the number and session of each of `count` forks, on threads side by side.

        The forks stay until one is chosen. KeyboardInterrupt stops what runs in them.
        """
        if not 0 < count <= _MOST:
            raise SessionError(f"%%parallel {count}: there can be 1 to {_MOST} forks")
        self._forget_choices()
        self._choices = self.session.fork(count)
        with ThreadPoolExecutor(count, "planaria fork") as threads:
            running = [threads.submit(run, number, fork) for number, fork in enumerate(self._choices)]
            try:
                return [one.result() for one in running]
            except KeyboardInterrupt:
                for fork in self._choices:
                    fork.interrupt()
                raise

    def choose(self, number: int) -> None:
        """Go on in a fork of the last `parallel`; the others are closed."""
        if number >= len(self._choices):
            raise SessionError(f"%choose {number}: there are {len(self._choices)} forks, numbered from 0")
        left, self.session = self.session, self._choices.pop(number)
        left.close()
        self._forget_choices()

    def close(self) -> None:
        """Close all sessions."""
        self._forget_choices()
        for session in (self.session, *self._kept.values()):
            session.close()

    def _forget_choices(self) -> None:
        choices, self._choices = self._choices, []
        for session in choices:
            session.close()
