"""The commands that a kernel was entered with since its memory was last read.

WebAssembly is deterministic: an entry that neither the system, nor the host, nor a signal told anything is a
function of the memory and of its command. So a state after quick entries of that kind needs no copy of its
pages. It is the one before with their commands, which are given again when the session goes back to it.
"""

from __future__ import annotations

from typing import Final

from planaria.executors.wasm_state import WasmState

__all__ = ["CommandLog"]

#: What going back repeats at most: entries, and the seconds of processor time that they took.
_MOST_COMMANDS: Final = 32
_MOST_SECONDS: Final = 0.0025


class CommandLog:
    """What leads to the present state of one kernel from one whose memory was read."""

    __slots__ = ("base", "commands", "seconds")

    def __init__(self) -> None:
        self.base: WasmState | None = None
        """A state whose memory was read; None where nothing is known that leads to the present one."""
        self.commands: tuple[bytes, ...] = ()
        """Those that lead to the present state from the memory of `base`."""
        self.seconds = 0.0
        """How long they took."""

    def forget(self) -> None:
        """The present state does not follow from the base and commands."""
        self.base = None

    def begin(self, state: WasmState) -> None:
        """The kernel is in this state."""
        self.base, self.commands, self.seconds = state, state.commands, state.seconds

    def add(self, command: bytes, seconds: float) -> None:
        """An entry with this command took so long, and got nothing from outside."""
        if self.base is None:
            return
        self.seconds += seconds
        if self.seconds > _MOST_SECONDS or len(self.commands) == _MOST_COMMANDS:
            self.base = None
        else:
            self.commands = (*self.commands, command)
