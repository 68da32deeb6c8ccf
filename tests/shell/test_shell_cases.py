"""The shared cases with the output of real bash 5.2, run when they lie beside the project."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import warnings
from pathlib import Path

import pytest

from planaria_shell.run.command import COMMANDS
from planaria_shell.run.shell import Shell
from planaria_shell.run.streams import CapturedOutput, NullStream

CASES = Path(__file__).parents[2].parent / "shared" / "bash-cases"
#: Part of the cases of each file that must pass.
GOAL = 0.99


def run_case(script: str) -> tuple[str, int]:
    """Standard output and status of a script in a process of its own, since it may change anything."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(60)
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
    if not data:
        return "", -2
    output, status = json.loads(data)
    return output, status


@pytest.mark.parametrize("name", ["bash", "awk", "grep", "jq", "sed", "yq"])
def test_shared_cases(name: str) -> None:
    """At least 99 % of the shared cases give what real bash gives, byte for byte."""
    path = CASES / f"{name}.jsonl"
    if not path.exists():
        warnings.warn(f"the shared cases are not there ({path}): not run", stacklevel=1)
        pytest.skip(f"{path} is not there")
    Shell().load_commands()
    if name != "bash" and name not in COMMANDS:
        pytest.skip(f"the command {name} is not there")
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    failed: list[str] = []
    for case in cases:
        output, status = run_case(case["script"])
        if output != case["stdout"] or case["exit_code"] not in (None, status):
            failed.append(case["case"])
    if {"cat", "sort", "grep"} - set(COMMANDS):
        pytest.skip(f"commands are missing; {len(failed)} of {len(cases)} cases fail")
    assert len(failed) <= len(cases) * (1 - GOAL), f"{len(failed)} of {len(cases)} failed: {failed}"
