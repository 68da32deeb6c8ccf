"""Runs text commands natively beside the real ones: our functions over real files and pipes of bytes."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planaria_shell.commands import load
from planaria_shell.run.command import COMMANDS, Input, Output

load()

ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"}


class Outcome(NamedTuple):
    status: int
    stdout: bytes
    stderr: bytes


class BytesInput:
    """Standard input from bytes, in pieces of `size`."""

    def __init__(self, data: bytes, size: int = 1 << 16) -> None:
        self.data = data
        self.at = 0
        self.size = size

    def read(self, size: int = -1) -> bytes:
        end = len(self.data) if size < 0 else self.at + size
        taken = self.data[self.at : end]
        self.at += len(taken)
        return taken

    def readline(self) -> bytes:
        end = self.data.find(b"\n", self.at)
        return self.read((end + 1 if end >= 0 else len(self.data)) - self.at)

    def chunks(self) -> Iterator[bytes]:
        while piece := self.read(self.size):
            yield piece

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line


class BytesOutput:
    """Collects what is written; `limit` bytes make it full."""

    def __init__(self, limit: int | None = None) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.limit = limit

    @property
    def full(self) -> bool:
        return self.limit is not None and self.size >= self.limit

    def write(self, data: bytes) -> None:
        self.parts.append(data)
        self.size += len(data)

    def flush(self) -> None:
        pass

    def value(self) -> bytes:
        return b"".join(self.parts)


class NativeProcess:
    """A process whose other commands are the machine's own."""

    def __init__(
        self,
        argv: list[str],
        *,
        stdin: bytes = b"",
        cwd: str = "/",
        env: dict[str, str] | None = None,
        chunk: int = 1 << 16,
        limit: int | None = None,
    ) -> None:
        self.argv = argv
        self.env = dict(ENVIRONMENT if env is None else env)
        self.cwd = cwd
        self.stdin: Input = BytesInput(stdin, chunk)
        self.stdout: Any = BytesOutput(limit)
        self.stderr: Any = BytesOutput()

    def path(self, name: str) -> str:
        return os.path.join(self.cwd, name)

    def error(self, message: str) -> None:
        self.stderr.write(f"{self.argv[0]}: {message}\n".encode("utf-8", "surrogateescape"))

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
        data = b"" if stdin is None else stdin if isinstance(stdin, bytes) else stdin.read()
        done = subprocess.run(
            argv, input=data, capture_output=True, env=env or self.env, cwd=cwd or self.cwd, check=False
        )
        (stdout or self.stdout).write(done.stdout)
        (stderr or self.stderr).write(done.stderr)
        return done.returncode


def start(process: NativeProcess) -> Any:
    """The command's generator, or its status."""
    return COMMANDS[process.argv[0]](process)  # type: ignore[arg-type]


def finish(running: Any) -> int:
    if not inspect.isgenerator(running):
        return int(running)
    while True:
        try:
            next(running)
        except StopIteration as stop:
            return int(stop.value)


def ours(
    argv: list[str],
    stdin: bytes = b"",
    cwd: Path | str = "/",
    env: dict[str, str] | None = None,
    chunk: int = 1 << 16,
) -> Outcome:
    """Run our command to its end."""
    process = NativeProcess(argv, stdin=stdin, cwd=str(cwd), env=env, chunk=chunk)
    status = finish(start(process))
    return Outcome(status, process.stdout.value(), process.stderr.value())


def real(
    argv: list[str], stdin: bytes = b"", cwd: Path | str = "/", env: dict[str, str] | None = None
) -> Outcome:
    """Run the machine's command; skips the test where it is not installed."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(
        argv, input=stdin, capture_output=True, cwd=cwd, env=env or ENVIRONMENT, check=False, timeout=20
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def assert_same(argv: list[str], stdin: bytes = b"", cwd: Path | str = "/", *, stderr: bool = True) -> None:
    """Our command and the real one agree on status, standard output and (unless told) standard error."""
    expected = real(argv, stdin, cwd)
    got = ours(argv, stdin, cwd)
    assert (got.status, got.stdout) == (expected.status, expected.stdout), (argv, got.stderr, expected.stderr)
    if stderr:
        assert got.stderr == expected.stderr
    # Where the input is cut into pieces must not matter.
    small = ours(argv, stdin, cwd, chunk=7)
    assert small[:2] == got[:2]
