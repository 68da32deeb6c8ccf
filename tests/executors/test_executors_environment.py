"""Virtual environments of kernels: made, shared, changed without harm to others, found again offline."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from wheels import make_wheel

from planaria import (
    ExecutionError,
    InProcessConfig,
    InProcessExecutor,
    RuntimeSetupError,
    Session,
    SubprocessConfig,
    SubprocessExecutor,
)
from planaria.executors import installer, virtualenv
from planaria.executors.interpreters import find_interpreter, find_uv
from planaria.executors.virtualenv import guest_directory

pytestmark = pytest.mark.slow


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels that is all that the installers know, and a cache of environments of its own."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "sample_one", "1.0")
    make_wheel(wheels, "sample_one", "2.0")
    make_wheel(wheels, "sample_two", "1.0", "sample_one")
    for tool in ("UV", "PIP"):
        monkeypatch.setenv(f"{tool}_NO_INDEX", "1")
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path / "cache"))
    return wheels


@pytest.fixture(params=["uv", "pip"])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the installers there is."""
    if request.param == "pip":
        monkeypatch.setattr(installer, "find_uv", lambda: None)
    elif find_uv() is None:
        pytest.skip("NOT TESTED: uv is not installed")
    return str(request.param)


def new(**settings: object) -> Session:
    return Session(executor=SubprocessExecutor(SubprocessConfig(**settings)))  # type: ignore[arg-type]


def executor_of(session: Session) -> SubprocessExecutor:
    executor = session._engine.executor
    assert isinstance(executor, SubprocessExecutor)
    return executor


def error_of(session: Session, code: str) -> str:
    error = session.run(code).error
    assert isinstance(error, ExecutionError)
    return error.type


@pytest.mark.usefixtures("tool")
def test_requirements_are_there_and_their_programs_too(index: Path) -> None:
    """`deps` can be imported, with what they need, and their programs are on PATH."""
    with new(deps=["sample-two", "sample-one==1.0"]) as session:
        assert session.execute("import sample_one, sample_two\nsample_one.version").value == "1.0"
        program = "import subprocess\nsubprocess.run(['sample_two-program'])\nNone"
        assert session.execute(program).stdout == "sample_two 1.0\n"


def test_a_kept_environment_needs_no_installer(index: Path) -> None:
    """Sessions with the same requirements share one environment, which serves without any network or tool."""
    with new(deps=["sample-one==1.0"]) as session:
        first = session.execute("import sample_one\nsample_one.__file__").value
    for wheel in index.iterdir():
        wheel.unlink()
    with new(deps=["sample-one==1.0"]) as session:
        assert session.execute("import sample_one\nsample_one.__file__").value == first
    with pytest.raises(RuntimeSetupError, match=r"sample-one==2\.0"):
        new(deps=["sample-one==2.0"])


@pytest.mark.usefixtures("tool")
def test_what_a_session_installs_is_its_own(index: Path) -> None:
    """A package is importable as soon as it is installed, in the running kernel and in no other session."""
    with new(deps=["sample-one==1.0"]) as session, new(deps=["sample-one==1.0"]) as other:
        assert error_of(session, "import sample_two") == "ModuleNotFoundError"
        outcome = executor_of(session).install(["sample-two", "sample_one>=1", "sample-three"])
        assert outcome.installed == ["sample-two"]
        assert outcome.already_present == ["sample_one>=1"]
        assert outcome.failed.keys() == {"sample-three"}
        assert "sample-three" in outcome.failed["sample-three"].replace("_", "-")
        assert session.execute("import sample_two\nsample_two.version").value == "1.0"
        session.reset()
        assert session.execute("import sample_two, subprocess, sys\nsample_two.version").value == "1.0"
        child = "subprocess.run([sys.executable, '-c', 'import sample_two'], capture_output=True).returncode"
        assert session.execute(child).value == 0
        assert error_of(other, "import sample_two") == "ModuleNotFoundError"
    with new(deps=["sample-one==1.0"]) as session:
        assert error_of(session, "import sample_two") == "ModuleNotFoundError"


def test_another_version_hides_the_shared_one(index: Path) -> None:
    """A session may install another version of what it shares; the others keep theirs."""
    with new(deps=["sample-one==1.0"]) as session, new(deps=["sample-one==1.0"]) as other:
        assert executor_of(session).install(["sample-one==2.0"]).installed == ["sample-one==2.0"]
        assert session.execute("import sample_one\nsample_one.version").value == "2.0"
        assert other.execute("import sample_one\nsample_one.version").value == "1.0"


@pytest.mark.usefixtures("tool")
def test_removing_what_is_shared_changes_a_copy(index: Path) -> None:
    """What a session uninstalls is gone for it at once and there for the others; its other packages stay."""
    deps = ["sample-one==1.0", "sample-two"]
    with new(deps=deps) as session, new(deps=deps) as other:
        outcome = executor_of(session).uninstall(["Sample_Two", "nothing"])
        assert outcome.removed == ["Sample_Two"]
        assert outcome.not_found == ["nothing"]
        assert error_of(session, "import sample_two") == "ModuleNotFoundError"
        assert session.execute("import sample_one\nsample_one.version").value == "1.0"
        session.reset()
        assert error_of(session, "import sample_two") == "ModuleNotFoundError"
        assert executor_of(session).install(["sample-two"]).installed == ["sample-two"]
        assert session.execute("import sample_two\nsample_two.version").value == "1.0"
        assert other.execute("import sample_two\nsample_two.version").value == "1.0"


