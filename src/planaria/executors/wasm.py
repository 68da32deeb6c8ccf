"""The default executor: CPython in WebAssembly inside this process."""

from __future__ import annotations

import _thread
import errno
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar
from weakref import WeakMethod

from planaria.errors import SessionError
from planaria.executors.executor import (
    Entered,
    Executor,
    Host,
    Packages,
    SandboxSetup,
    Snapshots,
    TierNeeded,
    Unreachable,
)
from planaria.executors.host_endpoint import HostEndpoint, unknown_request
from planaria.executors.journal import Entry, Journal, Keyframe, Player
from planaria.executors.known_state import KnownState
from planaria.executors.machine_factory import MachineFactory
from planaria.executors.messages import (
    Command,
    Configure,
    Done,
    Refused,
    Request,
    RunCode,
    RunScript,
)
from planaria.executors.sandbox_packages import SandboxPackages
from planaria.executors.system_changes import changed
from planaria.executors.wasm_state import LoggedCommand, LoggedState, WasmState
from planaria.files.filesystem import FileSystem
from planaria.limits import Guard, Limits, Stopped, StopReason
from planaria.machine.exhaustion import host_resources
from planaria.machine.image import Image, make_immortal
from planaria.machine.imports import weak_method
from planaria.machine.linear_memory import memories_left
from planaria.machine.machine import Machine
from planaria.machine.mailbox import put_command, take_report
from planaria.machine.memory import MemoryFile
from planaria.machine.recipe import SETTINGS
from planaria.machine.wasi.clock import VirtualClock
from planaria.machine.wasi.process import ProcessExit
from planaria.machine.wasi.state import take_over
from planaria.machine.wasi.system import Wasi
from planaria.runtime import tiers
from planaria.runtime.tiers import Tier
from planaria_kernel.protocol import encode
from planaria_kernel.sandbox.mailbox import MOST_BYTES

__all__ = ["WasmExecutor"]

Result = TypeVar("Result")

_EMPTY: Final = b""
#: Seconds that a kernel has to get ready to be an image.
_PATIENCE: Final = 60.0

#: Kept forever: their instances have frames on the stack of a thread that a fork left behind.
_abandoned: Final[list[Machine]] = []


