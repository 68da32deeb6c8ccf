"""Runs commands of the shell natively, and the real tools beside them."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from planaria_shell.commands import load
from planaria_shell.run.command import COMMANDS, Input, Output

load()


class BytesInput:
    """Standard input from bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline()

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._file.read(65536):
            yield chunk

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)


class BytesOutput:
    """Standard output into memory; `full` once more than `limit` bytes are there."""

    def __init__(self, limit: int | None = None) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.limit = limit

    @property
    def full(self) -> bool:
        return self.limit is not None and self.size > self.limit

    @full.setter
    def full(self, value: bool) -> None:
        raise AttributeError("set by what is written")

    def write(self, data: bytes) -> None:
        self.pieces.append(data)
        self.size += len(data)

    def flush(self) -> None: ...

    def value(self) -> bytes:
        return b"".join(self.pieces)


class NativeProcess:
    """A process whose files are the host's."""

    def __init__(
        self,
        argv: list[str],
        *,
        stdin: Input | bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        limit: int | None = None,
    ) -> None:
        self.argv = argv
        self.env = dict(env if env is not None else {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        self.cwd = cwd or os.getcwd()
        self.stdin: Input = BytesInput(stdin) if isinstance(stdin, bytes) else stdin
        self.stdout = BytesOutput(limit)
        self.stderr = BytesOutput()

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
        raise NotImplementedError("these commands start no others")

    def execute(self) -> int:
        """Run the command to its end; the limit of the output ends it as a closed pipe does."""
        result = COMMANDS[self.argv[0]](self)  # type: ignore[arg-type]
        if isinstance(result, int):
            return result
        while True:
            try:
                next(result)
            except StopIteration as end:
                return int(end.value)
            if self.stdout.full:
                result.close()
                return 141


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: bytes
    stderr: bytes = b""


def ours(
    argv: list[str], stdin: bytes = b"", *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Outcome:
    """What our command does."""
    process = NativeProcess(argv, stdin=stdin, cwd=None if cwd is None else str(cwd), env=env)
    status = process.execute()
    return Outcome(status, process.stdout.value(), process.stderr.value())


def real(
    argv: list[str], stdin: bytes = b"", *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Outcome:
    """What the real tool does; skips the test where there is none."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"no {argv[0]} here to compare with")
    variables = dict(env if env is not None else {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
    variables.setdefault("PATH", os.environ["PATH"])
    done = subprocess.run(
        argv, input=stdin, capture_output=True, cwd=cwd, env=variables, timeout=5, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def same(
    argv: list[str],
    stdin: bytes = b"",
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stderr: bool = False,
) -> None:
    """Assert that our command writes what the real one writes and ends with its status."""
    expected = real(argv, stdin, cwd=cwd, env=env)
    found = ours(argv, stdin, cwd=cwd, env=env)
    assert found.stdout == expected.stdout, found.stderr
    assert found.status == expected.status, found.stderr
    if stderr:
        assert found.stderr == expected.stderr
