"""The compile cache: what is refused, what is compiled again, and what survives kills and races."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from planaria.errors import RuntimeSetupError
from planaria.runtime import compiler, doctor, native, tiers
from planaria.runtime.artifact import EXPORTED_FUNCTIONS
from planaria.runtime.cache import CompileCache, EntryRecord, boot_id, hash_file
from planaria.runtime.compiler import compile_into, file_recipe
from planaria.runtime.compiling_process import spawn
from planaria.runtime.tiers import ensure, load_recipe

pytestmark = pytest.mark.slow

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    directory = tmp_path / "cache"
    monkeypatch.setenv("PLANARIA_CACHE", str(directory))
    found = CompileCache()
    assert found.directory == directory
    return found


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "tiny.wasm"
    path.write_bytes(wasmtime.wat2wasm('(module (func (export "answer") (result i32) i32.const 42))'))
    return file_recipe(path)


@pytest.fixture
def compiled(cache, recipe):
    """A cache that has the tiny module; returns its path."""
    assert compile_into(cache, recipe)
    return cache.module_path(recipe.key)


def answer(module):
    store = wasmtime.Store(native.engine())
    store.set_epoch_deadline(1 << 40)
    answer: Any = wasmtime.Instance(store, module, []).exports(store)["answer"]
    return answer(store)


def must_not_compile():
    raise AssertionError("compiled again")


def loaded(cache, recipe):
    """Load it, compiling in this process when missing; returns the answer and how often it was compiled."""
    times = []

    def compile_it():
        times.append(1)
        compile_into(cache, recipe)

    return answer(load_recipe(recipe, cache, compile_it)), len(times)


def test_compiled_module_loads(cache, recipe, compiled):
    """A compiled module loads and runs without being compiled again."""
    assert answer(load_recipe(recipe, cache, must_not_compile)) == 42


@posix
def test_cache_is_private(cache, recipe, compiled):
    """Directory and files can be read and written by their owner only."""
    assert cache.directory.stat().st_mode & 0o777 == 0o700
    for path in cache.directory.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_keeping_time(path: Path) -> None:
    status = path.stat()
    flip(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def drop_record(path: Path) -> None:
    path.with_suffix(".json").unlink()


def damage_record(path: Path) -> None:
    path.with_suffix(".json").write_text("{")


def foreign_record(path: Path) -> None:
    path.with_suffix(".json").write_text('{"sha256": "x", "stamp": [1], "seconds": 1, "peak_memory": 1}')


@pytest.mark.parametrize(
    "damage",
    [flip, truncate, empty, flip_keeping_time, Path.unlink, drop_record, damage_record, foreign_record],
)
def test_damaged_entry_is_compiled_again(cache, recipe, compiled, damage):
    """Whatever happens to the file or its record, no damaged code is loaded; it is compiled once more."""
    damage(compiled)
    assert cache.find(recipe.key) is None
    assert loaded(cache, recipe) == (42, 1)
    assert loaded(cache, recipe) == (42, 0)


def test_copied_entry_is_verified_by_its_contents(cache, recipe, compiled):
    """The same contents in another file (a restored backup) are accepted after hashing, and noted down."""
    data = compiled.read_bytes()
    compiled.unlink()
    compiled.write_bytes(data)
    compiled.chmod(0o600)
    before = cache.record(recipe.key)
    assert cache.find(recipe.key) == compiled
    assert cache.record(recipe.key).stamp != before.stamp
    assert cache.record(recipe.key).sha256 == before.sha256


def test_entry_of_another_engine_is_compiled_again(cache, recipe, compiled):
    """Code that the engine refuses, though undamaged, is compiled anew for this one."""
    other = wasmtime.Module(wasmtime.Engine(), b"\0asm\x01\0\0\0").serialize()
    with cache.lock(recipe.key), cache.create(recipe.key) as out:
        out.write(bytes(other))
    assert loaded(cache, recipe) == (42, 1)


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_directory_that_others_can_write_is_refused(cache, recipe, compiled, mode):
    """Nothing is loaded from, or compiled into, a directory that others can write to."""
    cache.directory.chmod(mode)
    with pytest.raises(RuntimeSetupError, match="written by other users"):
        cache.find(recipe.key)
    with pytest.raises(RuntimeSetupError, match="written by other users"):
        compile_into(cache, recipe)


@posix
@pytest.mark.parametrize("suffix", [".cwasm", ".json"])
def test_file_that_others_can_write_is_refused(cache, recipe, compiled, suffix):
    """Nothing is loaded when the module or its record can be written by others."""
    compiled.with_suffix(suffix).chmod(0o666)
    with pytest.raises(RuntimeSetupError, match="chmod go-w"):
        cache.find(recipe.key)


@posix
def test_symbolic_link_to_a_directory_is_refused(tmp_path, recipe):
    """A cache directory that is a symbolic link is refused."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(RuntimeSetupError, match="symbolic link"):
        compile_into(CompileCache(tmp_path / "link"), recipe)


