"""Kernels in child processes: how they end, and what the host is left with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from processes import is_alive, new, process_of, wait_until

from planaria import (
    CrashError,
    Exited,
    SubprocessConfig,
)

pytestmark = pytest.mark.slow


# -- ends ------------------------------------------------------------------------------------------------


def test_code_that_ends_its_process_is_reported_and_the_session_goes_on() -> None:
    """os._exit is Exited with its status, and the session restarts."""
    with new() as session:
        error = session.run("print('before', flush=True)\nimport os; os._exit(3)").error
        assert isinstance(error, Exited)
        assert error.exit_code == 3
        assert error.stdout == "before\n"
        assert session.execute("1 + 1").value == 2


def test_a_crash_is_reported_with_what_the_process_said_last() -> None:
    """A segmentation fault is a CrashError that names the signal, with the interpreter's last words."""
    with new() as session:
        error = session.run("import ctypes\nctypes.string_at(0)").error
        assert isinstance(error, CrashError)
        assert "SIGSEGV" in str(error)
        assert "Segmentation fault" in error.stderr
        assert error.state == "lost"
        assert session.execute("1 + 1").value == 2


def test_a_process_that_is_killed_in_the_middle_of_a_run_is_reported() -> None:
    """When the process is killed from outside, the execution ends with a CrashError."""
    with new() as session:
        process = process_of(session)
        threading.Timer(0.3, os.kill, (process, signal.SIGKILL)).start()
        error = session.run("while True: pass").error
        assert isinstance(error, CrashError)
        assert "SIGKILL" in str(error)
        assert session.execute("1 + 1").value == 2


def test_a_process_that_is_killed_between_runs_is_reported() -> None:
    """When the process dies at rest, the next execution says that the state is lost, the one after works."""
    with new() as session:
        process = process_of(session)
        os.kill(process, signal.SIGKILL)
        error = session.run("1 + 1").error
        assert isinstance(error, CrashError)
        assert error.state == "lost"
        assert session.execute("1 + 1").value == 2


def test_a_process_that_ends_while_the_host_answers_it_is_reported() -> None:
    """A process that is killed during a host call, plain or awaited, ends the execution and nothing else."""
    processes: list[int] = []

    def kill() -> str:
        os.kill(processes[-1], signal.SIGKILL)
        return "too late"

    with new(callbacks=[kill]) as session:
        for code in ("kill.call()", "await kill()"):
            processes.append(process_of(session))
            error = session.run(code).error
            assert isinstance(error, CrashError)
            assert session.execute("1 + 1").value == 2


#: What any code can find out: the number of the process's end of the connection.
_CONNECTION = """
import gc, os
from planaria_kernel.process.channel import Channel
connection = next(one for one in gc.get_objects() if isinstance(one, Channel))._sink
"""


@pytest.mark.parametrize(
    "deed",
    [
        "os.write(connection, b'garbage that is no frame at all')",
        "os.write(connection, (1 << 31).to_bytes(4, 'little'))",
        "os.write(connection, (5).to_bytes(4, 'little') + b'?????')",
        "os.write(connection, (2).to_bytes(4, 'little') + b'O9')",
        "os.write(connection, (9).to_bytes(4, 'little') + b'C' + bytes(8))",
        "os.write(connection, (200).to_bytes(4, 'little') + b'D' + bytes(100)); os._exit(0)",
        "os.close(connection)\nimport time; time.sleep(60)",
        "os.closerange(3, 100)",
        "import socket\nsocket.socket(fileno=connection).shutdown(socket.SHUT_RDWR)\nwhile True: pass",
    ],
)
def test_code_that_breaks_the_connection_harms_only_its_own_session(deed: str) -> None:
    """Garbage, lying lengths and closed ends are a clear error, the process is gone, the session goes on."""
    with new() as session:
        process = process_of(session)
        error = session.run(_CONNECTION + deed, timeout=20).error
        assert isinstance(error, (CrashError, Exited)), error
        assert not is_alive(process)
        assert session.execute("1 + 1").value == 2