class WasmExecutor(Executor):
    """The default executor: a kernel in a WebAssembly machine of its own, over virtual files."""

    name = "wasm"

    capabilities = frozenset({
        "timeout", "network_isolation", "filesystem_isolation", "memory_limit", "cpu_limit", "fuel_limit",
        "reset", "snapshot", "fork", "rewind", "suspend", "deps_install", "shell", "files",
    })  # fmt: skip
    is_sandbox = True

    #: Whether the guest may have objects made immortal.
    _settles = False

    _factory: MachineFactory
    _image: Image

    def __init__(self) -> None:
        #: What is known of the present state.
        self._known = KnownState()
        #: The answers to awaited calls that are kept with the present command, or given again with it.
        self._kept: deque[bytes] = deque()
        self._machine: Machine | None = None
        #: The system of a machine that was stopped only to be entered again on the full tier.
        self._left: Wasi | None = None

    def start(self, host: Host, limits: Limits, setup: SandboxSetup | None = None) -> None:
        if setup is None:
            raise TypeError("a sandboxed kernel needs a SandboxSetup: the image and the files it starts from")
        if hasattr(self, "_factory"):
            raise SessionError("this executor has a session already; create another one")
        factory = MachineFactory.of(host, limits, setup)
        try:
            self._begin(factory, setup.image, factory.first_tier(setup), limits.decoded())
            if self._tier is Tier.CORE and not factory.is_metered:
                tiers.start_background_compile()
            self.reset()
        except BaseException:
            del self._factory  # it may be started again
            raise

    def _begin(self, factory: MachineFactory, image: Image, tier: Tier, value_memory: int | None) -> None:
        self._factory = factory
        self._journal = factory.journal
        self._image = image
        self._tier = tier
        self._value_memory = value_memory
        self._endpoint = HostEndpoint(factory.host, weak_method(self._call_outside), memory=value_memory)

    @property
    def starts_at_once(self) -> bool:
        return tiers.is_loaded()

    # -- the life of a machine -------------------------------------------------------------------------

    @property
    def tier(self) -> str:  # type: ignore[override]
        return self._tier._value_  # `value` goes through two functions, and every execution asks for this

    @property
    def files(self) -> FileSystem:
        return self._factory.files

    @property
    def snapshots(self) -> Snapshots:
        return self

    @property
    def packages(self) -> Packages:
        return SandboxPackages(self._change_files)

    @property
    def settings(self) -> Mapping[str, object]:
        return SETTINGS

    @property
    def memory_bytes(self) -> int:
        return self._running().memory_bytes

    def _running(self) -> Machine:
        if self._machine is None:
            raise Stopped("the sandbox is gone", None)
        return self._machine

    def _new_machine(self, state: WasmState | None = None, *, goes_on: bool = False) -> None:
        """A machine of the image, or of `state`; takes the place of the present one.

        `goes_on` says that `state` is the present one's, which has done nothing since.
        """
        predecessor = self._machine if goes_on else None
        machine = self._factory.create(WeakMethod(self._answer), self._image, self._tier, state, predecessor)
        machine.wasi.on_input = weak_method(self._read_input)
        old, self._machine = self._machine, machine
        self._begins(state)
        left = old.wasi if goes_on and old is not None else self._left
        if left is not None and state is not None:
            take_over(machine.wasi.table, state.system["descriptors"], left.table)
        self._close_left()
        if old is not None:
            # Only now: a file without a name exists as long as it is open.
            if goes_on:
                old.wasi.locks.forget()
            self._known.copied += old.linear.copied
            old.close()
            old.wasi.close()

    def _close_left(self) -> None:
        left, self._left = self._left, None
        if left is not None:
            left.close()

    def _go_back(self, state: WasmState) -> bool:
        """Become `state` in the present machine, if that began from the same memory and is as large."""
        machine = self._machine
        if (
            machine is None
            or machine.module is not self._factory.module(self._tier)
            or not machine.can_go_back(state.memory, state.size)
        ):
            return False
        machine.wasi.restore(state.system)
        self._factory.connect(machine.wasi)
        machine.linear.go_back(state.pages)
        self._begins(state)
        return True

    def _begins(self, state: WasmState | None) -> None:
        """The kernel is that of the image, or of `state`, and nothing was done since."""
        if self._journal is not None:
            self._journal.jump()
        self._known.begin(self._image, state)

    def reset(self) -> None:
        """A fresh instance of the image; files stay as they are."""
        self._new_machine()

    def settle(self) -> tuple[MemoryFile, dict[str, Any]]:
        """Make the kernel, which must be at rest, ready to be an image; its memory and its system's tables.

        Afterwards it is of no use as a session: objects in it are never freed.
        """
        machine = self._running()
        self._settles = True
        try:
            machine.enter(self._image.addresses.settle, Guard(deadline=time.monotonic() + _PATIENCE))
        except (ProcessExit, OSError) as error:
            raise Stopped(f"it does not become idle: {error}", None) from error
        finally:
            self._settles = False
        with host_resources("capturing the state of a session"):
            return machine.capture(), machine.wasi.state()

    def configure(self, settings: Mapping[str, object]) -> Entered:
        entered = super().configure(settings)
        self._known.configured(self._image, settings)
        return entered

    def configure_later(self, settings: Mapping[str, object]) -> None:
        self._known.deferred = {**(self._known.deferred or {}), **settings}

    def capture(
        self,
        known: WasmState | None = None,
        *,
        complete: bool = False,
        shared: bool = False,
    ) -> WasmState:
        """The present state; the kernel must be at rest. Costs by what changed since the image.

        Pieces of memory that `known` has are shared with it. With `complete` nothing is left deferred, the
        kernel takes it first. `shared` says that others will continue from this state beside this executor.
        """
        machine, now = self._running(), self._known
        if complete:
            if now.deferred is not None:
                self._take_deferred()
            now.forget_birth()
        if not now.is_memory_known(shared=shared):
            now.read(machine, {} if known is None else known.pages, shared=shared)
            if self._journal is not None:
                self._journal.captured()
        return now.state(machine, self.files)

    def logged(self) -> LoggedState | None:
        machine = self._machine
        if machine is None or self._journal is not None:
            return None
        return self._known.logged(machine.memory_bytes, self._factory.files)

    def _take_deferred(self) -> None:
        """Have the kernel take the settings that it has yet to take."""
        entered = self.enter(Configure({}), Guard(deadline=time.monotonic() + _PATIENCE))
        if entered.reason == "interrupt":
            raise KeyboardInterrupt
        if not isinstance(entered.report, Done):
            raise SessionError(f"the kernel refuses its settings: {entered.report!r}")

    def restore(self, state: WasmState, *, files: bool = True) -> None:
        """Become a captured state, which may be another executor's.

        On failure nothing has changed, except after Unreachable: the kernel is gone then, until another state
        is restored.
        """
        image, machine = self._image, self._machine
        before = None
        if files:
            before = self.files.snapshot()
            system = None if machine is None else machine.wasi.state()
            self.files.restore(state.files)
        self._image = state.image
        try:
            if not self._go_back(state):
                self._new_machine(state)
            is_interrupted = self._repeat_commands(state)
        except BaseException:
            self._image = image
            if before is not None:
                self.files.restore(before)
                if machine is not None and system is not None:
                    machine.wasi.restore(system)
            raise
        if is_interrupted:
            _thread.interrupt_main()

    def _repeat_commands(self, state: WasmState) -> bool:
        """The memory is that of a state: enter it with its commands; whether Ctrl-C was pressed meanwhile.

        Raises Unreachable.
        """
        self._known.log.begin(state)
        if not state.commands:
            return False
        machine, addresses = self._running(), self._image.addresses
        assert addresses.mailbox is not None
        self._known.memory = None
        is_interrupted = False
        try:
            for entry in state.commands:
                self._kept = deque(entry.replies)
                put_command(machine.memory, addresses.mailbox, entry.command)
                is_interrupted |= machine.repeat(addresses.entry)
        except BaseException as error:
            self.close()
            if isinstance(error, Stopped):
                raise Unreachable(f"an earlier state cannot be reached again: {error}") from error
            raise
        return is_interrupted

    def move_up(self) -> None:
        """Switch to the full tier, waiting for its compilation if necessary. The kernel must be at rest."""
        if self._tier is Tier.FULL:
            return
        self._factory.module(Tier.FULL)
        state = self.capture()
        self._tier = Tier.FULL
        self._new_machine(state, goes_on=True)

    def spawn(
        self, host: Host, state: WasmState, files: FileSystem, journal: Journal | None = None
    ) -> WasmExecutor:
        """Another executor with these settings that continues from `state`, over `files` of that time.

        `journal` is for one whose own is a journal already; without it the copy is not recorded.
        """
        other = WasmExecutor()
        factory = self._factory.for_copy(host, files, journal)
        other._begin(factory, state.image, self._tier, self._value_memory)
        other._known.copied = state.copied
        other.restore(state, files=False)
        return other

    @property
    def copies_left(self) -> int:
        return memories_left()

    def abandon(self) -> None:
        """In a forked child: forget a machine in which a thread was that does not exist here."""
        if self._machine is not None:
            _abandoned.append(self._machine)
            self._machine = None

    def close(self) -> None:
        machine, self._machine = self._machine, None
        if machine is not None:
            machine.close()
            machine.wasi.close()
        self._close_left()

    def jump(self) -> None:
        """The files change from outside, which a journal does not see."""
        if self._journal is not None:
            self._journal.jump()

    def _change_files(self) -> FileSystem:
        self.jump()
        return self.files

    # -- entering ------------------------------------------------------------------------------------------

    def enter(self, command: Command, guard: Guard) -> Entered:
        known = self._known
        deferred, known.deferred = known.deferred, None
        self.fuel_used, self.waited = 0, 0.0
        endpoint = self._endpoint
        if self._machine is not None and isinstance(command, (RunCode, RunScript)):
            self._machine.set_timer(0)
        try:
            endpoint.begin(command, deferred, guard=guard)
        except BaseException:
            known.deferred = deferred
            raise
        known.birth = known.memory = known.clock = None
        machine = self._running()
        entered = self._entered(machine, guard) if self._journal is None else self._journaled(machine, guard)
        linear = machine.linear
        if linear.is_new and isinstance(command, (RunCode, RunScript)):
            linear.has_run()
        if type(entered.report) is Refused:
            known.deferred = deferred
        return entered

    def repeat(self, entry: Entry, player: Player) -> Entered:
        """Make an entry again as it was recorded. Raises ReplayError when the code goes another way, and
        Stopped.
        """
        known = self._known
        known.deferred = None
        self._endpoint.repeat(entry.command)
        if entry.captured:
            self.capture()
        if entry.slept:
            self.slept(entry.slept)
        known.birth = known.memory = known.clock = None
        player.play(entry)
        return self._journaled(self._running(), Guard())

    def _journaled(self, machine: Machine, guard: Guard) -> Entered:
        """Enter the kernel, as the journal has it."""
        journal = self._journal
        assert journal is not None
        journal.begin(machine, self._endpoint.command, self.keyframe)
        report = None
        try:
            entered = self._entered(machine, guard)
            if entered.reason is None:
                report = self._endpoint.report
        finally:
            journal.end(report)
        return entered

    def keyframe(self) -> Keyframe:
        """The present state of the memory itself, for a journal."""
        self._known.birth = self._known.memory = None
        keyframe = Keyframe(replace(self.capture(), deferred=None), self._tier.value)
        self._known.memory = None
        return keyframe

    def _entered(self, machine: Machine, guard: Guard) -> Entered:
        endpoint, addresses = self._endpoint, self._image.addresses
        mailbox, command = addresses.mailbox, endpoint.command
        if 0 not in machine.wasi.table.open:
            machine.wasi.reopen_input()
            self._known.tables = self._known.log.base = None
        if mailbox is not None:
            put_command(machine.memory, mailbox, command)
        self._kept.clear()
        try:
            reason = machine.enter(addresses.entry, guard)
        except ProcessExit as ended:
            self.close()
            raise Stopped(f"the code called os._exit({ended.code})", None, ended.code) from None
        except TierNeeded:
            self._machine, self._left = None, machine.wasi
            machine.close()
            machine.wasi.locks.release()
            raise
        except BaseException:
            # It stopped in the middle of a call: its memory is not a state.
            self.close()
            raise
        finally:
            self.fuel_used, self.waited = machine.fuel_used, machine.processor.seconds_lost
        log = self._known.log
        if machine.had_input or mailbox is None or not log.left:
            log.base = None
        else:
            log.left -= 1
            log.seconds_left -= machine.seconds
            log.commands.append(LoggedCommand(command, tuple(self._kept), machine.seconds))
        try:
            return endpoint.ended(reason, None if mailbox is None else take_report(machine.memory, mailbox))
        except Stopped:
            self.close()
            raise

    def slept(self, seconds: float) -> None:
        clock = self._factory.clock
        if clock is not None and seconds > 0:
            self._known.log.base = None
            if self._journal is not None:
                self._journal.slept(seconds)
            clock.slept(math.ceil(seconds * 1e9))

    def interrupt(self, reason: StopReason = "interrupt") -> None:
        machine = self._machine
        # What is repeated is not what is to be stopped, which knows of it already.
        if machine is not None and not machine.is_repeated:
            machine.interrupt(reason)

    def _call_outside(self, function: Callable[[], Result]) -> Result:
        return self._running().call_outside(function)

    def _read_input(self, size: int) -> bytes:
        """What the guest reads from descriptor 0."""

        def read() -> bytes:
            try:
                return self._endpoint.read_input(size)
            except KeyboardInterrupt:
                self._running().raise_interrupted()
                raise InterruptedError(
                    errno.EINTR, "the function that gives standard input was interrupted"
                ) from None

        return read() if self._journal is None else self._journal.outcome("input", read)

    def _answer(self, request: bytes) -> bytes:
        """Answer the guest; see docs/internals/boundary.md. What is not well formed raises ProtocolError."""
        kind = request[0] if request else 0
        if kind == Request.AWAITED_CALL:
            return self._answer_awaited(request)
        self._running().had_input = True
        if self._journal is not None and kind in (Request.CALL, Request.INPUT):
            return self._journal.outcome("answer", lambda: self._endpoint.answer(request) or _EMPTY)
        reply = self._endpoint.answer(request)
        if reply is not None:
            return reply
        if kind == Request.INTERRUPT_DROPPED:
            self._running().interrupt_dropped()
            return _EMPTY
        if kind == Request.IMMORTAL and self._settles:
            make_immortal(self._running().memory, request[1:])
            return _EMPTY
        match kind, self._endpoint.decode(request[1:]):
            case Request.FILES, tuple(change):
                self._known.tables = None
                # What a timer interrupts could not be repeated.
                is_repeatable = self._journal is not None or isinstance(self._factory.clock, VirtualClock)
                return encode(changed(self._running(), self.files, change, may_interrupt=not is_repeatable))
            case Request.TIER, list(modules):
                if self._tier is Tier.FULL:
                    return _EMPTY
                raise TierNeeded([str(name) for name in modules])
        raise unknown_request(request)

    def _answer_awaited(self, request: bytes) -> bytes:
        """Answer a call that the guest awaits, if that can be done at once."""
        if self._journal is not None or self._factory.is_metered:
            return _EMPTY  # what is recorded or counted may not go by when answers come
        machine = self._running()
        if machine.is_repeated:
            if self._kept:
                return self._kept.popleft()
            machine.had_input = True
            return _EMPTY
        reply = self._endpoint.answer(request)
        assert reply is not None
        if len(reply) > MOST_BYTES:
            machine.had_input = True
        else:
            self._kept.append(reply)
        return reply
