"""The home that a kernel lives in, as the session sees it.

One kernel (`planaria.guest.kernel`) runs user code everywhere; an executor only carries frames to it and
back, says what it can do, and stops it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from planaria.limits import Guard, StopReason

__all__ = ["Entered", "Executor", "Host"]


class Host(Protocol):
    """What a kernel can ask for while it runs. Called on the thread that is inside `Executor.enter`."""

    def output(self, descriptor: int, data: bytes) -> None:
        """The code wrote to descriptor 1 (standard output) or 2 (standard error)."""

    def display(self, kind: str, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        """A rich output."""

    def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """A host call for which the code blocks: ("ok", value) or ("error", type, message)."""

    def input(self, prompt: str) -> tuple[Any, ...]:
        """A line for `input()`: ("ok", line), ("eof",) at the end, or ("error", type, message)."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What one entry into the kernel ended with."""

    report: tuple[Any, ...]
    """A report frame; see docs/internals/boundary.md."""
    reason: StopReason | None = None
    """Why an interrupt was raised meanwhile, if one was."""


class Executor(ABC):
    """One kernel in its home. One thread at a time; `interrupt` from any."""

    capabilities: ClassVar[frozenset[str]]
    """What this home offers, by name; `WasmExecutor` has most of them."""

    @abstractmethod
    def enter(self, command: tuple[Any, ...], guard: Guard) -> Entered:
        """Hand the kernel a command frame and run it until it reports.

        Raises `planaria.limits.Stopped` when it did not come back.
        """

    @abstractmethod
    def interrupt(self, reason: StopReason = "interrupt") -> None:
        """Raise KeyboardInterrupt in the code that runs now, from any thread."""

    @abstractmethod
    def reset(self) -> None:
        """Begin afresh, as after construction; files stay."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back; closing twice is harmless."""
