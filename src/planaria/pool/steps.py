"""What a worker is asked for, and what it answers: plain values that can be sent between processes.

They have no slots: with a `__dict__` they are pickled and unpickled in half the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from planaria import telemetry
from planaria.limits import NOT_GIVEN, NotGiven

if TYPE_CHECKING:
    from planaria.stores.versions import Version

__all__ = ["Answer", "Cancel", "Command", "Drain", "Execute", "Reply", "Step"]


@dataclass(frozen=True)
class Execute:
    """Execute code, or with `is_script` a script of the shell."""

    code: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Values of variables that are set before."""
    timeout: float | NotGiven | None = NOT_GIVEN
    is_script: bool = False


@dataclass(frozen=True)
class Answer:
    """Answer a call that an execution waits for, and go on."""

    call: int
    value: object = None
    error: str | None = None
    """The message of the exception that is raised instead, if any."""


@dataclass(frozen=True)
class Cancel:
    """Raise KeyboardInterrupt where an execution waits."""


Command: TypeAlias = Execute | Answer | Cancel


@dataclass(frozen=True)
class Step:
    """One command for the session of a name."""

    name: str
    command: Command
    expected: Version | Literal["any"] | None = "any"
    """The version that the session must have; None for a session that must be new."""
    identifier: str = field(default_factory=lambda: os.urandom(16).hex())
    """By which a step that is sent again is recognised."""
    submitted_at: float = field(default_factory=time.time)
    """In seconds since 1970."""
    trace: Mapping[str, str] = field(default_factory=telemetry.context)
    """The span that it belongs to, where spans are asked for."""
    attempt: int = 1
    """Counts how often it is sent."""


@dataclass(frozen=True)
class Reply:
    """What a step led to."""

    result: bytes
    """See `outcomes.py`."""
    version: Version
    """Of the state that was saved; without its note, which has the result again."""
    worker: int
    """The process that executed it."""
    was_live: bool
    """Whether that had the session in memory."""


@dataclass(frozen=True)
class Drain:
    """Close the live sessions, all of which are saved."""
