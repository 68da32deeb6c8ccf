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

    __slots__ = ("_count", "_newest", "_seconds", "base", "entries")

    def __init__(self) -> None:
        self.base: WasmState | None = None
        """A state whose memory was read; None where nothing is known that leads to the present one."""
        #: The commands since `newest` was last asked for, with their replies and seconds; with one more there
        #: are too many.
        self.entries: deque[tuple[bytes, tuple[bytes, ...], float]] = deque(maxlen=_MOST_COMMANDS + 1)
        self._newest: LoggedCommand | None = None
        self._count = 0
        self._seconds = 0.0

    def begin(self, state: WasmState) -> None:
        """The kernel is in this state."""
        self.base, self._newest = state, None
        self._count, self._seconds = 0, 0.0
        self.entries.clear()
        self.entries.extend([(entry.command, entry.replies, entry.seconds) for entry in state.commands])

    def newest(self) -> LoggedCommand | None:
        """The last of the commands that lead to the present state from `base`; None where that is not known,
        or they are none, or too many.
        """
        newest, entries = self._newest, self.entries
        if self.base is None or self._count + len(entries) > _MOST_COMMANDS:
            self.base = self._newest = None
            return None
        for command, replies, seconds in entries:
            newest = LoggedCommand(command, replies, seconds, newest)
            self._seconds += seconds
        self._count += len(entries)
        entries.clear()
        if self._seconds > _MOST_SECONDS:
            self.base = newest = None
        self._newest = newest
        return newest
