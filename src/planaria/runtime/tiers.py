"""The two compiled forms of the guest: loading, compiling when missing, compiling in the background."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from planaria.errors import RuntimeSetupError
from planaria.fork import in_forked_child
from planaria.runtime.artifact import artifact
from planaria.runtime.available_memory import shortage
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import CompileRecipe, Tier, tier_recipe

if TYPE_CHECKING:
    import wasmtime

__all__ = [
    "Tier",
    "ensure",
    "is_compiled",
    "is_loaded",
    "load",
    "load_recipe",
    "start_background_compile",
    "wait",
]

_log: Final = logging.getLogger("planaria.runtime")

#: What to expect in seconds on two processor cores; only shown to the user.
_USUAL_SECONDS: Final = {Tier.CORE: 15, Tier.FULL: 90}

_lock = threading.RLock()  # replaced in a forked child: another thread of its parent may have held it
#: By tier, and whether they count instructions.
_modules: dict[tuple[Tier, bool], wasmtime.Module] = {}
_background: subprocess.Popen[bytes] | None = None


@in_forked_child("runtime")
def _after_fork() -> None:
    global _lock, _background
    _lock = threading.RLock()
    _background = None  # not our child


def is_compiled(tier: Tier, *, metered: bool = False) -> bool:
    """Whether `load(tier, metered=metered)` would be quick."""
    if (tier, metered) in _modules:
        return True
    return CompileCache().find(tier_recipe(tier, metered=metered).key) is not None


def is_loaded(*, metered: bool = False) -> bool:
    """Whether this process has a compiled guest already, of one tier or the other."""
    return any((tier, metered) in _modules for tier in Tier)


def load(tier: Tier, *, metered: bool = False) -> wasmtime.Module:
    """The compiled guest; the same object for the whole process. A metered one counts instructions.

    Takes about 20 ms from the cache. When it is missing there it is taken from an installed package,
    or compiled first, and a line on standard error says so. Raises `RuntimeSetupError`.
    """
    module = _modules.get((tier, metered))
    if module is None:
        with _lock:
            module = _modules.get((tier, metered))
            if module is None:
                recipe, cache = tier_recipe(tier, metered=metered), CompileCache()
                if not metered:
                    _take_installed(tier, cache)
                module = load_recipe(recipe, cache, lambda: _announced(recipe, tier))
                _modules[tier, metered] = module
    return module


def load_recipe(
    recipe: CompileRecipe, cache: CompileCache, compile_it: Callable[[], None]
) -> wasmtime.Module:
    """Load an entry; `compile_it` is called when it is missing or of no use to this engine."""
    import wasmtime

    from planaria.runtime import native

    refusal: wasmtime.WasmtimeError | None = None
    for _ in range(2):
        path = cache.find(recipe.key)
        if path is None:
            compile_it()
            path = cache.find(recipe.key)
            if path is None:
                raise RuntimeSetupError(f"{cache.module_path(recipe.key)} vanished after it was compiled")
        try:
            return native.deserialize_file(native.engine(recipe.metered), path)
        except wasmtime.WasmtimeError as error:
            refusal = error  # of another processor, when the cache's directory is shared between machines
            with cache.lock(recipe.key):
                cache.remove(recipe.key)
    raise RuntimeSetupError(f"the compiled runtime does not load: {refusal}") from refusal


def ensure(
    recipe: CompileRecipe, cache: CompileCache, on_progress: Callable[[float], None] | None = None
) -> None:
    """Compile an entry in another process unless it is there, or wait for the process that compiles it.

    `on_progress` gets the seconds waited so far, about five times a second. Raises `RuntimeSetupError`.
    """
    from planaria.runtime.compiling_process import spawn  # what it imports takes time

    cache.prepare()
    if cache.find(recipe.key) is not None:
        return
    begun = time.monotonic()
    _log.info("compiling %s", recipe.argument)
    process = spawn(recipe, cache)
    try:
        while True:
            try:
                _, errors = process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                if on_progress is not None:
                    on_progress(time.monotonic() - begun)
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    if process.returncode != 0:
        detail = errors.decode("utf-8", "replace").strip() or f"status {process.returncode}"
        _log.error("compiling %s failed after %.0f s", recipe.argument, time.monotonic() - begun)
        raise RuntimeSetupError(f"compiling the runtime failed: {detail}")
    _log.info("compiled %s in %.0f s", recipe.argument, time.monotonic() - begun)


def wait(tier: Tier, on_progress: Callable[[float], None] | None = None, *, metered: bool = False) -> None:
    """Return once a tier is compiled, compiling it or waiting for the process that does; see `ensure`."""
    cache = CompileCache()
    if not is_compiled(tier, metered=metered) and (metered or not _take_installed(tier, cache)):
        ensure(tier_recipe(tier, metered=metered), cache, on_progress)


def _take_installed(tier: Tier, cache: CompileCache) -> bool:
    """Take what was installed, unless the cache has it; whether it has it now."""
    if cache.find(tier_recipe(tier).key) is not None:
        return True
    from planaria.runtime.prebuilt import take_prebuilt  # seldom wanted, and takes time to import

    return take_prebuilt(tier, cache)


def _announced(recipe: CompileRecipe, wanted: Tier) -> None:
    # The full one also where a build has no core tier.
    tier = Tier.FULL if recipe.argument.startswith(Tier.FULL.value) else wanted
    begun = time.monotonic()
    if (short := shortage(tier)) is not None:
        print(f"planaria: {short}", file=sys.stderr)
    print(
        f"planaria: compiling the {'metered ' if recipe.metered else ''}{tier.value} runtime, "
        "once for this user and version "
        f"(about {_USUAL_SECONDS[tier]} s) ...",
        end="",
        file=sys.stderr,
        flush=True,
    )
    try:
        ensure(recipe, CompileCache())
    except BaseException:
        print(" failed", file=sys.stderr, flush=True)
        raise
    print(f" done in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def start_background_compile(tier: Tier = Tier.FULL) -> bool:
    """Begin compiling in a process of low priority that ends with this one and ignores its Ctrl-C.

    Returns whether one was started: not when the tier is compiled already, when one of ours is running, when
    memory is short, or when the environment has `PLANARIA_BACKGROUND_COMPILE=0`. Of several processes that
    do this at once, one compiles and the others' end at once. Its output is in the cache's directory.
    """
    global _background
    if os.environ.get("PLANARIA_BACKGROUND_COMPILE", "1") == "0":
        return False
    with _lock:
        if _background is not None and _background.poll() is None:
            return False
        if is_compiled(tier):
            return False
        if (short := shortage(tier)) is not None:
            # The system might end this process in place of the compile.
            _log.warning("not compiling in the background: %s", short)
            return False
        if tier is Tier.FULL and (problem := artifact().facts.full_problem) is not None:
            _log.warning("not compiling in the background: %s", problem)
            return False
        from planaria.runtime.compiling_process import spawn

        cache = CompileCache()
        cache.prepare()
        _background = spawn(tier_recipe(tier), cache, background=True)
    return True
