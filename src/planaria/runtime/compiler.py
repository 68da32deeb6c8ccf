"""Compiling a module ahead of time into the cache: `python -P -m planaria.runtime.compiler NAME|FILE`.

It runs in a process of its own, so that the memory it takes (1 GB and more) goes back to the system, an
interrupt or a kill leaves the caller alone, and the one for the full tier can have a low priority.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.artifact import EXPORTED_FUNCTIONS, artifact
from planaria.runtime.cache import CompileCache
from planaria.runtime.frames import frames_digest
from planaria.runtime.integers import changes_digest

__all__ = [
    "CompileRecipe",
    "Tier",
    "compile_into",
    "environment",
    "environment_digest",
    "file_recipe",
    "module_digest",
    "spawn",
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

#: A niceness that leaves the processors to everybody else.
_LOWEST_PRIORITY: Final = 19


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


def environment() -> dict[str, str]:
    """What a compiled module depends on beside the WebAssembly."""
    from planaria.runtime.native import CONFIGURATION

    return {
        "format": str(_FORMAT),
        "engine": version("wasmtime"),
        "settings": CONFIGURATION,
        "system": sys.platform,
        "machine": platform.machine(),
        "processor": _processor_features(),
    }


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


def _module_parts(tier: Tier) -> tuple[str, ...]:
    """What the WebAssembly of a tier depends on."""
    guest = artifact()
    return (
        guest.digest,
        *EXPORTED_FUNCTIONS,
        repr(guest.cut if tier is Tier.CORE else None),
        frames_digest(),
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


# -- the process ----------------------------------------------------------------------------------


def spawn(recipe: CompileRecipe, cache: CompileCache, *, background: bool = False) -> subprocess.Popen[bytes]:
    """Start the compiling process. Its standard error says why when it exits with a status other than 0.

    With `background` it has the lowest priority, is out of reach of the terminal's Ctrl-C, writes to the
    entry's log, gives up at once when another process compiles the same, and ends with this process.
    """
    if not sys.executable:
        raise RuntimeSetupError("this Python does not know its executable; run `planaria setup` once instead")
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    environment["PLANARIA_CACHE"] = str(cache.directory)
    # -P: the current directory must not get onto the path of modules.
    command = [
        sys.executable,
        "-P",
        "-m",
        __spec__.name if __name__ == "__main__" else __name__,
        recipe.argument,
    ]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": environment}
    if not background:
        return subprocess.Popen(command, stderr=subprocess.PIPE, **options)
    options["stdin"] = subprocess.PIPE  # its end is how the process notices that this one has ended
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.IDLE_PRIORITY_CLASS
    else:
        options["start_new_session"] = True
    log = os.open(cache.log_path(recipe.key), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen([*command, "--background"], stderr=log, **options)
    finally:
        os.close(log)


def _end_with_parent() -> None:
    """Wait for the end of standard input, which the starting process holds open, and end this process.

    A compile does not return to Python before it is done, so no exception could end it. The partial file that
    is left is removed by the next compile.
    """
    while os.read(0, 4096):
        pass
    os._exit(130)


def _named_recipe(name: str) -> CompileRecipe:
    """What an argument of the compiling process names: a tier or a file."""
    tier = name.removesuffix(_METERED)
    if tier in [one.value for one in Tier]:
        return tier_recipe(Tier(tier), metered=tier != name)
    return file_recipe(Path(name))


def main(arguments: Sequence[str]) -> int:
    """The compiling process; returns its exit status."""
    name, *flags = arguments
    background = "--background" in flags
    if background:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        if hasattr(os, "nice"):
            os.nice(_LOWEST_PRIORITY)
    # A polite kill ends like Ctrl-C, so that the partial file goes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cache = CompileCache()
    try:
        recipe = _named_recipe(name)
        if background and name == Tier.FULL.value:
            # Two compiles at once would make the first, which a caller waits for, twice as slow.
            with cache.lock(tier_recipe(Tier.CORE).key):
                pass
        compile_into(cache, recipe, blocking=not background)
    except (RuntimeSetupError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
