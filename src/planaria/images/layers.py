"""Making the image of a recipe: a session of its base in which time stands still, captured.

Nothing of it depends on the machine or the moment, so that the same recipe gives the same bytes everywhere.
What runs for it runs in the sandbox.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from planaria.errors import ImageError, ProtocolError, RuntimeSetupError
from planaria.executors.executor import SandboxSetup, TierNeeded
from planaria.executors.messages import (
    Answer,
    Answered,
    Command,
    Configure,
    Done,
    EndOfInput,
    Failed,
    HostCall,
    Query,
    Raised,
    RunCode,
    Waiting,
)
from planaria.executors.wasm import WasmExecutor
from planaria.files.layout import SITE, standard_layout
from planaria.files.memory import MemoryFileSystem, MemorySnapshot
from planaria.files.mount import MountFileSystem
from planaria.images.boot import BUILD_TIME, boot_image
from planaria.limits import LEAST_MEMORY, Guard, Limits, Stopped
from planaria.machine.image import Image, find_image, image_lock, keep_image
from planaria.machine.image_files import find_tree, keep_tree
from planaria.machine.recipe import SETTINGS, Recipe
from planaria.machine.wasi.clock import FrozenClock
from planaria.machine.wasi.random import SeededRandom
from planaria.runtime.guest_files import library
from planaria.runtime.tiers import Tier
from planaria_kernel.sandbox.warmup import SOURCES, VALUES, WARMING

__all__ = ["BuildingHost", "base_of", "image_of", "root_files"]

#: Seconds that making an image may take.
PATIENCE: Final = 600.0
NO_TREES: Final[Mapping[str, MemorySnapshot]] = MappingProxyType({})
#: So many times the code of a package is warmed up: CPython specialises code that was run a few times.
_WARM_ROUNDS: Final = 4
_CONFIGURE_ROUNDS: Final = 12
_SETUP: Final = "<setup>"
_IMPORT: Final = "[__import__('importlib').import_module(name).__name__ for name in {!r}]"
_ADD_SITE: Final = "(lambda path: {0!r} in path or path.append({0!r}))(__import__('sys').path)"
_LOADED: Final = "[name for name in {!r} if name in __import__('sys').modules]"
_FORGET: Final = "globals().pop('_', None) and None"
_RENEW: Final = "__import__('importlib').invalidate_caches()"


def image_of(
    recipe: Recipe,
    *,
    trees: Mapping[str, MemorySnapshot] = NO_TREES,
    patience: float = PATIENCE,
    memory_limit: int | None = None,
) -> Image:
    """The image of a recipe, made now when the cache does not have it.

    `trees` are files of its layers by their digests: another process may remove those in the cache at any
    time. `patience` is in seconds and `memory_limit` in bytes. Raises ImageError when it cannot be made, for
    example because its code fails, and RuntimeSetupError.
    """
    if (image := find_image(recipe)) is not None:
        return image
    with image_lock(recipe):
        if (image := find_image(recipe)) is not None:  # another process has built it meanwhile
            return image
        if recipe.is_plain:
            from planaria.images.prebuilt import take_prebuilt_image  # what it imports takes time

            return take_prebuilt_image(recipe) or boot_image(recipe)
        return _make(recipe, trees, patience, memory_limit)


def base_of(recipe: Recipe) -> Recipe:
    """The recipe of the image that this one begins from."""
    return recipe.base or Recipe(artifact=recipe.artifact, guest=recipe.guest)


def root_files(tree: MountFileSystem) -> MemorySnapshot:
    """The files of a session's tree without what is mounted in it."""
    root = tree.top.filesystem
    assert isinstance(root, MemoryFileSystem)
    return root.snapshot()


