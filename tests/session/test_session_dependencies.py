"""Packages of sessions; the wheels are made here, so nothing is downloaded."""

from __future__ import annotations

import asyncio
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import planaria
from planaria import AsyncSession, FileStorage, Session
from planaria.files.layout import SITE

pytestmark = pytest.mark.slow

MakeWheel = Callable[..., None]


@pytest.fixture
def make_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeWheel:
    """A function that makes a wheel, the only ones that there are to be had."""
    house = tmp_path / "wheels"
    house.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(house))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(house))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "nothing").as_uri())
    (tmp_path / "nothing").mkdir()

    def make(
        name: str,
        files: dict[str, str | bytes] | None = None,
        *,
        version: str = "1.0",
        needs: tuple[str, ...] = (),
        tags: str = "py3-none-any",
    ) -> None:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
        stem = f"{name}-{version}"
        with zipfile.ZipFile(house / f"{stem}-{tags}.whl", "w") as wheel:
            for path, text in (files or {f"{name}.py": f"version = {version!r}\n"}).items():
                wheel.writestr(path, text)
            wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
            wheel.writestr(
                f"{stem}.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n"
            )
            wheel.writestr(f"{stem}.dist-info/RECORD", "")

    return make


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def make(constructor: str = "from_base", **arguments: Any) -> Session:
        made.append(getattr(Session, constructor)(tmp_path / "base", **arguments))
        return made[-1]

    yield make
    for session in made:
        session.close()
    for name in ("one", "two", "needed", "greeting"):
        sys.modules.pop(name, None)


def value(session: Session, code: str) -> Any:
    return session.execute(code, timeout=300).value


@pytest.mark.parametrize("constructor", ["from_base", "inprocess", "subprocess"])
def test_add_and_remove(make: Any, make_wheel: MakeWheel, constructor: str) -> None:
    """A dependency with all that it needs can be imported at once, is configured, and can be removed."""
    make_wheel("needed", {"needed/__init__.py": "value = 5\n"})
    make_wheel("greeting", {"greeting/__init__.py": "from needed import value\n"}, needs=("needed>=1",))
    session = make(constructor)
    assert session.run("import greeting").error.type == "ModuleNotFoundError"
    assert session.add_dep("Greeting >= 1") == {
        "installed": ["greeting>=1"],
        "already_present": [],
        "failed": {},
    }
    assert value(session, "import greeting; greeting.value") == 5
    assert value(session, "from importlib import metadata; metadata.version('greeting')") == "1.0"
    assert session.list_deps() == value(session, "deps.list()") == ["greeting>=1"]
    assert session.add_dep("greeting")["already_present"] == ["greeting"]
    assert session.remove_dep("greeting") == {
        "removed": ["greeting"],
        "not_found": [],
        "failed": {},
        "removed_from_config": True,
    }
    assert session.remove_dep("greeting")["not_found"] == ["greeting"]
    session.reset()
    session.run("import sys; sys.modules.pop('greeting', None)")  # in this process it is still imported
    assert session.run("import greeting").error.type == "ModuleNotFoundError"
    assert session.list_deps() == []


def test_pip_in_the_shell(make: Any, make_wheel: MakeWheel) -> None:
    """`pip` and `python -m pip` install and remove what `deps` does, and fail where it fails."""
    for name in ("one", "two"):
        make_wheel(name)
    session = make(limits=planaria.Limits(timeout=300))
    session.files.write_text("requirements.txt", "# for later\none  # the first\n-r sub/more.txt\n\n")
    session.bash("mkdir sub; echo 'toolz \\' > sub/more.txt; echo '>= 1' >> sub/more.txt")
    script = (
        "pip install -r requirements.txt && python3 -m pip install -qU two && pip uninstall -y one absent"
    )
    result = session.bash(script)
    assert result.stdout == (
        "Requirement already satisfied: toolz>=1 (1.2.0)\n"
        "Successfully installed one-1.0\n"
        "Successfully uninstalled one-1.0\n"
    )
    assert result.stderr == "WARNING: Skipping absent as it is not installed.\n"
    assert result.exit_code == 0
    assert value(session, "import two; two.version, deps.list()") == ("1.0", ["toolz>=1", "two"])
    make_wheel("two", version="2.0")
    result = session.bash(
        "pip install -U two; pip install 'two>1'; pip install 'one; python_version < \"3\"'"
    )
    assert result.stdout == (
        "Requirement already satisfied: two (1.0)\n"
        "A version that fits is kept: to change it, ask for one, as two==VERSION\n"
        "Successfully installed two-2.0\n"
        'Ignoring one; python_version < "3": its markers do not match this environment\n'
    )
    result = session.bash("pip install absent one; echo $?")
    assert result.stderr.startswith("ERROR: absent: no pure-Python wheels")
    assert result.stdout == "Successfully installed one-1.0\n1\n"
    assert session.bash("pip uninstall -y toolz").stderr == (
        "ERROR: toolz: the runtime brings it: it cannot be removed\n"
    )


