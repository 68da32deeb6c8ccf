"""The state of a sandboxed kernel at rest, as values of this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from planaria.files.filesystem import FileSystemSnapshot
from planaria.machine.changes import ChangedPages
from planaria.machine.heap import free_pages
from planaria.machine.image import Image
from planaria.machine.memory import PAGE_BYTES, MemoryFile

__all__ = ["LoggedCommand", "LoggedState", "WasmState"]

#: Of fewer changed pages, free ones are not looked for.
_MANY_PAGES: Final = 1024


class LoggedCommand(NamedTuple):
    """A command that a kernel was entered with."""

    command: bytes
    replies: tuple[bytes, ...]
    """What it was answered to calls that it awaited."""
    seconds: float
    """The processor time of the entry."""


@dataclass(frozen=True, slots=True)
class WasmState:
    """What the kernel's memory has beyond the image, its system's tables, and its files."""

    image: Image
    memory: MemoryFile
    """The image's own memory, or one that a session with much in its memory was moved to."""
    size: int
    pages: ChangedPages
    """What is written over `memory`; not to be changed, states share it."""
    system: dict[str, Any]
    files: FileSystemSnapshot
    deferred: Mapping[str, object] | None = None
    """Settings that the kernel has yet to take, before its next command."""
    copied: int = 0
    """The bytes of pages that the executor copied up to here: two of its states differ by no more than what
    was copied between them."""
    commands: tuple[LoggedCommand, ...] = ()
    """With these, one after the other, the kernel has to be entered to come from `pages` to this state (see
    `command_log`); `system` and `files` have it already."""

    def free_pages(self, changed: int | None = None) -> frozenset[int]:
        """The numbers of pages that are free in the guest, where so much has changed that it is worth a look.

        Whatever they have, the guest goes on in the same way. `changed` is how many pages have changed, which
        is estimated unless it is given.
        """
        if changed is None:
            changed = self.memory.layer_bytes // PAGE_BYTES + len(self.pages)
        if changed < _MANY_PAGES or (start := self.image.first_chunk) is None:
            return frozenset()
        # Many chunks are many small objects, with little between them that is free.
        return free_pages(self.memory, self.pages, self.size, start, changed)


class LoggedState(NamedTuple):
    """A state as what is needed to write it down, which is nothing but references."""

    base: WasmState
    """One whose memory was read."""
    commands: list[LoggedCommand]
    """What the kernel was entered with since; later states share the list, which is added to."""
    length: int
    """How many of these commands lead to this state."""
    files: FileSystemSnapshot
    deferred: Mapping[str, object] | None

    def state(self) -> WasmState:
        """The state as one to go back to."""
        commands = tuple(self.commands[: self.length])
        # The guest has asked for no time since `base`, so it cannot tell that the clocks are of that moment.
        return replace(self.base, files=self.files, deferred=self.deferred, commands=commands)
