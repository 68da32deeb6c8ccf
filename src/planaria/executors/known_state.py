"""What is known of a kernel's present state, so that capturing it reads only what may have changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planaria.executors.command_log import CommandLog
from planaria.executors.wasm_state import LoggedState, WasmState
from planaria.files.filesystem import FileSystem
from planaria.machine.changes import ChangedPages
from planaria.machine.exhaustion import host_resources
from planaria.machine.image import Image
from planaria.machine.machine import Machine
from planaria.machine.memory import PAGE_BYTES, MemoryFile, has_mappings_left

__all__ = ["KnownState"]

#: More changed memory than this, in bytes, is kept in a file and mapped rather than copied: what has changed
#: since the file was mapped is looked at before every execution.
_MOST_PAGES: Final = 4 << 20
#: The same of what the last execution has written, which the next one may write to again.
_MOST_REWRITTEN: Final = 16 << 20
#: The same in a process that has no mappings left, where all that is in layers counts as changed.
_MOST_PAGES_UNMAPPED: Final = 16 << 20
#: The same for a state that others begin to live from, which share what is mapped.
_MOST_COPIED: Final = 128 << 10


class KnownState:
    """The state of one kernel, as far as it was read or cannot have changed since."""

    __slots__ = ("birth", "clock", "copied", "deferred", "image", "log", "memory", "tables")

    image: Image

    def __init__(self) -> None:
        self.deferred: Mapping[str, object] | None = None
        """Settings that the kernel has yet to take, before its next command."""
        self.birth: Mapping[str, object] | None = None
        """The settings of a kernel that was not entered otherwise: its state is that of the image with these
        settings deferred.
        """
        self.memory: tuple[MemoryFile, ChangedPages] | None = None
        """A memory and what is written over it; None once the kernel was entered."""
        self.tables: dict[str, Any] | None = None
        """What the system had of tables when it was last captured; None when it may have others."""
        self.clock: dict[str, int] | None = None
        """The clock's state when the kernel, at rest since, was first captured."""
        self.copied = 0
        """The bytes of pages that earlier machines copied for states."""
        self.log = CommandLog()
        """What leads to the present state from the one whose memory was last read."""

    def begin(self, image: Image, state: WasmState | None) -> None:
        """The kernel is that of the image, or of `state`, and nothing was done since."""
        self.image = image
        self.clock = self.birth = self.tables = None
        self.log.base = None
        self.memory = (image.memory, {}) if state is None else (state.memory, state.pages)
        self.deferred = None if state is None else state.deferred

    def configured(self, image: Image, settings: Mapping[str, object]) -> None:
        """The kernel of the image has taken its settings and was not entered otherwise."""
        self.birth = settings
        self.memory = image.memory, {}

    def forget_birth(self) -> None:
        """The memory itself is to be read, with the settings that the kernel was given."""
        if self.birth is not None:
            self.birth = self.memory = None

    def logged(self, size: int, files: FileSystem) -> LoggedState | None:
        """The present state, of a memory of this size, by the commands that lead to it from one whose memory
        was read; None where there are none known.
        """
        log = self.log
        base, commands = log.base, log.commands
        if base is None or self.memory is not None or not commands:
            return None
        if base.size != size or log.seconds_left < 0:
            log.base = None
            return None
        return LoggedState(base, commands, len(commands), files.snapshot(), self.deferred)

    def is_memory_known(self, *, shared: bool) -> bool:
        """Whether the memory need not be read, for a state that is `shared` with others that live from it."""
        most = _MOST_COPIED if shared else _MOST_REWRITTEN
        return self.memory is not None and len(self.memory[1]) * PAGE_BYTES <= most

    def read(self, machine: Machine, known: ChangedPages, *, shared: bool) -> None:
        """Read the memory of the kernel, which must be at rest; see `Machine.pages`."""
        most = _MOST_COPIED if shared else _MOST_PAGES if has_mappings_left() else _MOST_PAGES_UNMAPPED
        with host_resources("capturing the state of a session"):
            self.memory = machine.pages(most, most if shared else _MOST_REWRITTEN, known)

    def state(self, machine: Machine, files: FileSystem) -> WasmState:
        """The present state, whose memory was read."""
        assert self.memory is not None
        memory, pages = self.memory
        deferred = None
        if self.birth or self.deferred:
            deferred = {**(self.birth or {}), **(self.deferred or {})}
        if self.tables is None or machine.has_called_system:
            self.tables = machine.wasi.tables()
            machine.has_called_system = False
        system = {**self.tables, **machine.wasi.running()}
        # Time does not change a kernel at rest: however often it is captured, it is the same state.
        self.clock = system["clock"] = self.clock or system["clock"]
        copied = self.copied + machine.linear.copied
        state = WasmState(
            self.image, memory, machine.memory_bytes, pages, system, files.snapshot(), deferred, copied
        )
        if self.birth is None:
            self.log.begin(state)
        else:
            self.log.base = None
        return state
