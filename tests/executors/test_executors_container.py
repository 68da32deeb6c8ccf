"""Kernels in containers of a real engine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from container_engine import IMAGE

from planaria import (
    CapabilityError,
    ContainerConfig,
    ContainerExecutor,
    CrashError,
    ExecutionError,
    Exited,
    LimitError,
    Limits,
    RuntimeSetupError,
    Session,
    TimeoutError,
)
from planaria.executors.container import _Unpacker

if TYPE_CHECKING:
    import docker


#: The engine is started once, so all of them run in one process of a parallel run.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("engine")]


def new(engine: str, limits: Limits | None = None, **settings: Any) -> Session:
    config = ContainerConfig(image=IMAGE, engine=engine, **settings)
    return Session(executor=ContainerExecutor(config), limits=limits)


@pytest.fixture(scope="module")
def client(engine: str) -> Iterator[docker.APIClient]:
    """The engine, seen past planaria."""
    import docker

    client = docker.APIClient(base_url=engine, version="auto")
    yield client
    client.close()


@pytest.fixture(scope="module")
def shared(engine: str) -> Iterator[Session]:
    """A session for tests that leave nothing behind."""
    with new(engine) as session:
        yield session


def containers(client: docker.APIClient) -> set[str]:
    return {one["Id"] for one in client.containers(all=True)}


def wait_until_gone(client: docker.APIClient, names: set[str]) -> None:
    end = time.monotonic() + 30
    while names & containers(client):
        assert time.monotonic() < end, "the container is there after 30 s"
        time.sleep(0.1)


def error_type(session: Session, code: str) -> str:
    error = session.run(code).error
    assert isinstance(error, ExecutionError), error
    return error.type


# -- isolation -------------------------------------------------------------------------------------------


def test_nothing_of_the_host_is_there(shared: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code has neither the host's files, nor its processes, nor its environment, nor its user."""
    found = shared.execute(
        "import os\nos.path.exists("
        + repr(__file__)
        + "), os.getuid(), len([one for one in os.listdir('/proc') "
        "if one.isdigit()]) < 6, sorted(os.environ), os.getcwd()"
    ).value
    assert found[:3] == (False, 65534, True)
    of_image = {"PIP_NO_INDEX", "PIP_FIND_LINKS"}
    assert set(found[3]) <= {"HOME", "HOSTNAME", "LANG", "MPLBACKEND", "PATH", *of_image}
    assert found[4] == "/work"


def test_files_can_be_written_in_memory_only(shared: Session) -> None:
    """The image's files are read only; /work and /tmp are there to write, up to their size."""
    assert error_type(shared, "open('/etc/new', 'w')") == "OSError"
    assert error_type(shared, "open('/opt/planaria/new', 'w')") in ("OSError", "PermissionError")
    code = "open('file', 'w').write('x')\nopen('/tmp/file', 'w').write('y')\nopen('file').read()"
    assert shared.execute(code).value == "x"
    assert (
        error_type(shared, "with open('large', 'wb') as file:\n  file.write(bytes(300 << 20))") == "OSError"
    )


def test_there_is_no_network(shared: Session) -> None:
    """Without `network=True` the code has the loopback device at most."""
    found = shared.execute("import socket\n[name for _, name in socket.if_nameindex()]").value
    assert found in ([], ["lo"])
    assert error_type(shared, "socket.create_connection(('192.0.2.1', 80), 2)") == "OSError"


def test_the_process_has_no_privileges(shared: Session) -> None:
    """It has no capabilities and can get none."""
    status = shared.execute("open('/proc/self/status').read()").value
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"


