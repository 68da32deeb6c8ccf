"""The host of a session's kernel."""

from __future__ import annotations

import weakref
from typing import Any

from planaria.executors.executor import Host

__all__ = ["SessionHost"]


class SessionHost:
    """Hands what the kernel asks for to its session, without keeping that alive.

    Whoever is inside the kernel holds the session, so it is there whenever this is called.
    """

    __slots__ = ("_session",)

    def __init__(self, session: Host) -> None:
        self._session = weakref.ref(session)

    def _found(self) -> Host:
        session = self._session()
        if session is None:
            raise ReferenceError("the session of this kernel is gone")
        return session

    def output(self, descriptor: int, data: bytes) -> None:
        self._found().output(descriptor, data)

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        self._found().display(kind, data, metadata)

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        return self._found().call(name, arguments, keywords)

    def input(self, prompt: str) -> tuple[Any, ...]:
        return self._found().input(prompt)
