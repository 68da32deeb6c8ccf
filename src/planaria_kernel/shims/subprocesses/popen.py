"""`subprocess.Popen` over the commands of the shell.

A command starts in the constructor and runs until it has ended, sleeps, or has filled a pipe; it goes on when
its output is read, it is waited for, or it is polled. With `stdin=PIPE` it starts when its input is complete
(closed, or given to `communicate`) or its output is read. What cannot be suspended, such as a Python script,
runs to its end in one go; when a timeout ends it, it cannot go on after that.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from types import GenericAlias, TracebackType
from typing import IO, Any, Final

from planaria_kernel.shims.subprocesses.shells import PipeReader, check_program, new_shell, stream_of
from planaria_shell.state.control import LimitReachedError
from planaria_shell.state.deadline import Expired, until
from planaria_shell.state.int_limits import DigitsOfTheShell
from planaria_shell.state.pipes import Pipe, PipeInput, PipeOutput
from planaria_shell.state.streams import flush_all

__all__ = ["Popen"]

_PIPE: Final = -1
_STDOUT: Final = -2
_KILLED: Final = -int(signal.SIGKILL)
_BROKEN_PIPE: Final = 141
#: Seconds of a sleep after which it is looked again whether time is over.
_SLICE: Final = 0.05


class _StarvingError(BaseException):
    """A command asks for input that no one can give while it waits."""


def _starve() -> bool:
    raise _StarvingError


class _PipeWriter(io.RawIOBase):
    """The writing end of a command's standard input."""

    mode = "wb"

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        if self._pipe.reader_closed:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        content = bytes(data)
        self._pipe.pieces.append(content)
        return len(content)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._pipe.writer_closed = True


