"""What a build of the guest is like, found in its files: for builds that `builds.py` does not list.

**The cut.** The linker puts the functions of each library side by side, in the order of the libraries:
CPython, the packages, zlib, SQLite and the rest, libc. The name section and the interpreter's table of built-
in modules show where each module begins; modules with a dot in their names belong to packages, since the
standard library has no extension modules within packages. Between the last module of CPython and the first of
a package lies where the cut begins, at the first function that refers to one of a package: nothing of CPython
does. It ends before the first function that CPython refers to again.

A reference is a call, or the address of a function in code; the linker writes both as numbers of five bytes,
so that they are found without decoding instructions. Where CPython, or what it calls, refers to a function
within the cut other than the beginning of a module, there is no cut, and the build has no core tier.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from planaria.errors import RuntimeSetupError
from planaria.runtime.builds import BUILDS, Build
from planaria.runtime.error_texts import error_texts_functions
from planaria.runtime.file_status import file_status_functions
from planaria.runtime.frames import widened_functions
from planaria.runtime.integers import changed_functions
from planaria.runtime.mathematics import mathematics_functions
from planaria.runtime.wasmfile import WasmFile, decode_uleb, encode_padded

__all__ = ["builtin_modules", "find_cut", "survey"]

#: In bytes, between entries of the table of built-in modules that have a function.
_LARGEST_GAP: Final = 64
#: `call` or `i32.const`, and a number that the linker filled in.
_REFERENCE: Final = re.compile(rb"[\x10\x41][\x80-\xff]{4}[\x00-\x0f]")
_CALL: Final = 0x10
_CONSTANT: Final = 0x41
_INITIALISER: Final = "PyInit_"
#: What initialises a module in a package: it names the package to the interpreter, and calls a `PyInit_…`.
_TRAMPOLINE: Final = re.compile(r"ctx_\d+")


def survey(wasm: WasmFile, library: Path) -> Build:
    """Look at a module and the archive of its library. Takes seconds."""
    builtin = builtin_modules(wasm)
    cut = find_cut(wasm, builtin)
    stubbed = frozenset(name for name, function in builtin.items() if cut is not None and function in cut)
    changes = widened_functions, file_status_functions, mathematics_functions, error_texts_functions
    limitations = [limitation for change in changes for limitation in change(wasm)[1]]
    full_problem = None
    try:
        changed_functions(wasm)
    except RuntimeSetupError as error:
        full_problem = str(error)
    return Build(cut, stubbed, _full(stubbed, library), tuple(limitations), full_problem)


def _full(stubbed: Iterable[str], library: Path) -> frozenset[str]:
    """The packages with stubbed modules, and what needs such packages in the builds that are known."""
    packages = {name.partition(".")[0] for name in stubbed}
    if not packages:
        return frozenset()
    with zipfile.ZipFile(library) as archive:
        present = {name.partition("/")[0].partition(".")[0] for name in archive.namelist()}
    known = {name for build in BUILDS.values() for name in build.full}
    return frozenset(packages | {name for name in known if name.partition(".")[0] in present})


def find_cut(wasm: WasmFile, builtin: Mapping[str, int]) -> range | None:
    """The functions that belong to packages, None when they are not side by side.

    `builtin` are the built-in modules and the function that begins each.
    """
    packages = {function for name, function in builtin.items() if "." in name}
    own = [function for name, function in builtin.items() if "." not in name]
    if not packages or not own:
        return None
    first, last = min(packages), max(packages)
    if any(first < function < last for function in own):
        return None
    named = dict(wasm.named())
    bodies = {index: (start, end) for index, start, end in wasm.functions()}
    refer = _References(wasm, bodies)
    begin = first
    between = range(max((function for function in own if function < first), default=min(bodies)) + 1, first)
    for index in reversed(between):
        if not _TRAMPOLINE.fullmatch(named.get(index, "")) and any(
            begin <= function <= last for function in refer(index)
        ):
            begin = index
    end = _end(begin, last, bodies, refer, named)
    return None if end is None else range(begin, end)


def _end(
    begin: int, last: int, bodies: Mapping[int, tuple[int, int]], refer: _References, named: Mapping[int, str]
) -> int | None:
    """The first function after the packages' that CPython reaches; None when it reaches one of theirs."""
    waiting = [index for index in bodies if index < begin and not _TRAMPOLINE.fullmatch(named.get(index, ""))]
    reached: set[int] = set()
    while waiting:
        for function in refer(waiting.pop()):
            if begin <= function <= last:
                return None
            if function > last and function not in reached:
                reached.add(function)
                waiting.append(function)
    end = min(reached, default=max(bodies) + 1)
    # What is only referred to from data may belong to what follows.
    while end - 1 > last and not refer.occurs(end - 1, bodies[begin][0], bodies[end - 1][1]):
        end -= 1
    return end


class _References:
    """The functions that a function calls, or takes the address of."""

    def __init__(self, wasm: WasmFile, bodies: Mapping[int, tuple[int, int]]) -> None:
        self._data = wasm.data
        self._table = wasm.function_table()
        self._bodies = bodies

    def __call__(self, index: int) -> set[int]:
        found = set()
        for match in _REFERENCE.finditer(self._data, *self._bodies[index]):
            number = decode_uleb(match[0], 1)[0]
            function = number if match[0][0] == _CALL else self._table.get(number)
            if function is not None and function in self._bodies:
                found.add(function)
        return found

    def occurs(self, function: int, start: int, end: int) -> bool:
        """Whether the code between two places of the file refers to a function."""
        numbers = [(_CALL, function)]
        numbers += [(_CONSTANT, slot) for slot, one in self._table.items() if one == function]
        return any(
            self._data.find(bytes([opcode]) + encode_padded(number), start, end) != -1
            for opcode, number in numbers
        )


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
