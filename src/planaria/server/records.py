"""What is saved beside the state of a session: what it was created with, and the results that clients may ask
for again.
"""

from __future__ import annotations

import time
from typing import Any, Final

from pydantic import Field

from planaria.server.models import CallbackDeclaration, Model, Parent

__all__ = ["KeptCheckpoint", "KeptResult", "Record"]

#: Results that are kept for requests that are made again, in memory and beside the state.
_MOST_RESULTS: Final = 32
#: Bytes of results that are saved with each state.
_MOST_SAVED: Final = 256 << 10


class KeptResult(Model):
    """The response to a request with an Idempotency-Key."""

    key: str
    digest: str
    """Of the request."""
    response: dict[str, Any] | None
    """None when it was too large to be saved."""
    size: int = 0


class KeptCheckpoint(Model):
    """A labelled checkpoint in the store."""

    name: str
    """Of its snapshot there."""
    executions: int


class Record(Model):
    """What is saved beside a state."""

    created_at: float = Field(default_factory=time.time)
    image: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, str] = Field(default_factory=dict)
    callbacks: list[CallbackDeclaration] = Field(default_factory=list)
    input: bool = False
    seed: int | None = None
    record: bool = False
    parent: Parent | None = None
    executions: int = 0
    results: list[KeptResult] = Field(default_factory=list)
    checkpoints: dict[str, KeptCheckpoint] = Field(default_factory=dict)
    """By their labels, the oldest first."""
    notebook: list[dict[str, Any]] = Field(default_factory=list)
    """The cells of the page, see `Notebook.saved`."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """What other protocols keep with a session."""

    def find_result(self, key: str) -> KeptResult | None:
        """The result of an earlier request with this key."""
        return next((one for one in self.results if one.key == key), None)

    def keep_result(self, key: str, digest: str, response: dict[str, Any], size: int) -> None:
        """Keep a result, and forget the oldest beyond the limit."""
        kept = KeptResult(key=key, digest=digest, response=response, size=size)
        self.results = [*self.results, kept][-_MOST_RESULTS:]

    def note(self) -> bytes:
        """The bytes that are saved; large results are left out, the oldest first."""
        room = _MOST_SAVED
        saved: list[KeptResult] = []
        for one in reversed(self.results):
            if one.size > room:
                one = one.model_copy(update={"response": None, "size": 0})
            room -= one.size
            saved.append(one)
        return self.model_copy(update={"results": saved[::-1]}).model_dump_json().encode()

    def fork_of(self, session: str, executions: int | None = None) -> Record:
        """The record of a fork, which begins after so many executions; all of them without a number."""
        begins = self.executions if executions is None else executions
        return self.model_copy(
            update={
                "created_at": time.time(),
                "parent": Parent(session=session, executions=begins),
                "results": [],
                "checkpoints": {},
                "metadata": dict(self.metadata),
            }
        )
