"""The commands that a kernel was entered with since its memory was last read.

WebAssembly is deterministic: an entry that gets nothing from the system, the host or a signal is a
function of the memory and of its command. So is one that got nothing but short answers to calls that it
awaited, with these. So a state after quick entries of that kind needs no copy of its pages. It is the one
before with their commands and answers, which are given again when the session goes back to it.
"""

from __future__ import annotations

from typing import Final

from planaria.executors.wasm_state import LoggedCommand, WasmState

__all__ = ["CommandLog"]

#: What going back repeats at most: entries, and the seconds of processor time that they took.
_MOST_COMMANDS: Final = 32
_MOST_SECONDS: Final = 0.0025


class CommandLog:
    """What leads to the present state of one kernel from one whose memory was read."""

    __slots__ = ("base", "commands", "left", "seconds_left")

    def __init__(self) -> None:
        self.base: WasmState | None = None
        """A state whose memory was read; None where nothing is known that leads to the present one."""
        self.commands: list[LoggedCommand] = []
        """The commands since `base`. States on the way share this list, to which only is added."""
        self.left = 0
        """How many more there may be."""
        self.seconds_left = 0.0
        """How long these may take; less than 0 when they have taken longer."""

    def begin(self, state: WasmState) -> None:
        """The kernel is in this state."""
        self.base = state
        self.commands = list(state.commands)
        self.left = _MOST_COMMANDS - len(self.commands)
        self.seconds_left = _MOST_SECONDS - sum([command.seconds for command in self.commands])