def test_what_the_engine_was_asked_for(engine: str, client: docker.APIClient) -> None:
    """The container has every restriction of the configuration."""
    before = containers(client)
    with new(engine, memory=200 << 20, cpus=0.5, pids_limit=50):
        [name] = containers(client) - before
        host = client.inspect_container(name)["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["Memory"], host["MemorySwap"]) == (200 << 20, 200 << 20)
    assert (host["NanoCpus"], host["PidsLimit"]) == (500_000_000, 50)
    assert host["AutoRemove"] is True
    assert not host["Privileged"]


def test_directories_of_the_host_are_there_when_they_are_given(engine: str, tmp_path: Path) -> None:
    """`mounts` are seen, and written only where that was said."""
    (tmp_path / "read").mkdir()
    (tmp_path / "read" / "file").write_text("given", "utf-8")
    (tmp_path / "write").mkdir(mode=0o777)
    (tmp_path / "write").chmod(0o777)
    mounts = [(tmp_path / "read", "/given", False), (tmp_path / "write", "/out", True)]
    with new(engine, mounts=mounts, env={"NAME": "value"}) as session:
        assert session.execute("open('/given/file').read()").value == "given"
        assert error_type(session, "open('/given/file', 'w')") == "OSError"
        session.execute("import os\nopen('/out/file', 'w').write(os.environ['NAME'])")
    assert (tmp_path / "write" / "file").read_text("utf-8") == "value"


# -- limits ----------------------------------------------------------------------------------------------


def test_memory_is_bounded(engine: str) -> None:
    """A process that takes more memory than the container has is killed, which is reported."""
    with new(engine, memory=150 << 20) as session:
        error = session.run("data = b'x' * (400 << 20)").error
        assert isinstance(error, CrashError)
        assert "memory" in str(error)
        assert session.execute("1 + 1").value == 2


def test_processes_are_bounded(engine: str) -> None:
    """More processes than `pids_limit` are refused."""
    with new(engine, pids_limit=20) as session:
        code = "import subprocess\nfound = [subprocess.Popen(['sleep', '60']) for _ in range(40)]"
        assert error_type(session, code) == "BlockingIOError"
        assert session.execute("1 + 1").value == 2


def test_processor_time_is_bounded(engine: str) -> None:
    """`Limits.cpu_time` interrupts the code, as the engine measures it."""
    with new(engine, Limits(cpu_time=1)) as session:
        error = session.run("x = 5\nwhile True: pass").error
        assert isinstance(error, LimitError)
        assert session.execute("x").value == 5


# -- ends ------------------------------------------------------------------------------------------------


def test_code_that_ignores_interrupts_is_killed_with_its_container(
    engine: str, client: docker.APIClient
) -> None:
    """After the grace period the container is removed and the session restarts in another one."""
    before = containers(client)
    with new(engine, Limits(grace=0.5)) as session:
        mine = containers(client) - before
        error = session.run("sum(range(10**13))", timeout=0.3).error
        assert isinstance(error, TimeoutError)
        assert error.state == "lost"
        assert session.execute("1 + 1").value == 2
        wait_until_gone(client, mine)


def test_the_end_of_the_process_is_reported(engine: str) -> None:
    """os._exit and crashes are errors with the status or the signal, and the last words."""
    with new(engine) as session:
        error = session.run("print('before', flush=True)\nimport os; os._exit(3)").error
        assert isinstance(error, (Exited, CrashError))
        assert error.stdout == "before\n"
        error = session.run("import ctypes\nctypes.string_at(0)").error
        assert isinstance(error, CrashError)
        assert "Segmentation fault" in str(error)
        assert session.execute("1 + 1").value == 2


def test_garbage_on_the_connection_ends_the_session_only(engine: str) -> None:
    """Code that writes into the connection gets a CrashError, and the next container is well."""
    code = """
import gc, os
from planaria_kernel.process.channel import Channel
os.write(next(one for one in gc.get_objects() if isinstance(one, Channel))._sink, b"garbage garbage")
"""
    with new(engine) as session:
        assert isinstance(session.run(code).error, CrashError)
        assert session.execute("1 + 1").value == 2


def test_a_container_goes_with_its_session(engine: str, client: docker.APIClient) -> None:
    """When a session is closed its container is removed."""
    before = containers(client)
    with new(engine):
        mine = containers(client) - before
        assert len(mine) == 1
    wait_until_gone(client, mine)


@pytest.mark.parametrize("code", ["1 + 1", "sum(range(10**13))"])
def test_a_container_goes_with_its_host(engine: str, client: docker.APIClient, code: str) -> None:
    """When the host is killed its containers are removed, also one whose code is busy."""
    program = f"""
import os
from planaria import ContainerConfig, ContainerExecutor, Session
session = Session(executor=ContainerExecutor(ContainerConfig(image={IMAGE!r}, engine={engine!r})))
print("ready", flush=True)
session.run({code!r})
print("done", flush=True)
import time; time.sleep(100)
"""
    before = containers(client)
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    mine = containers(client) - before
    assert len(mine) == 1
    host.kill()
    host.wait()
    host.stdout.close()
    wait_until_gone(client, mine)


def test_orphans_are_swept(engine: str, client: docker.APIClient) -> None:
    """A container of a process that is no more is removed by the next session on that machine, others stay."""
    from planaria.executors.container_engine import labels

    dead = subprocess.Popen(["true"])
    dead.wait()
    marks = labels()
    boot, mine, _born = marks["planaria.host"].split(" ")
    assert int(mine) == os.getpid()
    made = [
        client.create_container(IMAGE, ["sleep", "1000"], labels={**marks, "planaria.host": host})["Id"]
        for host in (f"{boot} {dead.pid} 1", marks["planaria.host"], f"another-boot {dead.pid} 1")
    ]
    with new(engine):
        pass
    assert made[0] not in containers(client)
    assert {made[1], made[2]} <= containers(client)
    for name in made[1:]:
        client.remove_container(name, force=True)


# -- packages --------------------------------------------------------------------------------------------


def test_requirements_are_part_of_the_image(engine: str) -> None:
    """`deps` are installed once, into an image that further sessions share, and cannot be removed from it."""
    with new(engine, deps=["sample-one==1.0"]) as session:
        assert session.execute("import sample_one\nsample_one.version").value == "1.0"
    with new(engine, deps=["sample-one==1.0"], network=True) as session:
        assert session._engine.executor.packages.install(["sample-one"]).already_present == ["sample-one"]
        assert session._engine.executor.packages.uninstall(["sample-one"]).failed.keys() == {"sample-one"}
    with new(engine) as session:
        assert error_type(session, "import sample_one") == "ModuleNotFoundError"


def test_requirements_that_cannot_be_had_are_reported(engine: str) -> None:
    """The error for an image that cannot be made has the installer's reason."""
    with pytest.raises(RuntimeSetupError, match="sample-nothing"):
        new(engine, deps=["sample-nothing"])


def test_packages_are_installed_into_the_container(engine: str) -> None:
    """With a network a session installs and removes packages, which go with its container."""
    with new(engine, network=True) as session:
        packages = session._engine.executor.packages
        assert error_type(session, "import sample_one") == "ModuleNotFoundError"
        assert packages.install(["sample-one==1.0"]).installed == ["sample-one==1.0"]
        assert session.execute("import sample_one\nsample_one.version").value == "1.0"
        outcome = packages.install(["sample-one", "sample-three"])
        assert outcome.already_present == ["sample-one"]
        assert outcome.failed.keys() == {"sample-three"}
        removed = packages.uninstall(["sample-one", "sample-three"])
        assert removed.removed == ["sample-one"]
        assert removed.not_found == ["sample-three"]
        code = "import subprocess, sys\ndel sys.modules['sample_one']\nimport sample_one"
        assert error_type(session, code) == "ModuleNotFoundError"


# -- being set up ----------------------------------------------------------------------------------------


def test_an_engine_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """Without an engine the error has the address and the reason."""
    address = f"unix://{tmp_path}/nothing.sock"
    with pytest.raises(RuntimeSetupError, match="no container engine was found: unix://"):
        new(address)


def test_an_image_that_is_not_there_is_reported(engine: str) -> None:
    """The error for an image that cannot be had names it."""
    config = ContainerConfig(image="localhost:1/planaria-nothing:1", engine=engine)
    with pytest.raises(RuntimeSetupError, match="planaria-nothing"):
        Session(executor=ContainerExecutor(config))


def test_an_image_is_made_once(engine: str, client: docker.APIClient, shared: Session) -> None:
    """Further sessions begin from the image that the first one has made."""
    before = {one["Id"] for one in client.images(all=True)}
    with new(engine):
        pass
    assert {one["Id"] for one in client.images(all=True)} == before


def test_capabilities_are_those_of_the_configuration() -> None:
    """A network brings installing and takes the isolation; each is said."""
    closed = ContainerExecutor(ContainerConfig())
    assert "network_isolation" in closed.capabilities
    assert "deps_install" not in closed.capabilities
    assert closed.packages is None
    with pytest.raises(CapabilityError, match="deps_install"):
        closed.require("deps_install")
    opened = ContainerExecutor(ContainerConfig(network=True, snapshots=True))
    assert {"deps_install", "snapshot_pickle"} <= opened.capabilities
    assert "network_isolation" not in opened.capabilities


@pytest.mark.parametrize("settings", [{"cpus": 0}, {"memory": -1}, {"pids_limit": 0}, {"start_timeout": 0}])
def test_an_absurd_limit_is_refused(settings: dict[str, Any]) -> None:
    """A bound that is not positive is a ValueError that names it."""
    with pytest.raises(ValueError, match=next(iter(settings))):
        ContainerConfig(**settings)


def test_the_streams_of_an_engine_are_taken_apart_however_they_are_cut() -> None:
    """Standard output becomes frames, standard error the last words, whatever pieces they arrive in."""
    pieces = [(1, b"abc"), (2, b"error"), (1, b""), (1, b"defgh"), (2, b"!")]
    data = b"".join(bytes([kind, 0, 0, 0]) + len(text).to_bytes(4, "big") + text for kind, text in pieces)
    for step in range(1, len(data) + 1):
        unpacker = _Unpacker()
        found = b"".join(unpacker(data[start : start + step]) for start in range(0, len(data), step))
        assert found == b"abcdefgh"
        assert bytes(unpacker.said) == b"error!"
