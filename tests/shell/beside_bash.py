"""Runs a script in our shell and in real bash, to compare what they do."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from planaria_shell.shell import Shell
from planaria_shell.state.functions import FunctionBody
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.translation.region import LoopRegion

__all__ = ["Outcome", "needs_bash", "ours", "theirs"]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}
#: What stands before a message, and the hint that only ours has behind it.
AROUND = re.compile(r"^(?:bash|environment): (?:line \d+: )?(?:let: )?|(?: \(did you mean .*)$", re.MULTILINE)
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to compare with")

Outcome = tuple[str, str, int]


def _outcome(output: bytes, errors: bytes, status: int, directory: str) -> Outcome:
    # Messages may have been sent to standard output.
    texts = (data.decode(errors="replace").replace(directory, "DIR") for data in (output, errors))
    first, second = (AROUND.sub("", text) for text in texts)
    return first, second, status


def ours(script: str, monkeypatch: pytest.MonkeyPatch, *, translated: bool) -> Outcome:
    """What our shell does, with everything translated that can be, or with nothing."""
    monkeypatch.setattr(LoopRegion, "rounds", 2 if translated else 10**9)
    monkeypatch.setattr(FunctionBody, "calls", 1 if translated else 10**9)
    out, err = CapturedOutput(), CapturedOutput()
    with tempfile.TemporaryDirectory() as directory:
        shell = Shell(env=ENVIRONMENT, cwd=directory, stdin=NullStream(), stdout=out, stderr=err)
        shell.run(script)
        status = shell.finish()
        return _outcome(out.getvalue(), err.getvalue(), status, directory)


def theirs(script: str) -> Outcome:
    """What bash does."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            ["bash", "-c", script], env=ENVIRONMENT, cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=120)
        except BaseException:
            # It ends with all that it has started.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return _outcome(output, errors, process.returncode, directory)
