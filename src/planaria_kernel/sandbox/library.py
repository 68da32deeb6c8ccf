"""The standard library as a directory, for an interpreter that was started with it in a zip archive.

Packages find their data files beside their modules, and the host's zlib inflates faster than the
sandbox's. The modules that the interpreter has imported already get their new locations.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from types import ModuleType

__all__ = ["move"]


def move(archive: str, directory: str) -> None:
    """Have everything imported so far, and what it imports, use `directory` in place of `archive`.

    They have the same contents, and `sys.path` names the directory already.
    """
    sys._stdlib_dir = directory  # type: ignore[attr-defined]  # where frozen modules find their origin
    # Packages come before what is in them: the search for a submodule begins with the path of its package.
    for name in sorted(sys.modules):
        _relocate(name, sys.modules[name], archive, directory)
    sys.path_importer_cache.clear()
    zipimport = sys.modules.get("zipimport")
    if zipimport is not None:
        zipimport._zip_directory_cache.clear()


def _relocate(name: str, module: ModuleType, archive: str, directory: str) -> None:
    """Point one module's attributes to `directory`."""
    if hasattr(module, "__path__"):
        module.__path__ = [place.replace(archive, directory, 1) for place in module.__path__]
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.startswith(archive):
        return
    module.__file__ = file.replace(archive, directory, 1)
    if module.__file__.endswith(".py"):
        module.__file__ += "c"  # frozen modules name a source, of which there is none
    specification = module.__spec__
    if specification is None or specification.origin == "frozen":
        return
    package = sys.modules.get(name.rpartition(".")[0])
    found = PathFinder.find_spec(name, None if package is None else package.__path__)
    if found is not None:
        module.__spec__ = found
        module.__loader__ = found.loader
