"""The commands that a kernel was entered with since its memory was last read.

WebAssembly is deterministic: an entry that gets nothing from the system, the host or a signal is a
function of the memory and of its command. So is one that got nothing but short answers to calls that it
awaited, with these. So a state after quick entries of that kind needs no copy of its pages. It is the one
before with their commands and answers, which are given again when the session goes back to it.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from planaria.executors.wasm_state import LoggedCommand, WasmState

__all__ = ["CommandLog"]

#: What going back repeats at most: entries, and the seconds of processor time that they took.
_MOST_COMMANDS: Final = 32
_MOST_SECONDS: Final = 0.0025


class CommandLog:
    """What leads to the present state of one kernel from one whose memory was read."""

    __slots__ = ("base", "entries", "seconds")

    def __init__(self) -> None:
        self.base: WasmState | None = None
        """A state whose memory was read; None where nothing is known that leads to the present one."""
        #: The commands since then; with one more there are too many.
        self.entries: deque[LoggedCommand] = deque(maxlen=_MOST_COMMANDS + 1)
        self.seconds = 0.0
        """What they took; kept beside them, since each entry adds to it and each capture asks for it."""

    def begin(self, state: WasmState) -> None:
        """The kernel is in this state."""
        self.base = state
        self.entries.clear()
        self.entries.extend(state.commands)
        self.seconds = sum([entry.seconds for entry in state.commands])

    def commands(self) -> tuple[LoggedCommand, ...]:
        """Those that lead to the present state from the memory of `base`; none where they are too many."""
        entries = self.entries
        if len(entries) > _MOST_COMMANDS or self.seconds > _MOST_SECONDS:
            self.base = None
        return () if self.base is None else tuple(entries)
