"""Kernels in child processes: their limits, their ends, and what the host is left with."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from planaria import (
    AsyncSession,
    CapabilityError,
    ContainerConfig,
    CrashError,
    ExecutionError,
    Exited,
    Interrupted,
    LimitError,
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


def new(config: SubprocessConfig | None = None, **arguments: Any) -> Session:
    return Session(executor=SubprocessExecutor(config), **arguments)


@pytest.fixture(scope="module")
def shared() -> Iterator[Session]:
    """A session for tests that leave nothing behind."""
    with new() as session:
        yield session


def process_of(session: Session) -> int:
    return int(session.execute("import os\nos.getpid()").value)


def is_alive(process: int) -> bool:
    try:
        text = Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not come about within 20 s"
        time.sleep(0.01)


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


# -- being interrupted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(60)",
        "import subprocess; subprocess.run(['sleep', '60'])",
        "import os; os.system('sleep 60')",
        "import asyncio; await asyncio.sleep(60)",
        "import asyncio; await asyncio.to_thread(__import__('time').sleep, 2)",
        "import threading; threading.Event().wait()",
        "print(open('/dev/zero', 'rb').read(1 << 20) and [] or input)\nwhile True: print('busy')",
    ],
)
def test_a_timeout_interrupts_and_keeps_the_state(code: str) -> None:
    """Code that is interrupted in time leaves the session with all that it had reached."""
    with new(limits=Limits(output=1000, grace=5)) as session:
        session.execute("x = 5")
        error = session.run(code, timeout=0.3).error
        assert isinstance(error, TimeoutError)
        assert error.state == "kept"
        assert session.execute("x").value == 5


@pytest.mark.parametrize(
    "code",
    [
        "sum(range(10**13))",
        "import time\nwhile True:\n  try: time.sleep(60)\n  except KeyboardInterrupt: pass",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
    ],
)
def test_code_that_heeds_no_interrupt_is_killed(code: str) -> None:
    """After the grace period the process is killed, the state is lost, and the session restarts."""
    with new(limits=Limits(grace=0.3)) as session:
        before = process_of(session)
        session.execute("x = 5")
        error = session.run(code, timeout=0.2).error
        assert isinstance(error, TimeoutError)
        assert error.state == "lost"
        assert "the session restarted" in str(error)
        assert not is_alive(before)
        assert isinstance(session.run("x").error, ExecutionError)
        assert session.execute("1 + 1").value == 2


def test_an_interrupt_from_another_thread_stops_the_code(shared: Session) -> None:
    """`Session.interrupt` ends the execution with Interrupted and leaves the state."""
    threading.Timer(0.3, shared.interrupt).start()
    assert isinstance(shared.run("y = 1\nwhile True: pass").error, Interrupted)
    assert shared.execute("y").value == 1


def test_a_late_interrupt_does_not_hit_the_next_execution(shared: Session) -> None:
    """However close to its end an execution is interrupted, the next one is whole."""
    for wait in range(60):
        timer = threading.Timer(wait / 20000, shared.interrupt)
        timer.start()
        shared.run("for i in range(2000): pass")
        timer.join()
        assert shared.execute("sum(range(1000))").value == 499500


def test_ctrl_c_on_the_host_interrupts_the_code_only() -> None:
    """Ctrl-C while code runs raises KeyboardInterrupt on the host, and the session keeps its state."""
    program = """
import os, signal, threading
from planaria import Session, SubprocessExecutor
with Session(executor=SubprocessExecutor()) as session:
    session.execute("x = 5")
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        session.run("while True: pass")
    except KeyboardInterrupt:
        print("interrupted", session.execute("x").value)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert run.stdout == "interrupted 5\n", run.stderr


def test_the_executor_may_be_set_up_with_a_timeout() -> None:
    """`default_timeout` holds in a session that is given no limits, and no other."""
    executor = SubprocessExecutor(SubprocessConfig(default_timeout=0.3))
    with Session(executor=executor) as session:
        assert session.limits.timeout == 0.3
        assert isinstance(session.run("while True: pass").error, TimeoutError)
    with new(SubprocessConfig(default_timeout=0.3), limits=Limits(timeout=50)) as session:
        assert session.limits.timeout == 50


# -- limits ----------------------------------------------------------------------------------------------


def test_memory_is_bounded() -> None:
    """More memory than the limit allows is a MemoryError, and the session goes on."""
    with new(SubprocessConfig(memory=512 << 20)) as session:
        error = session.run("data = bytearray(1 << 30)").error
        assert isinstance(error, ExecutionError)
        assert error.type == "MemoryError"
        assert session.execute("len(bytearray(1 << 20))").value == 1 << 20


def test_the_memory_limit_of_the_session_counts_unless_the_executor_has_one() -> None:
    """`Limits.memory` bounds the process."""
    with new(limits=Limits(memory=300 << 20)) as session:
        error = session.run("data = bytearray(400 << 20)").error
        assert isinstance(error, ExecutionError)
        assert error.type == "MemoryError"


def test_what_does_not_fit_the_memory_is_refused_in_order() -> None:
    """An answer of the host that the process has no memory for is a MemoryError in the code."""
    with new(
        SubprocessConfig(memory=300 << 20), callbacks=[lambda_named("large", b"x" * (150 << 20))]
    ) as session:
        session.execute("ballast = bytearray(60 << 20)")
        error = session.run("len(await large())").error
        assert isinstance(error, ExecutionError)
        assert error.type == "MemoryError"
        assert session.execute("1 + 1").value == 2