@posix
@pytest.mark.parametrize("suffix", [".cwasm", ".json"])
def test_symbolic_link_to_a_module_is_refused(cache, recipe, compiled, tmp_path, suffix):
    """A module or record that is a symbolic link is refused, wherever it leads."""
    path = compiled.with_suffix(suffix)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RuntimeSetupError, match="not a regular file"):
        cache.find(recipe.key)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("which", ["directory", "module"])
def test_other_owner_is_refused(cache, recipe, compiled, which):
    """Nothing is loaded from files of another user."""
    os.chown(cache.directory if which == "directory" else compiled, 12345, -1)
    with pytest.raises(RuntimeSetupError, match="belongs to user 12345"):
        cache.find(recipe.key)


def test_file_in_the_place_of_the_directory_is_refused(tmp_path, recipe):
    """A cache directory that cannot be made is an error that names it and says what to set."""
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeSetupError, match="PLANARIA_CACHE"):
        compile_into(CompileCache(tmp_path / "file" / "cache"), recipe)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_a_clear_error(cache, recipe):
    """A full disk leaves nothing behind and says where and what to do."""
    cache.prepare()

    def fill_up():
        with cache.create(recipe.key) as out, open("/dev/full", "wb", buffering=0) as full:
            out.write(b"half")
            full.write(b"x")

    with pytest.raises(RuntimeSetupError, match=r"no space is left in .* PLANARIA_CACHE"):
        fill_up()
    assert list(cache.directory.iterdir()) == []


def test_invalid_module_is_a_clear_error(cache, tmp_path):
    """What is not WebAssembly is refused by the compiling process, whose reason arrives."""
    (tmp_path / "bad.wasm").write_bytes(b"\0asm\x01\0\0\0\xff")
    with pytest.raises(RuntimeSetupError, match="cannot be compiled"):
        ensure(file_recipe(tmp_path / "bad.wasm"), cache)
    assert cache.partial_paths() == []


def test_record_survives_json():
    """A record comes back as it was written."""
    record = EntryRecord("0" * 64, (1, 2, 3, 4, 5), 1.5, 7)
    assert EntryRecord.from_json(record.to_json()) == record


# -- processes -------------------------------------------------------------------------------------


def test_another_process_compiles(cache, recipe):
    """`ensure` compiles in a process of its own; afterwards there is nothing to do."""
    ensure(recipe, cache)
    assert answer(load_recipe(recipe, cache, must_not_compile)) == 42
    inode = cache.module_path(recipe.key).stat().st_ino
    ensure(recipe, cache)
    assert cache.module_path(recipe.key).stat().st_ino == inode


def test_processes_at_once_compile_once(cache, recipe):
    """Processes that want the same module wait for the first and use what it made."""
    cache.prepare()
    with cache.lock(recipe.key):
        processes = [spawn(recipe, cache) for _ in range(2)]
    inodes = set()
    for process in processes:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, b"")
        inodes.add(cache.module_path(recipe.key).stat().st_ino)
    assert len(inodes) == 1
    assert cache.partial_paths() == []
    assert answer(load_recipe(recipe, cache, must_not_compile)) == 42


