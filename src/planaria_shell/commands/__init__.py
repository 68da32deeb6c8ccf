"""The commands: each module registers its own when it is imported (see `command.py`)."""

from __future__ import annotations

import importlib
import pkgutil

__all__ = ["load"]

_loaded = False


def load() -> None:
    """Import every module of commands, so that all of them are in `command.COMMANDS`."""
    global _loaded
    if _loaded:
        return
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    _loaded = True
