"""What crosses the boundary between a session and a kernel, as values.

Commands go in, one report comes out of each entry, and requests are answered in between. How they are
written as frames is described in docs/internals/boundary.md and done in `executors.host_endpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

__all__ = [
    "Answer",
    "Answered",
    "Begun",
    "CallAnswer",
    "Cancel",
    "Command",
    "Configure",
    "Done",
    "EndOfInput",
    "Failed",
    "HostCall",
    "Ok",
    "Query",
    "Raised",
    "Refused",
    "Report",
    "Request",
    "Resume",
    "RunCode",
    "RunScript",
    "SecretPrompt",
    "Suspended",
    "TierMissing",
    "Waiting",
]


class SecretPrompt(str):
    """The prompt of a `getpass()`: what is answered should not be shown."""

    __slots__ = ()


class Request(IntEnum):
    """The first byte of what a kernel asks of its host."""

    COMMAND = ord("N")
    REPORT = ord("R")
    DISPLAY = ord("D")
    CALL = ord("C")
    INPUT = ord("I")
    FILES = ord("F")
    AWAITED_CALL = ord("W")
    TIER = ord("T")
    INTERRUPT_DROPPED = ord("K")
    IMMORTAL = ord("Z")
    GREETING = ord("A")
    OUTPUT = ord("O")
    OUTPUT_TAKEN = ord("S")


# -- commands ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class RunCode:
    """Execute a cell; `name` is what tracebacks call it, `<cell count>` unless given.

    Not to be changed, as no command is; that it is not frozen makes it in a third of the time.
    """

    source: str
    count: int
    tier: str = "full"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunScript:
    """Run a script in the session's shell, or as a program of its own, which leaves nothing in the shell."""

    source: str
    stdin: bytes = b""
    is_program: bool = False


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue the cell that waits, with answers to its calls; without any, only timers fire."""

    answers: tuple[CallAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class Cancel:
    """Raise an exception of a builtin type where the cell waits."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Configure:
    """Change the kernel's settings."""

    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Query:
    """One of the commands that run no code of the user's: complete, names, evaluate, clear, bash_state …"""

    name: str
    arguments: tuple[object, ...] = ()


Command = RunCode | RunScript | Resume | Cancel | Configure | Query


# -- answers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ok:
    """A host call returned a value."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """A host call raised an exception of a builtin type, whose arguments may be the field `args`; with other
    `fields`, of one in `planaria.errors`, which takes them as keyword arguments.
    """

    type: str
    message: str
    fields: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """There are no more lines for `input()`."""


@dataclass(frozen=True, slots=True)
class Suspended:
    """The callback raised `Suspend`: the answer comes later. Never sent to a kernel."""

    reason: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that is awaited was begun, and its answer comes later: the code parks."""


Answer = Ok | Raised | EndOfInput | Suspended


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer to the call with a given id."""

    id: int
    answer: Ok | Raised


# -- reports ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostCall:
    """A host function that the code awaits."""

    id: int
    name: str
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] | None = None
    refused: str | None = field(default=None, repr=False)
    """Why the arguments cannot be had here, if so."""

    def __repr__(self) -> str:
        shown = [f"id={self.id}", f"name={self.name!r}"]
        if self.args:
            shown.append(f"args={self.args!r}")
        shown.append(f"kwargs={self.kwargs or {}!r}")
        return f"HostCall({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Done:
    """The cell ended. `value` is encoded by itself and decoded on demand, so that damage to it damages
    nothing else; None when there is nothing to show.
    """

    value: bytes | None = None
    repr: str | None = None
    exit_code: int | None = None
    """The exit status of a script."""
    abandoned: tuple[int, ...] = ()
    """Ids of host calls that no task awaits any more."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The cell raised."""

    type: str = "Exception"
    message: str = ""
    traceback: str = ""
    lineno: int | None = None
    exit_code: int | None = None
    """That of SystemExit, or of the process that the code ended."""
    details: dict[str, object] = field(default_factory=dict)
    """All that the kernel reported."""
    abandoned: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """The cell waits, with an empty stack, for calls, for a timer, or both."""

    calls: tuple[HostCall, ...] = ()
    """Those that are new."""
    seconds: float | None = None
    """Until its next timer."""
    abandoned: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TierMissing:
    """The source imports modules that this tier lacks; nothing was run."""

    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a query."""

    value: object


@dataclass(frozen=True, slots=True)
class Refused:
    """The command did not fit into the kernel's memory."""


Report = Done | Failed | Waiting | TierMissing | Answered | Refused
