"""Kernels in child processes: their output, what of the host reaches them, their variables."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import new, process_of

from planaria import (
    AsyncSession,
    CapabilityError,
    ExecutionError,
    Limits,
    RuntimeSetupError,
    Session,
    SessionError,
    SnapshotCorrupt,
    SnapshotError,
    SnapshotMismatch,
    SubprocessConfig,
    SubprocessExecutor,
    TimeoutError,
    Variables,
)

pytestmark = pytest.mark.slow


# -- output ----------------------------------------------------------------------------------------------


def test_output_of_python_descriptors_and_processes_keeps_its_order(shared: Session) -> None:
    """What print, os.write, child processes, forks and C code write comes in the order of writing."""
    result = shared.execute(
        """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None)
print("1 print")
os.write(1, b"2 os.write\\n")
print("3 print")
subprocess.run(["echo", "4 process"])
print("5 print")
os.system("echo 6 system")
print("7 print", end="")
if not (child := os.fork()):
    print(" and 8 fork")
    os._exit(0) if sys.stdout.flush() else os._exit(0)
os.waitpid(child, 0)
print("9 print", flush=True)
libc.printf(b"10 C\\n")
"""
    )
    assert result.stdout.splitlines() == [
        "1 print",
        "2 os.write",
        "3 print",
        "4 process",
        "5 print",
        "6 system",
        "7 print and 8 fork",
        "9 print",
        "10 C",
    ]


def test_the_two_streams_stay_apart(shared: Session) -> None:
    """Standard output and standard error of processes arrive as what they are."""
    result = shared.execute(
        "import subprocess, sys\nsubprocess.run('echo out; echo err >&2', shell=True)\n"
        "print('more', file=sys.stderr)"
    )
    assert (result.stdout, result.stderr) == ("out\n", "err\nmore\n")


def test_a_flood_is_cut_off_and_the_session_goes_on() -> None:
    """Output beyond the limit is dropped, from Python and from processes, and said to be."""
    with new(limits=Limits(output=100_000)) as session:
        result = session.execute("import subprocess\nfor _ in range(3000): print('x' * 1000)\n'end'")
        assert result.value == "end"
        assert result.stdout_truncated
        assert len(result.stdout) <= 100_000 + 100  # and the line that says what is left out
        result = session.execute("subprocess.run('yes | head -c 3000000', shell=True)\n'end'")
        assert result.value == "end"
        assert result.stdout_truncated


def test_a_flood_without_end_ends_with_the_time() -> None:
    """A process that writes forever is stopped by the timeout, and the session keeps its state."""
    with new(limits=Limits(output=1000, timeout=1)) as session:
        session.execute("x = 5\nimport subprocess")
        for code in ("while True: print('flood' * 100)", "subprocess.run('yes')"):
            assert isinstance(session.run(code).error, TimeoutError)
            assert session.execute("x").value == 5


# -- what of the host reaches the code -------------------------------------------------------------------


def test_nothing_of_the_environment_is_passed_on_but_what_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the host are not there, those that were given are."""
    monkeypatch.setenv("PLANARIA_TEST_SECRET", "hidden")
    monkeypatch.setenv("LANG", "C.UTF-8")
    with new(SubprocessConfig(env={"GIVEN": "a"}), env={"ALSO": "b"}) as session:
        found = session.execute("import os, subprocess\ndict(os.environ)").value
        printed = session.execute("_ = subprocess.run(['env'])").stdout
    assert "PLANARIA_TEST_SECRET" not in printed
    assert "hidden" not in str(found)
    assert (found["GIVEN"], found["ALSO"], found["LANG"]) == ("a", "b", "C.UTF-8")
    assert found.keys() <= {*SubprocessConfig().inherit, "GIVEN", "ALSO", "VIRTUAL_ENV", "MPLBACKEND"}


def test_the_process_has_none_of_the_hosts_descriptors() -> None:
    """Files that are open on the host, inheritable ones too, are not open in the process."""
    with open(__file__, "rb") as file:
        os.set_inheritable(file.fileno(), True)
        with new() as session:
            found = session.execute(
                "import os\n[os.readlink(f'/proc/self/fd/{one}') for one in os.listdir('/proc/self/fd') "
                "if os.path.exists(f'/proc/self/fd/{one}')]"
            ).value
            inherited = session.execute(
                "import subprocess\nsubprocess.run('ls -l /proc/self/fd', shell=True, capture_output=True, "
                "close_fds=False, text=True).stdout"
            ).value
    assert not any("test_executors" in name for name in found)
    assert "socket" not in inherited