def lambda_named(name: str, value: Any) -> Any:
    return {"name": name, "fn": lambda: value, "description": name}


def test_processor_time_of_an_execution_is_bounded() -> None:
    """`Limits.cpu_time` interrupts the code, and sleeping costs none of it."""
    with new(limits=Limits(cpu_time=0.4)) as session:
        session.execute("x = 5\nimport time, asyncio")
        assert session.run("time.sleep(0.6)").error is None
        error = session.run("while True: pass").error
        assert isinstance(error, LimitError)
        assert error.limit == "cpu_time"
        assert session.execute("x").value == 5
        error = session.run(
            "while True:\n  sum(range(100_000))\n  await asyncio.sleep(0.001)", timeout=60
        ).error
        assert isinstance(error, LimitError)


def test_processor_time_of_the_process_is_bounded() -> None:
    """`cpu_seconds` ends the process, which is said."""
    with new(SubprocessConfig(cpu_seconds=1)) as session:
        error = session.run("while True: pass").error
        assert isinstance(error, CrashError)
        assert error.state == "lost"


def test_open_files_are_bounded() -> None:
    """More descriptors than the limit are an OSError."""
    with new(SubprocessConfig(open_files=50)) as session:
        error = session.run("files = [open('/dev/null') for _ in range(100)]").error
        assert isinstance(error, ExecutionError)
        assert "Too many open files" in error.message


def test_the_size_of_files_is_bounded(tmp_path: Path) -> None:
    """A file that grows beyond the limit is an OSError."""
    with new(SubprocessConfig(file_size=100_000, working_directory=tmp_path)) as session:
        error = session.run("with open('large', 'wb') as file: file.write(bytes(200_000))").error
        assert isinstance(error, ExecutionError)
        assert "File too large" in error.message
    assert (tmp_path / "large").stat().st_size == 100_000


@pytest.mark.skipif(os.getuid() == 0, reason="NOT TESTED: the system does not hold the superuser to it")
def test_processes_are_bounded() -> None:
    """More processes than the limit are refused by the system."""
    with new(SubprocessConfig(processes=1)) as session:
        assert isinstance(session.run("import subprocess; subprocess.run('true')").error, ExecutionError)


def test_the_limits_that_were_asked_for_are_those_of_the_process() -> None:
    """Each limit of the configuration is set, hard, for the process and what it starts; there are no core
    dumps."""
    config = SubprocessConfig(
        memory=1 << 30, cpu_seconds=1000, processes=5000, open_files=99, file_size=12345
    )
    with new(config) as session:
        found = session.execute(
            "import resource\n{name: resource.getrlimit(getattr(resource, 'RLIMIT_' + name)) "
            "for name in ('AS', 'CPU', 'NPROC', 'NOFILE', 'FSIZE', 'CORE')}"
        ).value
    assert found == {
        "AS": (1 << 30, 1 << 30),
        "CPU": (1000, 1000),
        "NPROC": (5000, 5000),
        "NOFILE": (99, 99),
        "FSIZE": (12345, 12345),
        "CORE": (0, 0),
    }


@pytest.mark.parametrize("name", ["memory", "cpu_seconds", "processes", "open_files", "start_timeout"])
def test_an_absurd_limit_is_refused(name: str) -> None:
    """A bound of 0 is a ValueError that names it."""
    with pytest.raises(ValueError, match=name):
        SubprocessConfig(**{name: 0})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings", [{"deps": "attrs"}, {"deps": [1]}, {"env": {"A": 1}}, {"inherit": "PATH"}], ids=repr
)
def test_what_is_no_list_or_dict_of_texts_is_refused(settings: dict[str, Any]) -> None:
    """A field with anything else than texts is a TypeError that names it."""
    for config in (SubprocessConfig, ContainerConfig):
        if settings.keys() <= {one.name for one in fields(config)}:
            with pytest.raises(TypeError, match=next(iter(settings))):
                config(**settings)


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


# -- ends ------------------------------------------------------------------------------------------------


def test_code_that_ends_its_process_is_told_so_and_the_session_goes_on() -> None:
    """os._exit is Exited with its status, and the session restarts."""
    with new() as session:
        error = session.run("print('before', flush=True)\nimport os; os._exit(3)").error
        assert isinstance(error, Exited)
        assert error.exit_code == 3
        assert error.stdout == "before\n"
        assert session.execute("1 + 1").value == 2


def test_a_crash_is_told_with_what_the_process_said_last() -> None:
    """A segmentation fault is a CrashError that names the signal, with the interpreter's last words."""
    with new() as session:
        error = session.run("import ctypes\nctypes.string_at(0)").error
        assert isinstance(error, CrashError)
        assert "SIGSEGV" in str(error)
        assert "Segmentation fault" in error.stderr
        assert error.state == "lost"
        assert session.execute("1 + 1").value == 2


def test_a_process_that_is_killed_in_the_midst_of_a_run_is_reported() -> None:
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


def test_a_process_that_dies_while_the_host_answers_it_is_reported() -> None:
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


def test_a_program_that_is_no_kernel_is_told_with_what_it_wrote(tmp_path: Path) -> None:
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


def test_what_this_home_cannot_do_says_so(shared: Session) -> None:
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
