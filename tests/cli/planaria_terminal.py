"""A pseudo-terminal for tests of the interactive programs; POSIX only."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from pathlib import Path

from planaria_process import COMMAND

__all__ = ["CTRL_C", "CTRL_D", "ENTER", "TAB", "Terminal"]

ENTER, CTRL_C, CTRL_D, TAB = "\r", "\x03", "\x04", "\t"
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal in which `planaria` runs."""

    def __init__(self, environment: dict[str, str], directory: Path, *arguments: str) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(COMMAND[0], [*COMMAND, *arguments], {**environment, "TERM": "xterm"})
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._seen = ""
        self.cells = 0

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str) -> str:
        """Read until `text` has come; returns what came up to there, without escape sequences."""
        until = time.monotonic() + 60
        while text not in self._seen:
            ready, _, _ = select.select([self._descriptor], [], [], max(0, until - time.monotonic()))
            assert ready, f"{text!r} did not come after {self._seen!r}"
            data = os.read(self._descriptor, 65536)
            if b"\x1b[6n" in data:  # the terminal is asked where the cursor is
                os.write(self._descriptor, b"\x1b[1;1R")
            self._seen += _ESCAPE.sub("", data.decode("utf-8", "replace"))
        before, found, self._seen = self._seen.partition(text)
        return before + found

    def run(self, cell: str) -> str:
        """Type a cell and wait for the prompt after it; returns what came up to there."""
        self.type(cell + ENTER)
        self.cells += 1
        return self.wait_for(f"[{self.cells + 1}]>")

    def end(self) -> int:
        """Wait for the end of the program; returns its exit status."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self._descriptor)
