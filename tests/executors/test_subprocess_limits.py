"""Kernels in child processes: how they are interrupted and limited."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from processes import is_alive, new, process_of

from planaria import (
    ContainerConfig,
    CrashError,
    ExecutionError,
    Interrupted,
    LimitError,
    Limits,
    Session,
    SubprocessConfig,
    SubprocessExecutor,
    TimeoutError,
)

pytestmark = pytest.mark.slow


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
def test_code_that_ignores_interrupts_is_killed(code: str) -> None:
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