def test_the_packages_of_the_host_are_not_importable(shared: Session) -> None:
    """The process sees the standard library and its own environment, not the host's packages, nor the host's
    part of planaria."""
    for name in ("pytest", "wasmtime", "planaria.session"):
        error = shared.run(f"import {name}").error
        assert isinstance(error, ExecutionError)
        assert error.type == "ModuleNotFoundError"


def test_modules_in_the_working_directory_can_be_imported(tmp_path: Path) -> None:
    """As in every interactive Python, cells import from where they are."""
    (tmp_path / "neighbour.py").write_text("value = 7", "utf-8")
    with new(SubprocessConfig(working_directory=tmp_path)) as session:
        assert session.execute("import neighbour, os\nneighbour.value, os.getcwd()").value == (
            7,
            str(tmp_path),
        )


# -- the life of a session -------------------------------------------------------------------------------


def test_threads_of_the_host_take_turns() -> None:
    """Two runs at once are made one after the other."""
    with new() as session:
        session.execute("import time\nlog = []")
        code = "log.append({0}); time.sleep(0.05); log.append({0})"
        threads = [threading.Thread(target=session.execute, args=(code.format(one),)) for one in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log = session.execute("log").value
        assert log[::2] == log[1::2]
        assert sorted(log[::2]) == [0, 1, 2, 3]


def test_a_reset_restarts_in_another_process() -> None:
    """After `reset` no variable is left, and the process is another one."""
    with new() as session:
        session.execute("x = 5")
        before = process_of(session)
        session.reset()
        assert process_of(session) != before
        assert isinstance(session.run("x").error, ExecutionError)


def test_an_executor_serves_one_session() -> None:
    """A second session with the same executor is a SessionError."""
    executor = SubprocessExecutor()
    with Session(executor=executor), pytest.raises(SessionError, match="has a session already"):
        Session(executor=executor)


def test_threads_of_the_code_may_print_and_call_between_executions() -> None:
    """What threads of the code print and call while nothing is executed comes with the next execution."""
    calls: list[int] = []

    def note(number: int) -> int:
        calls.append(number)
        return number + 1

    with new(callbacks=[note]) as session:
        session.execute(
            "import threading, time\n"
            "def work():\n  time.sleep(0.2)\n  print('from a thread', note.call(1))\n"
            "thread = threading.Thread(target=work); thread.start()"
        )
        time.sleep(0.5)
        assert session.execute("thread.join()").stdout == "from a thread 2\n"
        assert calls == [1]


def test_code_can_use_sockets_and_processes_under_asyncio(shared: Session) -> None:
    """Streams, subprocesses and threads work with await, beside host calls."""
    result = shared.execute(
        """
import asyncio
async def serve(reader, writer):
    writer.write(b"hello " + await reader.readline())
    writer.close()
server = await asyncio.start_server(serve, "127.0.0.1", 0)
reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
writer.write(b"world\\n")
answer = await reader.read()
writer.close()
server.close()
process = await asyncio.create_subprocess_exec("echo", "process", stdout=asyncio.subprocess.PIPE)
answer, (await process.communicate())[0], await asyncio.to_thread(lambda: "thread")
"""
    )
    assert result.value == (b"hello world\n", b"process\n", "thread")


def test_forked_children_end_at_the_end_of_the_cell(shared: Session) -> None:
    """A child that the code forks ends with the cell, with a status, and never speaks for the kernel."""
    result = shared.execute(
        "import os\nchild = os.fork()\nif not child:\n  print('child')\n  1 / 0\n"
        "os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])"
    )
    assert result.value == 1
    assert "child" in result.stdout
    assert "ZeroDivisionError" in result.stderr


def test_pools_of_processes_work(shared: Session) -> None:
    """multiprocessing with forks computes beside the kernel."""
    result = shared.execute(
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "  found = pool.map(abs, [-1, -2, 3])\nfound"
    )
    assert result.value == [1, 2, 3]


def test_a_program_that_is_no_kernel_is_reported_with_what_it_wrote(tmp_path: Path) -> None:
    """When the process does not become a kernel, the error has its last words."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho some trouble >&2\nexit 4\n", "utf-8")
    python.chmod(0o755)
    (tmp_path / "pyvenv.cfg").write_text("version = 3.12.1\n", "utf-8")
    with pytest.raises(RuntimeSetupError, match=r"status 4; it wrote:\nsome trouble"):
        new(SubprocessConfig(venv_path=tmp_path))


def test_a_session_that_cannot_be_brought_back_can_later(tmp_path: Path) -> None:
    """When no new process can be started after the end of one, that is reported, and later uses try again."""
    place = tmp_path / "environment"
    python = place / "bin" / "python"
    with new(SubprocessConfig(venv_path=place)) as session:
        session.execute("1 + 1")
        python.rename(place / "away")
        for code in ("import os; os._exit(1)", "1 + 1", "1 + 1"):
            with pytest.raises(RuntimeSetupError, match="cannot be started"):
                session.run(code)
        (place / "away").rename(python)
        assert session.execute("1 + 1").value == 2


def test_what_this_executor_lacks_is_named(shared: Session) -> None:
    """Forks, checkpoints, snapshots, files and pickles without `snapshots=True` are CapabilityErrors."""
    for deed in (
        lambda: shared.fork(),
        lambda: shared.checkpoint("a"),
        lambda: shared.snapshot_state(),
        lambda: shared.files,
        lambda: shared.pickle_variables(),
    ):
        with pytest.raises(CapabilityError, match="subprocess"):
            deed()


# -- variables -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pickling() -> Iterator[Session]:
    with new(SubprocessConfig(snapshots=True)) as session:
        yield session


def test_variables_survive_as_bytes_and_what_cannot_be_written_is_listed(pickling: Session) -> None:
    """Functions, classes and shared objects come back; what cannot be written is named with the reason."""
    pickling.execute(
        """
import threading
base = [1]
alias = base
counter = 0
class Point:
    def __init__(self, x): self.x = x
point = Point(3)
def count():
    global counter
    counter += point.x
    return counter
lock = threading.Lock()
"""
    )
    variables = pickling.pickle_variables()
    assert variables.dropped is not None
    assert variables.dropped.keys() == {"lock"}
    assert "lock" in variables.dropped["lock"]
    assert {"base", "alias", "count", "Point", "point"} <= set(variables.kept)
    pickling.reset()
    pickling.unpickle_variables(bytes(variables))
    assert pickling.execute("base.append(2)\nalias").value == [1, 2]
    assert pickling.execute("count(), count(), counter, isinstance(point, Point)").value == (3, 6, 6, True)


def test_variables_under_asyncio() -> None:
    """An AsyncSession keeps and takes variables as a Session does."""

    async def keep() -> int:
        config = SubprocessConfig(snapshots=True)
        async with AsyncSession(executor=SubprocessExecutor(config)) as session:
            await session.execute("x = 5")
            variables = await session.pickle_variables()
            await session.execute("x = 6")
            await session.unpickle_variables(variables)
            return (await session.execute("x")).value  # type: ignore[no-any-return]

    assert asyncio.run(keep()) == 5


def test_variables_fit_only_where_they_are_from(pickling: Session) -> None:
    """Variables of another kind of executor or Python, damaged ones and anything else are refused."""
    variables = pickling.pickle_variables()
    with pytest.raises(SnapshotMismatch, match="container"):
        pickling.unpickle_variables(Variables("container", variables.python, variables.pickle))
    with pytest.raises(SnapshotMismatch, match=r"3\.99"):
        pickling.unpickle_variables(Variables("subprocess", "3.99", variables.pickle))
    with pytest.raises(SnapshotCorrupt):
        pickling.unpickle_variables(b"something else")
    pickling.execute("x = 5")
    with pytest.raises(SnapshotError, match="cannot be restored"):
        pickling.unpickle_variables(Variables("subprocess", variables.python, b"damaged"))
    assert pickling.execute("x").value == 5


def test_a_pickle_is_never_opened_on_the_host(pickling: Session) -> None:
    """What a pickle does when it is opened happens in the kernel's process."""
    pickling.execute(
        "class Trap:\n  def __reduce__(self):\n    import os\n    return (os.getpid, ())\ntrap = Trap()"
    )
    variables = pickling.pickle_variables()
    pickling.unpickle_variables(bytes(variables))
    assert pickling.execute("trap").value == process_of(pickling)
    assert pickling.execute("trap").value != os.getpid()