def test_grandchildren_end_with_the_session() -> None:
    """What the code has started ends when the session is closed, in whatever group it is."""
    with new() as session:
        processes = session.execute(
            "import subprocess\n[subprocess.Popen(['sleep', '1000'], process_group=group).pid "
            "for group in (None, 0)]"
        ).value
        assert all(map(is_alive, processes))
    wait_until(lambda: not any(map(is_alive, processes)))


def test_the_process_ends_with_its_host_whatever_it_does() -> None:
    """When the host is killed, so is a kernel that is busy in C code, and what it has started."""
    program = """
import sys
from planaria import Session, SubprocessExecutor
session = Session(executor=SubprocessExecutor())
code = "import os, subprocess\\n[os.getpid(), subprocess.Popen(['sleep', '1000']).pid]"
print(*session.execute(code).value, flush=True)
session.run("sum(range(10**13))")
"""
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    processes = list(map(int, host.stdout.readline().split()))
    assert all(map(is_alive, processes))
    host.kill()
    host.wait()
    host.stdout.close()
    wait_until(lambda: not any(map(is_alive, processes)))


def test_a_session_that_is_forgotten_ends_its_process() -> None:
    """A session that is collected as garbage leaves no process and no files."""
    import gc

    session = new()
    process = process_of(session)
    directory = Path(session.execute("import sys\nsys.prefix").value)
    assert directory.exists()
    del session
    gc.collect()
    assert not is_alive(process)
    assert not directory.exists()


def test_closing_lets_the_interpreter_end_in_order(tmp_path: Path) -> None:
    """Files that the code left open are written out, and atexit functions run, when the session is closed."""
    with new(SubprocessConfig(working_directory=tmp_path)) as session:
        session.execute("import atexit\nfile = open('left', 'w'); file.write('written')")
        session.execute("atexit.register(lambda: open('exit', 'w').write('called'))")
    assert (tmp_path / "left").read_text("utf-8") == "written"
    assert (tmp_path / "exit").read_text("utf-8") == "called"


def test_many_sessions_leave_neither_processes_nor_descriptors_nor_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After a dozen sessions the host has the descriptors, children and temporary files that it had before."""

    def left() -> tuple[int, int, int]:
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii").split()
        mine = list(tmp_path.glob("planaria-environment-*"))
        return len(os.listdir("/proc/self/fd")), len(children), len(mine)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests have sessions as well
    new().close()
    before = left()
    for number in range(12):
        with new() as session:
            if number % 4 == 0:
                session.run("import os; os._exit(1)")
    assert left()[:2] == before[:2]
    assert left()[2] <= before[2]


def test_a_fork_of_the_host_leaves_the_kernel_to_the_parent() -> None:
    """In a child of the host's the session restarts, and the parent notices nothing; a fork in the
    middle of an execution loses it."""
    program = """
import os
from planaria import Callback, Session, SubprocessExecutor
fork = Callback("fork", os.fork, on_caller_thread=True)
session = Session(executor=SubprocessExecutor(), callbacks=[fork])
session.execute("x = 5")
child = os.fork()
if not child:
    print(session.run("x").error, session.execute("1 + 1").value, flush=True)
    session.close()
    raise SystemExit
os.waitpid(child, 0)
result = session.run("await fork()")
if result.error is not None:
    print(type(result.error).__name__, result.error.state, session.execute("1 + 1").value, flush=True)
    session.close()
    raise SystemExit
os.waitpid(result.value, 0)
print(session.execute("x").value)
session.close()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines() == ["NameError: name 'x' is not defined 2", "CrashError lost 2", "5"], (
        run.stderr
    )


def test_a_callback_that_forks_on_its_own_thread() -> None:
    """A child that a callback forks on a thread of its own ends when the callback returns in it."""
    program = """
import os
from planaria import Session
with Session(callbacks=[os.fork]) as session:
    child = session.execute("await fork()").value
    print(os.waitpid(child, 0)[1], session.execute("1 + 1").value)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert run.stdout == "0 2\n", run.stderr