def test_background_process_gives_up_when_another_compiles(cache, recipe):
    """A background compile ends at once, successfully, when another process is at it."""
    cache.prepare()
    with cache.lock(recipe.key):
        process = spawn(recipe, cache, background=True)
        assert process.wait(30) == 0
    assert cache.find(recipe.key) is None
    assert spawn(recipe, cache, background=True).wait(30) == 0
    assert cache.find(recipe.key) is not None


@posix
def test_background_process_is_out_of_reach_of_the_terminal(cache, recipe):
    """A background compile has a session of its own, which the terminal's signals do not reach."""
    cache.prepare()
    with cache.lock(recipe.key):
        process = spawn(recipe, cache, background=True)
        assert os.getsid(process.pid) == process.pid
    assert process.wait(30) == 0


KILLED = """
import sys
from planaria.runtime.artifact import EXPORTED_FUNCTIONS
from planaria.runtime.cache import CompileCache
cache, key = CompileCache(), sys.argv[1]
cache.prepare()
with cache.lock(key), cache.create(key) as out:
    out.write(b"half a module")
    print("writing", flush=True)
    sys.stdin.read()
"""


@posix
def test_killed_compile_is_taken_over(cache, recipe):
    """When a process is killed while it writes, the next one is not blocked and cleans up after it."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, recipe.key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout.readline() == b"writing\n"
    waiting = spawn(recipe, cache)
    with cache.lock(recipe.key, blocking=False) as held:
        assert not held
    process.send_signal(signal.SIGKILL)
    process.communicate()
    _, errors = waiting.communicate()
    assert (waiting.returncode, errors) == (0, b"")
    assert cache.partial_paths() == []
    assert answer(load_recipe(recipe, cache, must_not_compile)) == 42


def test_progress_is_reported_while_waiting(cache, recipe):
    """A process that waits for another one's compile sees how many seconds have passed."""
    cache.prepare()
    reported = []
    with cache.lock(recipe.key):
        enough = threading.Event()
        thread = threading.Thread(
            target=ensure, args=(recipe, cache, lambda seconds: (reported.append(seconds), enough.set()))
        )
        thread.start()
        assert enough.wait(30)
    thread.join()
    assert reported == sorted(reported)
    assert cache.find(recipe.key) is not None


@pytest.mark.skipif(not boot_id(), reason="the system does not identify its boots")
def test_what_was_not_on_the_disk_is_hashed_after_a_restart(cache):
    """An entry that was not waited for is used as it is until the system restarts, and then if it is whole."""
    cache.prepare()
    with cache.lock("a"), cache.create("a", is_at_hand=True) as out:
        out.write(b"contents")
    path, record = cache.find("a"), cache.record("a")
    assert (path, record.boot) == (cache.module_path("a"), boot_id())
    written = json.loads(cache.record_path("a").read_text())

    def restart():
        """As after a restart: same stamp, another boot."""
        stamp = [
            getattr(path.stat(), name)
            for name in ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
        ]
        cache.record_path("a").write_text(json.dumps(written | {"boot": "another", "stamp": stamp}))

    restart()
    assert cache.find("a") == path
    assert cache.record("a").boot == ""
    path.write_bytes(bytes(8))  # what a crash leaves: the size, and no contents
    restart()
    assert cache.find("a") is None