@pytest.mark.parametrize("constructor", ["from_base", "inprocess", "subprocess"])
def test_from_code(make: Any, make_wheel: MakeWheel, constructor: str) -> None:
    """Code adds and removes dependencies, plainly and awaited."""
    make_wheel("one")
    make_wheel("two")
    session = make(constructor)
    assert value(session, "deps.add('one')['installed'], (await deps.add('two'))['installed']") == (
        ["one"],
        ["two"],
    )
    assert value(session, "import one, two; one.version + two.version") == "1.01.0"
    assert value(session, "deps.remove('one')['removed'], deps.list()") == (["one"], ["two"])
    assert value(session, "deps.sync()")["already_present"] == ["two"]


def test_kept(make: Any, make_wheel: MakeWheel) -> None:
    """What was installed is in snapshots and copies, and stays after a reset; other sessions do not have it."""
    make_wheel("one")
    session = make()
    session.add_dep("one")
    snapshot = bytes(session.snapshot_state())
    (copy,) = session.fork()
    session.reset()
    with Session.from_snapshot(snapshot, missing="ignore") as other:
        for each in (session, copy, other):
            assert value(each, "import one; one.version") == "1.0"
    copy.close()
    assert make().run("import one").error.type == "ModuleNotFoundError"


def test_upgrade(make: Any, make_wheel: MakeWheel) -> None:
    """Another version takes the place of one that is there; what others need of it is not forgotten."""
    make_wheel("one", {"one/__init__.py": "version = 1", "one/gone.py": ""}, version="1.0")
    session = make()
    session.add_dep("one")
    make_wheel("one", {"one/__init__.py": "version = 2"}, version="2.0")
    assert session.add_dep("one")["already_present"] == ["one"]
    assert session.add_dep("one>=2")["installed"] == ["one>=2"]
    session.reset()
    assert value(session, "import one; one.version") == 2
    assert session.run("import one.gone").error.type == "ModuleNotFoundError"
    assert session.list_deps() == ["one>=2"]
    make_wheel("old", needs=("one<2",))
    assert list(session.add_dep("old")["failed"]) == ["old"]


def test_bundled(make: Any, make_wheel: MakeWheel) -> None:
    """What the runtime brings is present already, and cannot be removed."""
    session = make()
    assert session.add_dep("numpy") == {"installed": [], "already_present": ["numpy"], "failed": {}}
    assert "the runtime brings it" in session.remove_dep("numpy")["failed"]["numpy"]
    assert "versions of what the runtime brings are fixed" in session.add_dep("numpy<1")["failed"]["numpy<1"]


def test_refusals(make: Any, make_wheel: MakeWheel) -> None:
    """Native and unknown packages have failed with the reason and are not configured; a bad spec is an error."""
    make_wheel("speedy", {"speedy.so": b"\x7fELF"}, tags="cp313-cp313-manylinux_2_17_x86_64")
    session = make()
    assert "speedy needs native code" in session.add_dep("speedy")["failed"]["speedy"]
    assert "unheard_of" not in session.list_deps()
    assert list(session.add_dep("unheard-of")["failed"]) == ["unheard-of"]
    for spec in ("--index-url x", "one two", "", "one @ file:///etc"):
        if spec.startswith("one @"):
            assert session.add_dep(spec)["failed"]
            continue
        with pytest.raises(planaria.DependencyError):
            session.add_dep(spec)
        assert session.run(f"deps.add({spec!r})").error.type == "DependencyError"
    assert session.list_deps() == []


