"""The compiled runtime as a file: what is exported is taken where it fits, and refused where it does not."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from planaria.errors import RuntimeSetupError
from planaria.runtime import native, tiers
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier, tier_recipe
from planaria.runtime.transfer import export_runtime, import_runtime

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tiers.wait(Tier.CORE)
    path = tmp_path_factory.mktemp("runtime") / "runtime.zip"
    export_runtime(path, [Tier.CORE])
    return path


@pytest.fixture
def empty(tmp_path: Path) -> CompileCache:
    return CompileCache(tmp_path / "cache")


def changed(exported: Path, path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The same file with another description and without the module."""
    with zipfile.ZipFile(exported) as archive:
        description = json.loads(archive.read("runtime.json"))
    change(description)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("runtime.json", json.dumps(description))
        archive.writestr("core.cwasm.zst", zstandard.compress(b"something else"))
    return path


def test_what_is_exported_can_be_loaded(exported: Path, empty: CompileCache) -> None:
    """A cache that was empty has the runtime afterwards, as if it had been compiled; once is enough."""
    reported: list[tuple[Tier, bool]] = []
    for _ in range(2):
        import_runtime(exported, empty, lambda tier, was_there: reported.append((tier, was_there)))
    assert reported == [(Tier.CORE, False), (Tier.CORE, True)]
    path = empty.find(tier_recipe(Tier.CORE).key)
    assert path is not None
    native.deserialize_file(native.engine(), path)


@pytest.mark.parametrize("name", ["format", "engine", "settings", "system", "machine"])
def test_another_environment_is_refused(
    exported: Path, empty: CompileCache, tmp_path: Path, name: str
) -> None:
    """A runtime that was compiled for something else is not taken, and the error says for what."""
    path = changed(exported, tmp_path / "other", lambda it: it["environment"].update({name: "other"}))
    with pytest.raises(RuntimeSetupError, match=rf"for another {name}: other.*planaria setup"):
        import_runtime(path, empty)
    assert not list(empty.directory.glob("*.cwasm"))


def test_a_better_processor_is_refused(exported: Path, empty: CompileCache, tmp_path: Path) -> None:
    """A runtime that needs what this processor does not have is not taken; one that needs less is."""
    better = changed(
        exported,
        tmp_path / "better",
        lambda it: it["environment"].update(processor=it["environment"]["processor"] + " avx1024"),
    )
    with pytest.raises(RuntimeSetupError, match="a processor with avx1024"):
        import_runtime(better, empty)
    plain = changed(exported, tmp_path / "plain", lambda it: it["environment"].update(processor=""))
    with pytest.raises(RuntimeSetupError, match="another digest"):  # so the processor was not the reason
        import_runtime(plain, empty)


def test_another_guest_is_refused(exported: Path, empty: CompileCache, tmp_path: Path) -> None:
    """A runtime of another build of the guest is not taken."""
    path = changed(exported, tmp_path / "other", lambda it: it["modules"]["core"].update(module="other"))
    with pytest.raises(RuntimeSetupError, match="another version"):
        import_runtime(path, empty)


def test_damage_is_refused(exported: Path, empty: CompileCache, tmp_path: Path) -> None:
    """What is not such a file, or was changed, is refused, and the cache stays as it was."""
    path = tmp_path / "damaged"
    path.write_bytes(b"not an archive")
    with pytest.raises(RuntimeSetupError, match="not a file of"):
        import_runtime(path, empty)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("runtime.json", "[]")
    with pytest.raises(RuntimeSetupError, match="not a file of"):
        import_runtime(path, empty)
    with pytest.raises(RuntimeSetupError, match="another digest"):
        import_runtime(changed(exported, path, lambda it: None), empty)
    assert empty.module_keys() == []
    with pytest.raises(RuntimeSetupError, match="cannot be read"):
        import_runtime(tmp_path / "missing", empty)


def test_only_what_is_compiled_is_exported(empty: CompileCache, tmp_path: Path) -> None:
    """Exporting a runtime that was not compiled is an error, and leaves no file."""
    empty.prepare()
    with pytest.raises(RuntimeSetupError, match="not compiled"):
        export_runtime(tmp_path / "file", [Tier.CORE], empty)
    assert not list(tmp_path.glob("file*"))