class Popen:
    """Execute a child program; the arguments are those of CPython's `subprocess.Popen`.

    `preexec_fn` is refused, as is becoming another user. What concerns processes as such (`close_fds`,
    `start_new_session`, `process_group`, `restore_signals`, `pipesize`) changes nothing. Without `_start` it
    does not run before it is waited for, which `subprocess.run` and `call` do at once, with a timeout.
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self,
        args: Any,
        bufsize: int = -1,
        executable: Any = None,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        preexec_fn: Any = None,
        close_fds: bool = True,
        shell: bool = False,
        cwd: Any = None,
        env: Any = None,
        universal_newlines: bool | None = None,
        startupinfo: Any = None,
        creationflags: int = 0,
        restore_signals: bool = True,
        start_new_session: bool = False,
        pass_fds: Sequence[int] = (),
        *,
        user: Any = None,
        group: Any = None,
        extra_groups: Any = None,
        encoding: str | None = None,
        errors: str | None = None,
        text: bool | None = None,
        umask: int = -1,
        pipesize: int = -1,
        process_group: int | None = None,
        _start: bool = True,
    ) -> None:
        if bufsize is None:
            bufsize = -1
        if not isinstance(bufsize, int):
            raise TypeError("bufsize must be an integer")
        if startupinfo is not None:
            raise ValueError("startupinfo is only supported on Windows platforms")
        if creationflags != 0:
            raise ValueError("creationflags is only supported on Windows platforms")
        if preexec_fn is not None:
            raise ValueError("preexec_fn is not supported: commands run in this process, so call it before")
        if user is not None or group is not None or extra_groups is not None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        if text is not None and universal_newlines is not None and bool(text) != bool(universal_newlines):
            raise subprocess.SubprocessError(
                "Cannot disambiguate when both text and universal_newlines are supplied but different. "
                "Pass one or the other."
            )
        self.args = args
        self.returncode: int | None = None
        self.encoding, self.errors = encoding, errors
        self.text_mode = bool(encoding or errors or text or universal_newlines)
        self.stdin: IO[Any] | None = None
        self.stdout: IO[Any] | None = None
        self.stderr: IO[Any] | None = None
        self._status: int | None = None
        self._running = False
        self._outputs: list[PipeOutput] = []
        self._input: Pipe | None = None
        self._output: Pipe | None = None

        argv = _argument_list(args, shell, executable)
        directory = os.getcwd() if cwd is None else os.path.abspath(os.fsdecode(cwd))
        if cwd is not None and not os.path.isdir(directory):
            code = errno.ENOTDIR if os.path.exists(directory) else errno.ENOENT
            raise OSError(code, os.strerror(code), os.fsdecode(cwd))
        variables = os.environ if env is None else env
        child = new_shell({os.fsdecode(k): os.fsdecode(v) for k, v in variables.items()}, directory)
        try:
            check_program(child, argv[0], cwd)
        except OSError as error:
            error.filename = os.fsdecode(argv[0])
            raise
        if umask >= 0:
            child.umask = umask
        self._child = child
        self.pid = child.own_process_id
        readers = self._connect(stdin, stdout, stderr, pass_fds)
        self._open(readers, bufsize)
        run = self._program(argv)
        self._generator: Generator[None, None, int] = child.stream_subshell(run)
        if self._input is None and _start:
            self.advance()

    def _program(self, argv: list[str]) -> Callable[[Any], Generator[None, None, int]]:
        return lambda shell: shell.stream_external(argv)

    # -- streams -----------------------------------------------------------------------------------

    def _connect(
        self, stdin: Any, stdout: Any, stderr: Any, pass_fds: Sequence[int]
    ) -> list[PipeInput | None]:
        """Give the command its descriptors; the reading ends of those that are pipes."""
        child = self._child
        readers: list[PipeInput | None] = []
        if stdin == _PIPE:
            self._input = Pipe()
            self._input.pull = _starve
            child.put_stream(0, PipeInput(self._input))
        else:
            child.put_stream(0, stream_of(stdin, 0))
        for number, target in ((1, stdout), (2, stderr)):
            reader = None
            if target == _STDOUT:
                if number == 1:
                    raise ValueError("STDOUT can only be used for stderr")
                child.put_stream(2, child.fds[1].retain())
            elif target == _PIPE:
                pipe = Pipe()
                output = PipeOutput(pipe)
                pipe.pull = self._pull
                reader = PipeInput(pipe, output)
                self._outputs.append(output)
                if number == 1:
                    self._output = pipe
                child.put_stream(number, output)
            else:
                child.put_stream(number, stream_of(target, number))
            readers.append(reader)
        for number in pass_fds:
            child.put_stream(number, stream_of(number, 1))
        return readers

    def _open(self, readers: list[PipeInput | None], bufsize: int) -> None:
        size = io.DEFAULT_BUFFER_SIZE if bufsize in (-1, 1) else bufsize
        if self._input is not None:
            raw: Any = _PipeWriter(self._input)
            if size or self.text_mode:
                raw = io.BufferedWriter(raw, size or io.DEFAULT_BUFFER_SIZE)
            self.stdin = raw
            if self.text_mode:
                self.stdin = io.TextIOWrapper(
                    raw,
                    encoding=self.encoding or "utf-8",
                    errors=self.errors,
                    write_through=True,
                    line_buffering=bufsize == 1,
                )
        files: list[Any] = []
        for reader in readers:
            file: Any = None
            if reader is not None:
                file = PipeReader(reader)
                if size or self.text_mode:
                    file = io.BufferedReader(file, size or io.DEFAULT_BUFFER_SIZE)
                if self.text_mode:
                    file = io.TextIOWrapper(file, encoding=self.encoding or "utf-8", errors=self.errors)
            files.append(file)
        self.stdout, self.stderr = files

    # -- running -----------------------------------------------------------------------------------

    def _pull(self) -> bool:
        """Called when an empty pipe is read from."""
        self._make_room()
        while self.sleeping:
            time.sleep(min(self.sleeping, _SLICE))
        return self.advance()

    def _make_room(self) -> None:
        """Let what is written pile up where there is no reader, rather than have both sides wait forever."""
        for output in self._outputs:
            output.full = False

    @property
    def sleeping(self) -> float:
        """Seconds until the command wants to go on."""
        return max(0.0, self._child.alarm[0] - time.monotonic()) if self._status is None else 0.0

    def advance(self) -> bool:
        """Run the command until it pauses; False when it has ended."""
        if self._status is not None or self._running:
            return False
        self._running = True
        ended = True
        try:
            with DigitsOfTheShell():
                next(self._generator)
            ended = False
        except StopIteration as stop:
            status = -self._child.ended_by or int(stop.value)
            if status == _BROKEN_PIPE and self._output is not None and self._output.reader_closed:
                status = -int(signal.SIGPIPE)
            self._status = status
        except LimitReachedError:
            self._status = 1
            raise
        except _StarvingError:
            raise RuntimeError(
                f"{self.args!r} waits for more input, and nothing can write it meanwhile: write all of it "
                "and close stdin before reading the output, or use communicate()"
            ) from None
        finally:
            self._running = False
            if ended:
                if self._status is None:
                    self._status = _KILLED
                self._close_input()
            flush_all()
        return self._status is None

    def _close_input(self) -> None:
        if self._input is not None:
            self._input.reader_closed = True

    def step(self, deadline: float | None = None) -> None:
        """Run on a little: until the next pause, at most to the deadline."""
        self._make_room()
        pause = self.sleeping
        if pause:
            if deadline is not None:
                pause = min(pause, max(0.0, deadline - time.monotonic()))
            time.sleep(min(pause, _SLICE))
            return
        try:
            with until(deadline):
                self.advance()
        except Expired:
            if deadline is None or time.monotonic() < deadline:
                raise  # the time of something around is over

    def _finish(self, timeout: float | None) -> None:
        """Run to the end; raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None:
            self.step(deadline)
            if deadline is not None and time.monotonic() >= deadline and self._status is None:
                self._expire(timeout)
        if deadline is not None and self._status == _KILLED and time.monotonic() >= deadline:
            self._expire(timeout)

    def _expire(self, timeout: float | None) -> None:
        assert timeout is not None
        raise subprocess.TimeoutExpired(self.args, timeout, *(_so_far(f) for f in (self.stdout, self.stderr)))

    def poll(self) -> int | None:
        """Check if child process has terminated. Set and return returncode attribute."""
        if self.returncode is None:
            if self._status is None and not self.sleeping and not self._awaits_input():
                self.advance()
            self.returncode = self._status
        return self.returncode

    def _awaits_input(self) -> bool:
        return self._input is not None and not self._input.writer_closed

    def wait(self, timeout: float | None = None) -> int:
        """Wait for child process to terminate; returns self.returncode."""
        self._finish(timeout)
        assert self._status is not None
        self.returncode = self._status
        return self.returncode

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:  # noqa: A002
        """Send data to stdin, read stdout and stderr to their ends, and wait for the end."""
        if self.stdin is not None and not self.stdin.closed:
            try:
                if input:
                    self.stdin.write(input)
                self.stdin.close()
            except BrokenPipeError:
                pass  # as documented: the command has ended without reading it
        self._finish(timeout)
        results = []
        for file in (self.stdout, self.stderr):
            results.append(None if file is None else file.read())
            if file is not None:
                file.close()
        self.wait()
        return results[0], results[1]

    # -- signals -----------------------------------------------------------------------------------

    def send_signal(self, sig: int) -> None:
        """Send a signal to the process: all but those that are ignored by default end it."""
        self.poll()
        if self.returncode is not None or sig in _HARMLESS or self._running:
            return
        self._generator.close()
        self._status = -int(sig)
        self._close_input()
        self._child.let_go()
        flush_all()

    def terminate(self) -> None:
        """Terminate the process with SIGTERM"""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process with SIGKILL"""
        self.send_signal(signal.SIGKILL)

    # -- the rest ----------------------------------------------------------------------------------

    @property
    def universal_newlines(self) -> bool:
        return self.text_mode

    @universal_newlines.setter
    def universal_newlines(self, value: bool) -> None:
        self.text_mode = bool(value)

    def __enter__(self) -> Popen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self.stdout, self.stderr):
            if file is not None:
                file.close()
        try:
            if self.stdin is not None:
                self.stdin.close()
        finally:
            if kind is not KeyboardInterrupt:
                self.wait()

    def __repr__(self) -> str:
        text = f"<{type(self).__name__}: returncode: {self.returncode} args: {self.args!r}>"
        return text if len(text) <= 80 else text[:76] + "...>"


#: What does nothing to a process that has no handler.
_HARMLESS: Final = frozenset([0, signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH])


def _argument_list(args: Any, shell: bool, executable: Any) -> list[str]:
    if isinstance(args, (str, bytes)):
        words = [os.fsdecode(args)]
    elif isinstance(args, os.PathLike):
        if shell:
            raise TypeError("path-like args is not allowed when shell is true")
        words = [os.fsdecode(args)]
    else:
        words = [os.fsdecode(word) for word in args]
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    if shell:
        words = ["/bin/sh", "-c", *words]
    if not words:
        raise IndexError("list index out of range")
    if executable is not None:
        words[0] = os.fsdecode(executable)
    return words


def _so_far(file: IO[Any] | None) -> bytes | None:
    if file is None:
        return None
    raw: Any = getattr(file, "buffer", file)
    raw = getattr(raw, "raw", raw)
    return raw.so_far() or None if isinstance(raw, PipeReader) else None