def test_damaged_note(make: Any, make_wheel: MakeWheel) -> None:
    """A note of a package's files that code has changed cannot lead anywhere else: removing fails."""
    make_wheel("one")
    session = make()
    session.add_dep("one")
    session.run("open('precious', 'w').close()")
    site = "/home/user/.local/lib/python3.15/site-packages"
    from planaria_kernel.protocol import encode

    for note in (encode(["../../../../precious"]), encode(["/home/user/precious"]), encode([1]), b"nonsense"):
        session.files.write_bytes(f"{site}/one-1.0.dist-info/planaria-files", note)
        assert "record of its files" in session.remove_dep("one")["failed"]["one"]
    assert session.files.exists("precious")


def test_lock_down(make: Any, make_wheel: MakeWheel) -> None:
    """Without allow_runtime_deps code cannot change dependencies; it can install what is configured."""
    make_wheel("one")
    make_wheel("two")
    session = make(allow_runtime_deps=False, extra_deps=["two"])
    FileStorage(session.storage.path).get_dependency_list().add("one")
    for code in ("deps.add('two')", "await deps.add('two')", "deps.remove('one')"):
        error = session.run(code).error
        assert (error.type, "allow_runtime_deps=False" in error.message) == ("DependencyError", True)
    assert value(session, "deps.sync()")["installed"] == ["one", "two"]
    assert value(session, "import one, two; one.version") == "1.0"


def test_addresses(make: Any, make_wheel: MakeWheel, tmp_path: Path) -> None:
    """Code in the sandbox cannot have the host read an address or a file as a package; the host can."""
    make_wheel("one")
    session = make()
    address = f"one @ {(tmp_path / 'wheels' / 'one-1.0-py3-none-any.whl').as_uri()}"
    error = session.run(f"deps.add({address!r})").error
    assert (error.type, "by name" in error.message) == ("DependencyError", True)
    assert session.list_deps() == []
    assert session.add_dep(address)["installed"] == [address]
    assert value(session, "import one; one.version") == "1.0"


def test_made_up_packages(make: Any, make_wheel: MakeWheel) -> None:
    """A directory that code names like a package's, with more than a name in it, counts as none."""
    make_wheel("one")
    session = make()
    session.execute(f"import os; os.makedirs({SITE!r} + '/x==1\\n_r precious\\n-1.0.dist-info')")
    assert session.add_dep("one")["installed"] == ["one"]


@pytest.mark.parametrize("constructor", ["from_base", "inprocess", "subprocess"])
def test_sync_on_start(make: Any, make_wheel: MakeWheel, tmp_path: Path, constructor: str) -> None:
    """With sync_deps_on_start everything configured is there before the first execution."""
    make_wheel("one")
    make_wheel("two")
    FileStorage(tmp_path / "base").get_dependency_list().add("one")
    session = make(constructor, sync_deps_on_start=True, extra_deps=["two"])
    assert value(session, "import one, two; one.version") == "1.0"
    assert session.list_deps() == ["one", "two"]
    assert FileStorage(tmp_path / "base").get_dependency_list().list() == ["one"]

    async def main() -> None:
        arguments: Any = {"sync_deps_on_start": True, "extra_deps": ["two"]}
        async with getattr(AsyncSession, constructor)(tmp_path / "base", **arguments) as other:
            assert (await other.execute("import two; two.version")).value == "1.0"

    asyncio.run(main())


def test_sync_failures(make: Any, make_wheel: MakeWheel, tmp_path: Path) -> None:
    """What cannot be installed does not keep the others from it; at the start it is an error, with all reasons."""
    make_wheel("one")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "requirements.txt").write_text("one\nunheard-of\n-r other.txt\n")
    outcome = make().sync_deps()
    assert outcome["installed"] == ["one"]
    assert [*outcome["failed"]] == ["unheard-of", "-r other.txt"]
    session = make(sync_deps_on_start=True)
    with pytest.raises(
        planaria.SessionError, match=r"(?s)could not be installed: unheard-of: .*; -r other.txt: "
    ):
        session.start()


def test_where_nothing_can_be_installed(make: Any) -> None:
    """With an executor without deps_install a change is a CapabilityError, on the host and in the code."""

    class Fixed(planaria.InProcessExecutor):
        capabilities = planaria.InProcessExecutor.capabilities - {"deps_install"}

    session = make(executor=Fixed())
    with pytest.raises(planaria.CapabilityError, match="deps_install"):
        session.add_dep("one")
    assert "deps_install" in session.run("deps.add('one')").error.message
    assert value(session, "deps.list()") == []
