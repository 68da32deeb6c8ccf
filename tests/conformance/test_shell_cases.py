"""Scripts with the output that real bash 5.2 gives."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import tempfile
from typing import Any

import pytest
from conformance_cases import case_file

from planaria_shell.run.shell import Shell
from planaria_shell.run.streams import CapturedOutput, NullStream

# From <sched.h> and <sys/mount.h>.
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 1 << 14, 1 << 18


def load_cases() -> list[Any]:
    """Every case of every file."""
    found = []
    for path in sorted(case_file("bash-cases").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            case = json.loads(line)
            found.append(pytest.param(case, id=f"{path.stem}: {case['case']}"))
    return found


def use_empty_tmp() -> None:
    """Mount an empty /tmp for this process alone, so that no case sees another's files.

    Only root may; without the right the cases share the system's /tmp.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)
        libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)


def run_case(script: str) -> tuple[str, int]:
    """Standard output and status of a script in a process of its own, since it may change anything."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
        use_empty_tmp()
        directory = tempfile.mkdtemp()
        out = CapturedOutput()
        try:
            env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/user", "USER": "user"}
            shell = Shell(env=env, cwd=directory, stdin=NullStream(), stdout=out, stderr=CapturedOutput())
            shell.run(script)
            status = shell.finish()
        except BaseException:
            status = -1
        with os.fdopen(writing, "wb") as file:
            file.write(json.dumps([out.getvalue().decode("utf-8", "replace"), status]).encode())
        shutil.rmtree(directory, ignore_errors=True)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(process, 0)
    assert data, "the process died"
    output, status = json.loads(data)
    return output, status


@pytest.fixture(scope="module", autouse=True)
def commands() -> None:
    """Loaded once, before the first case forks."""


@pytest.mark.parametrize("case", load_cases())
def test_a_script_gives_what_bash_gives(case: dict[str, Any]) -> None:
    """Standard output is that of real bash byte for byte, and so is the status where the case has one."""
    output, status = run_case(case["script"])
    assert output == case["stdout"]
    assert case["exit_code"] in (None, status)
