"""pip as a program that is loaded once for several runs.

Most of what a short run of pip takes is the import of its modules, so one process imports them and is forked
for each run. Where a process cannot be forked, each run is a program of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from planaria.errors import ImageError

__all__ = ["PipEnded", "PipProcess"]

#: Seconds that one run of pip may take.
_PATIENCE: Final = 600
#: Which modules pip has is its own affair: when these are not there, a run imports what it needs.
_LOADED_PIP: Final = f"""\
import contextlib, importlib, json, os, runpy, signal, sys, tempfile

for part in "cli.main", "commands.download", "commands.install", "metadata.importlib":
    with contextlib.suppress(ImportError):
        importlib.import_module("pip._internal." + part)

for line in sys.stdin:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = os.fork()
        if not process:
            signal.alarm({_PATIENCE})
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.argv = ["pip", *json.loads(line)]
            runpy.run_module("pip", run_name="__main__", alter_sys=True)
            sys.exit()
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        printed = []
        for file in output, errors:
            file.seek(0)
            printed.append(file.read().decode("utf-8", "replace"))
    print(json.dumps([status, *printed]), flush=True)
"""


class PipEnded(NamedTuple):
    """How a run of pip ended."""

    status: int
    output: str
    errors: str


class PipProcess:
    """Runs pip any number of times; a context manager, at whose end the process is gone."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            with self._process as process, contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with a run that an interrupt has left behind

    def run(self, arguments: Sequence[str]) -> PipEnded:
        """Run pip to its end. Raises subprocess.TimeoutExpired, and ImageError when there is no pip."""
        if not hasattr(os, "fork"):
            done = subprocess.run(
                [*_python(), "-m", "pip", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_PATIENCE,
            )
            return PipEnded(done.returncode, done.stdout, done.stderr)
        if self._process is None:
            self._process = subprocess.Popen(
                [*_python(), "-P", "-c", _LOADED_PIP],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise ImageError(f"pip's process ended with status {self._process.wait()}")
        ended = PipEnded(*json.loads(answer))
        if ended.status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired("pip", _PATIENCE)
        return ended


def _python() -> list[str]:
    """A command that runs a Python with pip: this interpreter, or one that uv provides."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable]
    uv = shutil.which("uv")
    if uv is None:
        raise ImageError(
            "packages= needs pip or uv on this computer, and neither is installed: "
            "install one (python -m ensurepip, or docs.astral.sh/uv)"
        )
    return [uv, "run", "--quiet", "--no-project", "--with", "pip", "python"]
