"""Groups of processes: how to signal one, and to see that it does not outlive this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Final

__all__ = ["Guardian", "kill_group", "signal_group"]

# Waits for the pipe to this process to break, gives the group a moment to see that too, and ends it. No other
# form of `kill` means a group to every shell.
_GUARD: Final = 'read _; sleep 1; kill -s TERM -- "-$1"; sleep 1; kill -s KILL -- "-$1"'


def signal_group(group: int, number: int) -> None:
    """Send a signal to all processes of a group, if there are any."""
    if sys.platform == "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.kill(group, number)
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def kill_group(group: int) -> None:
    """End all processes of a group at once, if there are any."""
    # Windows has no groups, and ends a process by whatever signal.
    signal_group(group, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


class Guardian:
    """A shell that ends a process group when this process is gone, however it went.

    Closing a pipe to tell a child that its parent died is a convention which not every program keeps.
    Where there is no POSIX shell (Windows), nothing guards.
    """

    def __init__(self, group: int) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        if sys.platform == "win32":
            return
        with suppress(FileNotFoundError):
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "planaria-guardian", str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                cwd="/",
                start_new_session=True,
            )

    def dismiss(self) -> None:
        """The group is gone; so is the guardian."""
        if self._shell is None:
            return
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell = None
