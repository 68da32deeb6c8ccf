"""Installing packages into a virtual environment, with uv where there is one, else with pip."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planaria.executors.interpreters import find_uv
from planaria.process_groups import kill_group

__all__ = ["Installer"]

#: Characters of an installer's message that are passed on.
_MESSAGE: Final = 2000


class Installer:
    """Runs uv or pip for one environment, given by its interpreter.

    They have the environment of the host (proxies, indexes, credentials for them); building a source
    distribution runs its code with it.
    """

    def __init__(self, python: Path, timeout: float) -> None:
        self._python = str(python)
        self._timeout = timeout

    def install(self, requirements: Sequence[str]) -> str | None:
        """Returns why it failed, None when it did not."""
        uv = find_uv()
        if uv is None:
            return self._run([*self._pip(), "install", "--quiet", "--no-input", "--", *requirements])
        command = [uv, "pip", "install", "--quiet", "--python", self._python]
        failure = self._run([*command, "--", *requirements])
        if failure is not None and self._run([*command, "--offline", "--", *requirements]) is None:
            return None  # the network was what it lacked, and it did not need it
        return failure

    def uninstall(self, name: str) -> str | None:
        """Returns why it failed, None when it did not."""
        uv = find_uv()
        if uv is None:
            return self._run([*self._pip(), "uninstall", "--quiet", "--yes", "--", name])
        return self._run([uv, "pip", "uninstall", "--quiet", "--python", self._python, "--", name])

    def _pip(self) -> list[str]:
        """This interpreter's pip if it has one, else the environment's own."""
        options = ["--disable-pip-version-check"]
        if importlib.util.find_spec("pip") is not None:
            return [sys.executable, "-m", "pip", "--python", self._python, *options]
        if self._run([self._python, "-I", "-c", "import pip"]) is not None:
            self._run([self._python, "-I", "-m", "ensurepip"])
        return [self._python, "-I", "-m", "pip", *options]

    def _run(self, command: Sequence[str]) -> str | None:
        variables = {
            name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")
        }
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=variables,
                start_new_session=True,
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        try:
            said, _ = process.communicate(timeout=self._timeout)
        except BaseException as error:
            kill_group(process.pid)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return f"not installed after {self._timeout:g} s"
            raise
        if process.returncode == 0:
            return None
        return said.decode("utf-8", "replace").strip()[-_MESSAGE:] or f"status {process.returncode}"
