"""The machines of one sandboxed kernel: what they have in common, whichever state each continues from."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Self
from weakref import WeakMethod

import wasmtime

from planaria.executors.executor import Host, SandboxSetup
from planaria.executors.journal import Journal, outcome_inside
from planaria.executors.messages import Request
from planaria.executors.wasm_state import WasmState
from planaria.files.filesystem import FileSystem
from planaria.files.layout import connect
from planaria.limits import Limits
from planaria.machine.exhaustion import host_resources
from planaria.machine.image import Image
from planaria.machine.imports import weak_method
from planaria.machine.machine import Machine
from planaria.machine.wasi.clock import Clock, JournaledClock, SystemClock, VirtualClock
from planaria.machine.wasi.random import JournaledRandom, RandomSource, SeededRandom, SystemRandom, take
from planaria.machine.wasi.system import Wasi
from planaria.runtime import tiers
from planaria.runtime.tiers import Tier
from planaria_kernel.protocol import encode

__all__ = ["MachineFactory"]


@dataclass(frozen=True, slots=True)
class MachineFactory:
    """Creates the machines of an executor, one after the other."""

    host: Host
    files: FileSystem
    environment: Mapping[str, str]
    memory_limit: int | None
    """In bytes."""
    is_metered: bool
    """Whether fuel is counted."""
    clock: Clock | None
    random: RandomSource | None
    journal: Journal | None

    @classmethod
    def of(cls, host: Host, limits: Limits, setup: SandboxSetup) -> Self:
        """The factory of a session that begins."""
        clock, random = setup.clock, setup.random
        if setup.journal is not None:
            # What follows from the settings need not be kept.
            if not isinstance(clock, VirtualClock):
                clock = JournaledClock(clock or SystemClock(), outcome_inside)
            if not isinstance(random, SeededRandom):
                random = JournaledRandom(random or SystemRandom(), outcome_inside)
        environment, is_metered = dict(setup.environment), limits.fuel is not None
        return cls(host, setup.files, environment, limits.memory, is_metered, clock, random, setup.journal)

    def for_copy(self, host: Host, files: FileSystem, journal: Journal | None) -> Self:
        """The factory of a copy of the session, with a clock and random numbers of its own."""
        clock, random = copy(self.clock), copy(self.random)
        return replace(self, host=host, files=files, clock=clock, random=random, journal=journal)

    def first_tier(self, setup: SandboxSetup) -> Tier:
        """The tier that a session begins on."""
        if setup.repeatable or setup.journal is not None or self.is_metered:
            # What code sees of the tier, and when it moves up, must not depend on what is compiled.
            return Tier.CORE if setup.image.recipe.is_plain else Tier.FULL
        return Tier.FULL if tiers.is_compiled(Tier.FULL) else Tier.CORE

    def module(self, tier: Tier) -> wasmtime.Module:
        """The compiled code of a tier."""
        return tiers.load(tier, metered=self.is_metered)

    def create(
        self,
        answer: WeakMethod[Callable[[bytes], bytes]],
        image: Image,
        tier: Tier,
        state: WasmState | None = None,
        predecessor: Machine | None = None,
    ) -> Machine:
        """A machine of the image, or of `state`, which asks `answer`.

        The `predecessor` is the machine whose state that is, when it has done nothing since.
        """
        wasi = Wasi(
            self.files,
            environment=self.environment,
            clock=self.clock,
            random=self.random,
            on_output=self.host.output,
            # What is repeated gets from the journal what the host answered.
            receive=self.host.receive if self.journal is None else None,
            send=self.host.send if self.journal is None else None,
        )
        self.connect(wasi)
        with host_resources("a new sandbox"):
            machine = Machine(
                self.module(tier),
                wasi,
                answer,
                memory_limit=self.memory_limit,
                metered=self.is_metered,
            )
            machine.too_large = _too_large
            if self.journal is not None:
                wasi.sleep = partial(_sleep, self.journal, wasi.sleep)
            if state is None:
                machine.linear.load(image.memory, image.memory.size, {})
            else:
                machine.linear.load(state.memory, state.size, state.pages)
        if state is not None:
            wasi.restore(state.system, predecessor=None if predecessor is None else predecessor.wasi)
        elif not image.recipe.is_plain:
            # An image may have had files open; the plain one has none but those that every machine has. The
            # random numbers of a seed begin anew: they are the session's and not the image's.
            wasi.restore({**image.system, "random": wasi.random.state()})
        else:
            wasi.held.restore(image.held)
        return machine

    def connect(self, wasi: Wasi) -> None:
        """Connect the files with what is of this session alone."""
        connect(
            self.files,
            clock=time.time_ns if self.clock is None else self.clock.realtime,
            random=partial(take, wasi.random),
            output=weak_method(wasi.output),
            descriptors=wasi.table.paths,
        )


def _sleep(journal: Journal, sleep: Callable[[float], bool], seconds: float) -> bool:
    return journal.outcome("sleep", lambda: sleep(seconds))


def _too_large(request: bytes) -> bytes:
    """What the guest gets when it has no memory for the answer to `request`."""
    if request[0] == Request.COMMAND:
        return encode(("refuse",))
    return encode(("error", "MemoryError", "the answer does not fit the memory of this sandbox"))
