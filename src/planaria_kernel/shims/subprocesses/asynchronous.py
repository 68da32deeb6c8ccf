"""`asyncio.create_subprocess_exec` and `_shell`: a command runs on when its output or end is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from signal import SIGKILL, SIGTERM
from typing import Any

from planaria_kernel.shims.subprocesses.popen import Popen
from planaria_kernel.shims.subprocesses.shells import PipeReader

__all__ = ["Process", "create_subprocess_exec", "create_subprocess_shell"]


class _Reader(asyncio.StreamReader):
    """A stream reader that runs the command when there is nothing to read."""

    def __init__(self, popen: Popen, file: PipeReader, limit: int) -> None:
        super().__init__(limit=limit)
        self._popen = popen
        self._file = file

    async def _wait_for_data(self, func_name: str) -> None:
        while True:
            data = self._file.so_far()
            if data:
                self._file.stream.pipe.pieces.clear()
                self.feed_data(data)
                return
            if self._popen.poll() is not None:
                # The end may have brought more.
                if not self._file.so_far():
                    self.feed_eof()
                    return
                continue
            await asyncio.sleep(self._popen.sleeping)
            if not self._popen.sleeping:
                self._popen.step()


class _Writer:
    """What is written to a command's standard input."""

    def __init__(self, popen: Popen) -> None:
        self._popen = popen
        self._file: Any = popen.stdin

    def write(self, data: Any) -> None:
        self._file.write(data)

    def writelines(self, data: Iterable[Any]) -> None:
        for piece in data:
            self._file.write(piece)

    async def drain(self) -> None:
        """There is always room."""
        await asyncio.sleep(0)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._file.close()

    def close(self) -> None:
        self._file.close()

    def is_closing(self) -> bool:
        return bool(self._file.closed)

    async def wait_closed(self) -> None:
        await asyncio.sleep(0)


class Process:
    """`asyncio.subprocess.Process` over a `Popen`."""

    def __init__(self, popen: Popen, limit: int) -> None:
        self._popen = popen
        self.pid = popen.pid
        self.stdin = None if popen.stdin is None else _Writer(popen)
        self.stdout, self.stderr = (
            _Reader(popen, file, limit) if isinstance(file, PipeReader) else None
            for file in (popen.stdout, popen.stderr)
        )

    @property
    def returncode(self) -> int | None:
        return self._popen.returncode

    async def wait(self) -> int:
        """Wait until the process exit and return the process return code."""
        while (code := self._popen.poll()) is None:
            await asyncio.sleep(self._popen.sleeping)
            if not self._popen.sleeping:
                self._popen.step()
        return code

    async def communicate(self, input: Any = None) -> tuple[bytes | None, bytes | None]:  # noqa: A002
        """Send data to stdin, read stdout and stderr to their ends, and wait for the end."""
        if self.stdin is not None and not self.stdin.is_closing():
            try:
                if input:
                    self.stdin.write(input)
            except BrokenPipeError:
                pass  # as documented: the command has ended without reading it
            self.stdin.close()
        await self.wait()
        results = [None if stream is None else await stream.read() for stream in (self.stdout, self.stderr)]
        return results[0], results[1]

    def send_signal(self, signal: int) -> None:
        """Send a signal to the process."""
        if self._popen.poll() is not None:
            raise ProcessLookupError
        self._popen.send_signal(signal)

    def terminate(self) -> None:
        """Terminate the process with SIGTERM."""
        self.send_signal(SIGTERM)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.send_signal(SIGKILL)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.pid}>"


async def create_subprocess_exec(
    program: Any,
    *args: Any,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    limit: int = 2**16,
    **kwds: Any,
) -> Process:
    """Start a command; see `asyncio.create_subprocess_exec`."""
    popen = Popen([program, *args], 0, stdin=stdin, stdout=stdout, stderr=stderr, **kwds)
    return Process(popen, limit)


async def create_subprocess_shell(
    cmd: str | bytes,
    stdin: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    limit: int = 2**16,
    **kwds: Any,
) -> Process:
    """Run a shell command line; see `asyncio.create_subprocess_shell`."""
    popen = Popen(cmd, 0, stdin=stdin, stdout=stdout, stderr=stderr, shell=True, **kwds)
    return Process(popen, limit)
