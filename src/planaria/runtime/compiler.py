"""Compiling a module ahead of time into the cache; see `compiling_process.py` for where that happens."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.artifact import EXPORTED_FUNCTIONS, artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.error_texts import error_texts_digest
from planaria.runtime.file_status import file_status_digest
from planaria.runtime.frames import frames_digest
from planaria.runtime.integers import changes_digest
from planaria.runtime.mathematics import mathematics_digest

__all__ = [
    "CompileRecipe",
    "Tier",
    "compile_into",
    "environment",
    "environment_digest",
    "file_recipe",
    "module_digest",
    "named_recipe",
    "tier_recipe",
]

#: Incremented when what is compiled changes in a way that nothing else in the key reflects.
_FORMAT: Final = 1

#: The processor features that wasmtime's code generator may use; a module with others does not load.
_FEATURES: Final = """
    pni ssse3 sse4_1 sse4_2 cx16 popcnt avx avx2 fma bmi1 bmi2 abm
    avx512bitalg avx512dq avx512f avx512vl avx512vbmi atomics paca pacg fphp asimdhp
"""


#: Ends the name of what counts instructions.
_METERED: Final = "-metered"


class Tier(Enum):
    """How much of the guest is compiled; memory moves freely between the two."""

    CORE = "core"
    """CPython and its standard library; the scientific stack's functions are stubs."""
    FULL = "full"
    """Everything."""


@dataclass(frozen=True, slots=True)
class CompileRecipe:
    """What to compile and under which key its result is cached."""

    argument: str
    """What to compile, as an argument of the compiling process."""
    key: str
    build: Callable[[], bytes]
    """Makes the WebAssembly module."""
    metered: bool = False
    """Whether what it executes is counted, for `Limits(fuel=...)`."""


def _processor_features() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return ""  # elsewhere wasmtime's own check at loading has to do
    for line in text.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(set(_FEATURES.split()) & set(flags.split())))
    return ""


def _engine_version() -> str:
    """The version of wasmtime."""
    import wasmtime

    # Its metadata's directory has it in its name; importing what reads metadata takes 10 ms of each start.
    found = [one.name for one in Path(wasmtime.__path__[0]).parent.glob("wasmtime-*.dist-info")]
    if len(found) == 1:
        return found[0].removeprefix("wasmtime-").removesuffix(".dist-info")
    from importlib.metadata import version

    return version("wasmtime")


def environment() -> dict[str, str]:
    """What a compiled module depends on beside the WebAssembly."""
    from planaria.runtime.native import CONFIGURATION

    return {
        "format": str(_FORMAT),
        "engine": _engine_version(),
        "settings": CONFIGURATION,
        "system": sys.platform,
        "machine": platform.machine(),
        "processor": _processor_features(),
    }


@cache
def environment_digest() -> str:
    """The same as a digest."""
    return hashlib.sha256("\n".join(environment().values()).encode()).hexdigest()


def tier_recipe(tier: Tier, *, metered: bool = False) -> CompileRecipe:
    """Raises `RuntimeSetupError` when the guest's files are missing."""
    guest = artifact()
    if guest.cut is None:
        tier = Tier.FULL  # nothing can be left out of a build that is not known
    parts = (*_module_parts(tier), environment_digest(), *(["consume_fuel"] if metered else []))
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    name = f"{tier.value}{_METERED if metered else ''}"
    return CompileRecipe(
        name, f"{name}-{digest[:20]}", lambda: guest.patched(core=tier is Tier.CORE), metered
    )


def named_recipe(name: str) -> CompileRecipe:
    """The recipe with that `argument`: of a tier or a file."""
    tier = name.removesuffix(_METERED)
    if tier in [one.value for one in Tier]:
        return tier_recipe(Tier(tier), metered=tier != name)
    return file_recipe(Path(name))


def _module_parts(tier: Tier) -> tuple[str, ...]:
    """What the WebAssembly of a tier depends on."""
    guest = artifact()
    return (
        guest.digest,
        *EXPORTED_FUNCTIONS,
        repr(guest.cut if tier is Tier.CORE else None),
        frames_digest(),
        file_status_digest(),
        mathematics_digest(),
        error_texts_digest(),
        *([changes_digest()] if tier is Tier.FULL else []),  # numpy is not in the core tier
    )


def module_digest(tier: Tier) -> str:
    """Names the WebAssembly of a tier, whatever it is compiled for."""
    return hashlib.sha256("\n".join(_module_parts(tier)).encode()).hexdigest()


def file_recipe(path: Path) -> CompileRecipe:
    """Compile any WebAssembly file as it is."""
    contents = path.read_bytes()
    digest = hashlib.sha256(contents + environment_digest().encode()).hexdigest()
    return CompileRecipe(str(path), f"file-{digest[:20]}", lambda: contents)


def _peak_memory() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def compile_into(cache: CompileCache, recipe: CompileRecipe, *, blocking: bool = True) -> bool:
    """Compile in this process unless the cache has it; other processes that want it wait for this one.

    Returns False when `blocking` is False and another process is at it. Raises `RuntimeSetupError`.
    """
    cache.prepare()
    with cache.lock(recipe.key, blocking=blocking) as held:
        if not held:
            return False
        if cache.find(recipe.key) is not None:
            return True
        with cache.create(recipe.key, measure=_peak_memory) as out:
            from planaria.runtime.native import Trap, compile_module, engine, serialize

            try:
                serialize(compile_module(engine(recipe.metered), recipe.build()), out.write)
            except Trap as error:
                raise RuntimeSetupError(f"{recipe.argument} cannot be compiled: {error}") from error
    return True