def test_an_environment_at_a_place_of_the_users_keeps_what_is_installed(index: Path, tmp_path: Path) -> None:
    """With `venv_path` the environment is made once, changed in place, and used by other programs as any."""
    place = tmp_path / "environment"
    with new(venv_path=place, deps=["sample-one"]) as session:
        executor_of(session).install(["sample-two"])
    with new(venv_path=place) as session:
        assert session.execute("import sample_one, sample_two\nsample_one.version").value == "2.0"
        executor_of(session).uninstall(["sample-one"])
    run = subprocess.run([place / "bin" / "python", "-c", "import sample_two"], check=False)
    assert run.returncode == 0
    with new(venv_path=place) as session:
        assert error_of(session, "import sample_one") == "ModuleNotFoundError"


def test_an_environment_that_is_not_kept_goes_with_its_session(index: Path) -> None:
    """With `cache_venv=False` nothing of an environment is left."""
    with new(cache_venv=False, deps=["sample-one"]) as session:
        place = Path(session.execute("import sample_one, sys\nsys.prefix").value)
        assert place.is_dir()
    assert not place.exists()
    assert not list((index.parent / "cache").glob("environment-*"))


def test_a_directory_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    """`venv_path` of a directory with other things in it is a RuntimeSetupError, and leaves it as it is."""
    (tmp_path / "something").write_text("mine", "utf-8")
    with pytest.raises(RuntimeSetupError, match="not a virtual environment"):
        new(venv_path=tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["something"]


def test_an_environment_that_was_not_finished_is_made_anew(index: Path) -> None:
    """What a killed installation has left behind is not used."""
    with new(deps=["sample-one"]):
        pass
    [place] = (index.parent / "cache").glob("environment-*/")
    (place / virtualenv._READY).unlink()
    shutil.rmtree(next(place.glob("lib/*/site-packages")))
    with new(deps=["sample-one"]) as session:
        assert session.execute("import sample_one\nsample_one.version").value == "2.0"


def test_sessions_at_once_make_one_environment(index: Path) -> None:
    """Two sessions that need the same environment at the same time wait for one another."""
    found: list[str] = []

    def work() -> None:
        with new(deps=["sample-one"]) as session:
            found.append(session.execute("import sample_one\nsample_one.__file__").value)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1


def test_the_part_for_kernels_is_all_that_is_there_of_planaria(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory for kernels has the packages of kernel and shell, and is made once, also by many at once."""
    monkeypatch.setenv("PLANARIA_CACHE", str(tmp_path / "cache"))
    threads = [threading.Thread(target=guest_directory) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    place = guest_directory()
    assert {one.name for one in place.iterdir()} == {"planaria_kernel", "planaria_shell"}
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [place.name]


# -- interpreters ----------------------------------------------------------------------------------------


def test_the_interpreter_is_this_one_unless_asked_for() -> None:
    """Without a version the kernel has the Python of the host, outside of any environment."""
    found = find_interpreter()
    assert found.version == sys.version_info[:3]
    assert find_interpreter(found.short) == found


def test_another_version_is_found_and_runs(index: Path) -> None:
    """`python_version` gives a kernel of that version, with packages of its own."""
    for version in ("3.12", "3.13", "3.14", "3.11"):
        if version == find_interpreter().short:
            continue
        try:
            find_interpreter(version)
        except RuntimeSetupError:
            continue
        with new(python_version=version, deps=["sample-one"]) as session:
            found = session.execute("import sample_one, sys\nsample_one.version, sys.version_info[:2]").value
            assert found == ("2.0", tuple(map(int, version.split("."))))
        return
    pytest.skip("NOT TESTED: there is one version of Python on this machine only")


def test_a_missing_version_is_reported_with_those_found() -> None:
    """The error for a missing version names the versions that were found."""
    with pytest.raises(
        RuntimeSetupError, match=r"Python 3\.98 was not found on this computer; found: 3\.\d+"
    ):
        find_interpreter("3.98")


@pytest.mark.parametrize("version", ["3", "4.0", "python3", "3.12; rm", "", "3.10", "3.7"])
def test_what_is_no_version_or_too_old_is_refused(version: str) -> None:
    """A text that names no version that a kernel can have is a ValueError."""
    with pytest.raises(ValueError, match="python_version="):
        find_interpreter(version)


@pytest.mark.usefixtures("index", "tool")
def test_packages_of_an_in_process_session() -> None:
    """What an in-process session installs can be imported until it is closed, beside the host's packages."""
    path = list(sys.path)
    executor = InProcessExecutor(InProcessConfig(deps=("sample_one<2", "pytest")))
    try:
        with Session(executor=executor) as session:
            assert session.execute("import sample_one; sample_one.version").value == "1.0"
            outcome = executor.install(["sample_two", "pytest", "sample_three"])
            assert (outcome.installed, outcome.already_present) == (["sample_two"], ["pytest"])
            assert list(outcome.failed) == ["sample_three"]
            assert session.execute("import sample_two; sample_two.version").value == "1.0"
            gone = executor.uninstall(["sample_two", "sample_four"])
            assert (gone.removed, gone.not_found) == (["sample_two"], ["sample_four"])
        assert sys.path == path
    finally:
        for name in ("sample_one", "sample_two"):
            sys.modules.pop(name, None)


@pytest.mark.usefixtures("index", "tool")
def test_requirements_of_an_in_process_session_that_are_not_there() -> None:
    """A requirement that cannot be installed is an error of the session, with its name and the reason."""
    with pytest.raises(RuntimeSetupError, match="sample_three"):
        Session(executor=InProcessExecutor(InProcessConfig(deps=("sample_three",))))
