"""Native code that was installed: the packages `planaria-native-core` and `planaria-native-full`.

Each has files as `planaria setup --export` writes them, one for each kind of processor (`targets.py`). None
of their Python code runs. What does not fit is left alone, a log record says why, and the runtime is
compiled.
"""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier, tier_recipe
from planaria.runtime.transfer import import_runtime, processor_of

__all__ = ["PREBUILT_SUFFIX", "prebuilt_files", "prebuilt_package", "prebuilt_places", "take_prebuilt"]

PREBUILT_SUFFIX: Final = ".runtime"

_log: Final = logging.getLogger("planaria.runtime")


def prebuilt_package(tier: Tier) -> str:
    """The package with the native code of a tier."""
    return f"planaria_native_{tier.value}"


def prebuilt_places(tier: Tier) -> list[Path]:
    """Where that package is installed, if it is."""
    found = importlib.util.find_spec(prebuilt_package(tier))
    return [] if found is None else [Path(place) for place in found.submodule_search_locations or ()]


def prebuilt_files(tier: Tier) -> list[Path]:
    """What is installed for a tier, for the most able processor first."""
    files = [path for place in prebuilt_places(tier) for path in place.glob(f"*{PREBUILT_SUFFIX}")]
    return sorted(files, key=lambda path: len(processor_of(path) or ()), reverse=True)


def take_prebuilt(tier: Tier, cache: CompileCache) -> bool:
    """Put the installed native code of a tier into the cache unless it is there; whether it is there now.

    Raises `RuntimeSetupError` when the guest or the cache cannot be used.
    """
    if cache.find(tier_recipe(tier).key) is not None:
        return True
    for path in prebuilt_files(tier):
        try:
            import_runtime(path, cache, origin=f"{path.parent.name.replace('_', '-')}, {path.stem}")
        except RuntimeSetupError as error:
            _log.warning("the installed %s runtime is not used: %s", tier.value, error)
        else:
            return True
    return False