def test_current_directory_is_not_on_the_compilers_path(cache, recipe, tmp_path, monkeypatch):
    """A file in the current directory cannot pose as a module of the compiling process."""
    (tmp_path / "wasmtime.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    ensure(recipe, cache)
    assert cache.find(recipe.key) is not None


# -- tiers and diagnosis ---------------------------------------------------------------------------


def test_tiers_have_different_keys():
    """Core and full are different entries, and the key of each is stable."""
    keys = {tier: compiler.tier_recipe(tier).key for tier in tiers.Tier}
    assert len(set(keys.values())) == 2
    assert keys == {tier: compiler.tier_recipe(tier).key for tier in tiers.Tier}


def test_core_tier_loads_once():
    """The core tier loads, compiled first where missing, with the added exports; always the same object."""
    module = tiers.load(tiers.Tier.CORE)
    names = {export.name for export in module.exports}
    assert {"memory", "turn", "host_alloc", "__stack_pointer", *EXPORTED_FUNCTIONS} <= names
    assert tiers.load(tiers.Tier.CORE) is module
    assert tiers.is_compiled(tiers.Tier.CORE)


def test_background_compile_can_be_switched_off(cache):
    """With PLANARIA_BACKGROUND_COMPILE=0 nothing is started."""
    assert tiers.start_background_compile() is False
    assert not cache.directory.exists()


def test_background_compile_ends_with_the_process_that_started_it(cache):
    """A compile in the background ends when its standard input does, which its starter's end closes."""
    cache.prepare()
    with cache.lock(compiler.tier_recipe(tiers.Tier.CORE).key):  # for which it waits before it compiles
        process = spawn(compiler.tier_recipe(tiers.Tier.FULL), cache, background=True)
        process.stdin.close()
        assert process.wait(60) == 130


def test_importing_the_runtime_does_not_load_the_engine():
    """Importing the tiers loads no wasmtime, which takes long."""
    code = "import sys, planaria.runtime.tiers; sys.exit('wasmtime' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def subjects(level):
    return {finding.subject for finding in doctor.diagnose(thorough=False) if finding.level is level}


def test_diagnosis_of_an_empty_cache_has_no_problems(cache):
    """Before anything was compiled the diagnosis notes what is missing and changes nothing."""
    assert subjects(doctor.Level.PROBLEM) == set()
    assert {"cache", "core tier", "full tier"} <= subjects(doctor.Level.NOTE)
    assert not cache.directory.exists()


def test_diagnosis_of_a_cache_out_of_reach(tmp_path, monkeypatch):
    """A cache that cannot be looked at is a problem among the findings, with what to do."""
    place = tmp_path / ("x" * 300)  # a name that no file can have; permissions do not hold the superuser
    monkeypatch.setenv("PLANARIA_CACHE", str(place))
    findings = [one for one in doctor.diagnose(thorough=False) if one.subject == "cache"]
    assert [one.level for one in findings] == [doctor.Level.PROBLEM]
    assert str(place) in findings[0].message
    assert "set PLANARIA_CACHE" in findings[0].message


def test_diagnosis_keeps_to_what_is_used(cache, recipe):
    """A runtime that counts instructions belongs to this version."""
    key = compiler.tier_recipe(tiers.Tier.CORE, metered=True).key
    cache.directory.mkdir(mode=0o700, parents=True)
    cache.module_path(key).write_bytes(b"")
    assert "old versions" not in subjects(doctor.Level.NOTE)


def test_diagnosis_names_damage_and_leftovers(cache, recipe, compiled):
    """Damage and failed background compiles are problems; other versions and partial files are noted."""
    key = compiler.tier_recipe(tiers.Tier.CORE).key
    compiled.rename(cache.module_path(key))
    cache.module_path("core-other").write_bytes(b"x")
    (cache.directory / f"{key}.1.partial").write_bytes(b"x")
    cache.log_path(compiler.tier_recipe(tiers.Tier.FULL).key).write_text("no space is left\n")
    assert subjects(doctor.Level.PROBLEM) == {"core tier", "background compile"}
    assert {"leftover", "old versions"} <= subjects(doctor.Level.NOTE)


@posix
def test_diagnosis_names_a_cache_that_others_can_write(cache):
    """An unsafe cache directory is a problem that says what to do."""
    cache.prepare()
    cache.directory.chmod(0o777)
    assert "cache" in subjects(doctor.Level.PROBLEM)


def test_record_says_how_it_was_made(cache, recipe, compiled):
    """The record holds the module's digest, and the time and memory that its compile took."""
    record = cache.record(recipe.key)
    assert record.sha256 == hash_file(compiled)
    assert record.seconds > 0
    assert os.name != "posix" or record.peak_memory > 1 << 20