class BuildingHost:
    """A host that keeps what is printed and offers nothing else."""

    def __init__(self) -> None:
        self.printed = bytearray()

    def output(self, descriptor: int, data: bytes) -> None:
        self.printed += data
        del self.printed[:-65536]

    def display(self, kind: str, data: dict[str, object], metadata: dict[str, object]) -> None:
        pass

    def call(self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> Answer:
        return Raised("RuntimeError", f"{name}() cannot be called while an image is built")

    def begin_call(self, call: HostCall) -> Raised:
        return Raised("RuntimeError", f"{call.name}() cannot be called while an image is built")

    def input(self, prompt: str) -> Answer:
        return EndOfInput()

    def receive(self, descriptor: int, buffer: memoryview) -> int:
        raise OSError(errno.EBADF, "there is no network here")

    def send(self, descriptor: int, buffer: memoryview) -> int:
        raise OSError(errno.EBADF, "there is no network here")


def _make(
    recipe: Recipe, trees: Mapping[str, MemorySnapshot], patience: float, memory_limit: int | None
) -> Image:
    if recipe.saved is not None:
        raise ImageError(
            f"the image {recipe.saved[:12]} was saved from a session, so it cannot be made again, and it is "
            "not in the cache of this computer: use it where it was saved, or save that session as a snapshot"
        )
    base = image_of(base_of(recipe), trees=trees, patience=patience, memory_limit=memory_limit)
    files = base.tree
    if recipe.files is not None:
        files = trees.get(recipe.files) or find_tree(recipe.files)
        if files is None:
            raise ImageError("the files of this image are not in the cache of this computer: build it again")
    try:
        try:
            return _build(recipe, base, files, recipe.tier, patience, memory_limit)
        except TierNeeded:  # by its setup, or by what a module imports
            return _build(recipe, base, files, Tier.FULL, patience, memory_limit)
    except Stopped as stopped:
        reason = f"timed out after {patience:g} s" if stopped.reason == "timeout" else stopped.message
        raise ImageError(f"the image could not be built: {reason}") from stopped
    except ProtocolError as error:
        raise ImageError(f"the image could not be built: {error}") from error


def _build(
    recipe: Recipe,
    base: Image,
    files: MemorySnapshot | None,
    tier: Tier,
    patience: float,
    memory_limit: int | None,
) -> Image:
    clock = FrozenClock(BUILD_TIME)
    tree = standard_layout(root=files, library=library(), clock=clock.realtime, random=bytes)
    host = BuildingHost()
    executor = WasmExecutor()
    setup = SandboxSetup(image=base, files=tree, clock=clock, random=SeededRandom(0))
    limit = None if memory_limit is None else max(memory_limit, LEAST_MEMORY)
    executor.start(host, Limits(memory=limit), setup)
    try:
        if tier is Tier.FULL:
            executor.move_up()
        kernel = _Kernel(executor, host, time.monotonic() + patience)
        if recipe.files is not None:
            kernel.evaluate(_RENEW)
            if _has_packages(tree):
                kernel.evaluate(_ADD_SITE.format(SITE))
        if recipe.preload:
            kernel.evaluate(_IMPORT.format(recipe.preload))
        if recipe.setup:
            kernel.run(recipe.setup, _SETUP)
        for name in kernel.evaluate(_LOADED.format(tuple(SOURCES))):
            for _ in range(_WARM_ROUNDS):
                kernel.run(f"exec({SOURCES[name]!r}, {{}})", WARMING)
                for value in VALUES.get(name, ()):
                    kernel.run(value, WARMING)
        kernel.evaluate(_FORGET)
        # The code of the image may have changed settings, and brought generators that were not there before.
        for _ in range(_CONFIGURE_ROUNDS):
            kernel.configure()
        memory, system = executor.settle()
        return keep_image(
            recipe,
            memory,
            base.addresses,
            system=system,
            files=keep_tree(root_files(tree)),
        )
    finally:
        executor.close()


def _has_packages(tree: MountFileSystem) -> bool:
    try:
        tree.stat(os.fsencode(SITE))
    except FileNotFoundError:
        return False
    return True


class _Kernel:
    """The kernel of an image that is being made; whatever fails in it is an ImageError."""

    def __init__(self, executor: WasmExecutor, host: BuildingHost, deadline: float) -> None:
        self._executor = executor
        self._host = host
        self._deadline = deadline

    def evaluate(self, expression: str) -> Any:
        return self._enter(Query("evaluate", (expression,)))

    def run(self, source: str, name: str) -> None:
        self._enter(RunCode(source, 0, "full", name))

    def configure(self) -> None:
        self._enter(Configure({**SETTINGS, "reseed": bytes(16)}))

    def _enter(self, command: Command) -> Any:
        report = self._executor.enter(command, Guard(deadline=self._deadline)).report
        match report:
            case Done():
                return None
            case Answered(value):
                return value
            case Failed():
                if report.type == "KeyboardInterrupt":
                    raise ImageError("the image could not be built: its code was stopped, it took too long")
                printed = self._host.printed.decode("utf-8", "replace")
                shown = report.traceback or f"{report.type}: {report.message}"
                raise ImageError(f"the image could not be built, its code raised:\n{printed}{shown}".rstrip())
            case Waiting():
                raise ImageError(
                    "the image could not be built: its setup waits, but time stands still while an image is "
                    "built; leave out what sleeps or calls the host"
                )
        raise RuntimeSetupError(f"the kernel of a new image reported {type(report).__name__}")
