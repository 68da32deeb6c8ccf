"""The shell in which a command that Python starts runs, and the streams that it gets."""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import Any, Final

from planaria_kernel.execution import session_shell
from planaria_shell.commands.processes.python import standard
from planaria_shell.shell import Shell
from planaria_shell.state.pipes import PipeInput
from planaria_shell.state.streams import AdaptedStream, DescriptorInput, DescriptorOutput, NullStream, Stream

__all__ = ["PipeReader", "check_program", "new_shell", "stream_of"]

_own: list[Shell] = []


def _around() -> Shell:
    """The shell that commands belong to: the one whose `python3` runs, or the session's."""
    if standard.running:
        shell = getattr(standard.running[-1].process, "shell", None)
        if isinstance(shell, Shell):
            return shell
    try:
        return session_shell.shell()
    except LookupError:  # natively, in tests
        if not _own:
            _own.append(Shell())
        return _own[0]


def new_shell(env: dict[str, str], cwd: str) -> Shell:
    """A shell without descriptors that has just these exported variables."""
    around = _around()
    shell = around.spawn(env, name="sh", arguments=[])
    shell.close_streams()
    shell.cwd = cwd
    shell.table["PWD"].value = cwd
    # What is started is a program, not a shell: it gets the environment exactly as given.
    shell.replace_environment(env)
    # As a job: it gives way where it would sleep or wait.
    shell.background = True
    shell.reports_deaths = False
    shell.alarm = [0.0]
    shell.blocked = [False]
    return shell


class PipeReader(io.RawIOBase):
    """The reading end of a pipe as a raw file; reading runs the command that writes."""

    mode = "rb"

    def __init__(self, stream: PipeInput) -> None:
        self.stream = stream
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._left:
            stream = self.stream
            rest = stream.buffer[stream.position :]  # what a command has read and not used
            stream.buffer, stream.position = b"", 0
            self._left = memoryview(rest or stream.fill())
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def so_far(self) -> bytes:
        """What has been written and not been read."""
        stream = self.stream
        return bytes(self._left) + stream.buffer[stream.position :] + b"".join(stream.pipe.pieces)

    def hand_over(self) -> Stream:
        """The stream, for a command that reads on from here."""
        stream = self.stream
        stream.buffer, stream.position = bytes(self._left) + stream.buffer[stream.position :], 0
        self._left = memoryview(b"")
        return stream.retain()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.stream.release()


_STANDARD: Final = ("stdin", "stdout", "stderr")


def stream_of(target: Any, number: int) -> Stream:
    """The stream for descriptor `number` of a new command: what `target` (None, DEVNULL, a descriptor or a
    file) stands for.
    """
    if target is None:
        return _inherited(number)
    if target == -3:
        return NullStream()
    if isinstance(target, int):
        return _inherited(target) if 0 <= target <= 2 else _of_descriptor(target, number)
    raw = getattr(target, "buffer", target)
    raw = getattr(raw, "raw", raw)
    if isinstance(raw, PipeReader):
        return raw.hand_over()
    descriptor = target.fileno()
    return _inherited(descriptor) if 0 <= descriptor <= 2 else _of_descriptor(descriptor, number)


def _of_descriptor(descriptor: int, number: int) -> Stream:
    os.fstat(descriptor)
    if number == 0:
        return DescriptorInput(descriptor, owned=False)
    return DescriptorOutput(descriptor, owned=False)


def _inherited(number: int) -> Stream:
    """Descriptor 0, 1 or 2 of the script that runs, or of the session."""
    import sys

    if number:
        # What Python holds back comes before what the command writes.
        for name in _STANDARD[1:]:
            stream = getattr(sys, name)
            if stream is not None and not stream.closed:
                stream.flush()
    if standard.running:
        now = standard.running[-1]
        inner: Any = (now.process.stdin, now.output, now.error)[number]
        return inner.retain() if isinstance(inner, Stream) else AdaptedStream(inner)
    return DescriptorInput(0, owned=False) if number == 0 else DescriptorOutput(number, owned=False)


def check_program(shell: Shell, name: str, cwd: Any) -> None:
    """Raise what CPython raises for a program that cannot be started."""
    if not name:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    found = shell.find_command(name)
    if found is None:
        places = [name] if "/" in name else []
        if not places:
            search = shell.variables.get("PATH") or ""
            places = [os.path.join(shell.cwd, place, name) for place in search.split(":") if place]
        code = errno.ENOENT
        if "/" not in name and any(os.path.isfile(place) for place in places):
            code = errno.EACCES
        raise _error(code, name)
    path, function = found
    if function is not None:
        return
    path = shell.path(path)
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) or not mode & 0o111:
        raise _error(errno.EACCES, name)
    with open(path, "rb") as file:
        line = file.readline(512)
    if not line.startswith(b"#!"):
        raise _error(errno.ENOEXEC, name)
    interpreter = line[2:].split()
    if interpreter and shell.registered(os.path.basename(os.fsdecode(interpreter[0]))) is None:
        known = os.path.basename(interpreter[0]) == b"env"
        if not known and not os.path.exists(interpreter[0]):
            raise _error(errno.ENOENT, name)


def _error(code: int, name: str) -> OSError:
    return OSError(code, os.strerror(code), name)
