"""What a command is given: the concrete class behind the `Process` protocol of `command.py`."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator

from planaria_shell.compile.redirection import open_stream
from planaria_shell.errors import ShellError
from planaria_shell.state.command import Input, Output
from planaria_shell.state.deadline import expires, until
from planaria_shell.state.interpreter import Interpreter
from planaria_shell.state.pipes import PipeOutput
from planaria_shell.state.process_files import descriptor_in, file_of, is_descriptors, make_directory
from planaria_shell.state.streams import AdaptedStream, Stream, TextInput, descriptor_of, flush_all

__all__ = ["RunningCommand"]


#: Commands that work on a file as such: to them a named pipe is a name, not something to read.
_ABOUT_FILES = frozenset(
    [
        "chgrp",
        "chmod",
        "chown",
        "file",
        "find",
        "ln",
        "ls",
        "readlink",
        "realpath",
        "mkfifo",
        "mknod",
        "mv",
        "rm",
        "stat",
        "touch",
        "unlink",
    ]
)


class RunningCommand:
    """One running command of the shell."""

    __slots__ = ("_env", "_opened", "_shown", "argv", "cwd", "ended_by", "shell", "stderr", "stdin", "stdout")

    def __init__(self, shell: Interpreter, argv: list[str], env: dict[str, str] | None = None) -> None:
        self.shell = shell
        self.argv = argv
        self._env = env
        self._opened: list[Stream] = []
        self.ended_by = 0
        #: What stands for the directory of the shell's descriptors, once the command has looked at it.
        self._shown: str | None = None
        self.cwd = shell.cwd
        fds = shell.fds
        self.stdin: Input = fds.get(0) or Stream()
        self.stdout: Output = fds.get(1) or Stream()
        self.stderr: Output = fds.get(2) or Stream()

    @property
    def env(self) -> dict[str, str]:
        """Exported variables."""
        if self._env is None:
            self._env = self.shell.variables.exported()
        return self._env

    @env.setter
    def env(self, value: dict[str, str]) -> None:
        self._env = value

    def path(self, name: str) -> str:
        """`name` made absolute with the working directory. A descriptor's name (`/dev/fd/63`, `/dev/stdin`)
        becomes that of a file with what can be read there, or whose contents go there in the end."""
        if name.startswith(("/proc/", "/dev/")):
            if name.startswith("/proc/") and os.path.basename(self.argv[0]) in _ABOUT_FILES:
                return self._process_file(name)
            number = descriptor_in(self.shell, name)
            if number is not None:
                return file_of(self.shell, name) or self.shell.descriptor_path(number, name)
        path = name if name.startswith("/") else self.cwd + name if self.cwd == "/" else f"{self.cwd}/{name}"
        shell = self.shell
        if (shell.fifos or shell.job_owner.jobs) and os.path.basename(self.argv[0]) not in _ABOUT_FILES:
            return shell.fifo_path(path)
        return path

    def _process_file(self, name: str) -> str:
        """A directory like that of the shell's descriptors, or a link in it; other paths as they are."""
        directory = name if is_descriptors(self.shell, name) else os.path.dirname(name)
        if not is_descriptors(self.shell, directory):
            return name
        if self._shown is None:
            self._shown = tempfile.mkdtemp(prefix="planaria-")
            make_directory(self.shell, directory, self._shown)
        return self._shown if name is directory else os.path.join(self._shown, os.path.basename(name))

    def open(self, name: str, mode: str = "r") -> Stream:
        """Open a file as a stream: mode "r", "w" or "a". Names like `/dev/fd/63` give the stream itself,
        without waiting for its end. Raises OSError."""
        number = descriptor_of(name)
        if number is not None:
            stream = self.shell.fds.get(number)
            if stream is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            # Lent: the command may close it, which closes nothing of the shell's.
            return AdaptedStream(stream)
        try:
            stream = open_stream(self.shell, name, {"r": "<", "w": ">", "a": ">>"}[mode])
        except ShellError as error:
            raise OSError(error.errno or errno.EIO, error.message.rpartition(": ")[2], name) from None
        self._opened.append(stream)
        return stream

    def close_opened(self) -> None:
        """Close what the command has opened and not closed."""
        while self._opened:
            self._opened.pop().close()
        if self._shown is not None:
            shutil.rmtree(self._shown, ignore_errors=True)
            self._shown = None

    def error(self, message: str) -> None:
        """Write `NAME: message` and a newline to standard error."""
        flush_all()
        text = f"{os.path.basename(self.argv[0])}: {message}\n"
        self.stderr.write(text.encode("utf-8", "surrogateescape"))

    def run(
        self,
        argv: list[str],
        *,
        stdin: Input | bytes | None = None,
        stdout: Output | None = None,
        stderr: Output | None = None,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
    ) -> int:
        """Run another command to its end (xargs, find -exec, env, timeout, nohup …). Raises OSError when
        there is none of that name: who wanted to run it says so in its own words."""
        child = self.shell.fork()
        if isinstance(stdin, bytes):
            child.put_stream(0, TextInput(stdin))
        else:
            child.set_stream(0, self.stdin if stdin is None else stdin)
        child.set_stream(1, self.stdout if stdout is None else stdout)
        child.set_stream(2, self.stderr if stderr is None else stderr)
        if env is not None:
            child.replace_environment(env)
        if cwd is not None:
            child.cwd = os.path.normpath(os.path.join(self.cwd, cwd))
        words = _searched(child, argv)
        child.must_be_executable(words[0])
        child.reports_deaths = False
        return child.run_subshell(lambda sh: sh.external(words))

    def pause(self, seconds: float) -> Generator[None, None, None]:
        """Let time pass, and background jobs run meanwhile; in one of them, let everything else run."""
        shell = self.shell
        deadline = time.monotonic() + seconds
        if not (shell.background or shell.gives_way):
            shell.run_jobs(lambda: False, deadline=deadline)
            shell.report_jobs()
            return
        while time.monotonic() < deadline:
            shell.alarm[0] = deadline
            yield

    def others_may_run(self) -> bool:
        """Whether something else can go on while this command waits, or a time limit ends it."""
        shell = self.shell
        return shell.background or shell.gives_way or bool(shell.jobs_beside()) or expires()

    def output_is_read(self) -> bool:
        """Whether what the command writes can still be read."""
        stream = self.shell.fds.get(1)
        return not (isinstance(stream, PipeOutput) and stream.pipe.reader_closed)

    def is_running(self, process_id: int) -> bool:
        """Whether there is a job with this number that has not ended."""
        job = self.shell.find_process(process_id)
        return job is not None and job.status is None

    @property
    def run_until(self) -> Callable[[float, list[str]], int] | None:
        """Runs another command to its end, or to a deadline (of `time.monotonic()`), which raises `Expired`.

        None where others have to run in between: there a command ends where it yields.
        """
        return None if self.shell.takes_turns() else self._run_until

    def _run_until(self, deadline: float, argv: list[str]) -> int:
        with until(deadline):
            return self.run(argv)

    def detach(self, argv: list[str]) -> None:
        """Start another command that nothing waits for. Raises OSError as `run` does."""
        words = _searched(self.shell, argv)
        self.shell.must_be_executable(words[0])
        self.shell.detach(words)

    def begin_session(self) -> None:
        """Be the first process of a session, if this is all that a job consists of."""
        self.shell.begin_session()

    def stream(
        self, argv: list[str], env: dict[str, str] | None = None, cwd: str | None = None
    ) -> Generator[None, None, int]:
        """Run another command in this one's place: yields as it does. Raises OSError as `run` does."""
        child = self.shell.fork()
        child.set_stream(0, self.stdin)
        child.set_stream(1, self.stdout)
        child.set_stream(2, self.stderr)
        if env is not None:
            child.replace_environment(env)
        if cwd is not None:
            child.cwd = os.path.normpath(os.path.join(self.cwd, cwd))
        words = _searched(child, argv)
        child.must_be_executable(words[0])
        child.reports_deaths = False
        return self._in_place(child, child.stream_subshell(lambda sh: sh.stream_external(words)))

    def _in_place(self, child: Interpreter, steps: Generator[None, None, int]) -> Generator[None, None, int]:
        status = yield from steps
        self.ended_by = child.ended_by
        return status


def _searched(shell: Interpreter, argv: list[str]) -> list[str]:
    """Where no PATH is set, commands that start others search the system's directories, as execvp(3) does."""
    name = argv[0] if argv else ""
    if "/" in name or shell.variables.get("PATH") is not None or shell.registered(name) is None:
        return argv
    return [f"/usr/bin/{name}", *argv[1:]]
