"""Run a command of the shell natively, and the machine's own tool of the same name, to compare them."""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import planaria.guest.shell.commands as package
from planaria.guest.shell.command import COMMANDS, Input, Output

for _module in pkgutil.iter_modules(package.__path__):
    importlib.import_module(f"{package.__name__}.{_module.name}")

ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], "TZ": "UTC0", "HOME": "/root"}


class BytesInput:
    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)
        self.read = self._file.read
        self.readline = self._file.readline

    def chunks(self) -> Iterator[bytes]:
        while block := self._file.read(65536):
            yield block

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)


class BytesOutput:
    """Collects what is written; becomes full now and then so that generators get to yield."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.full = False

    def write(self, data: bytes) -> None:
        self.data += data
        self.full = not self.full

    def flush(self) -> None:
        pass


class NativeProcess:
    def __init__(
        self, argv: list[str], cwd: str, stdin: Input, stdout: Output, stderr: Output, env: dict[str, str]
    ) -> None:
        self.argv = argv
        self.cwd = cwd
        self.env = env
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

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
        stderr = stderr or self.stderr
        source = BytesInput(stdin) if isinstance(stdin, bytes) else stdin or self.stdin
        child = NativeProcess(
            argv,
            cwd or self.cwd,
            source,
            stdout or self.stdout,
            stderr,
            self.env if env is None else env,
        )
        if argv[0] not in COMMANDS:
            if not shutil.which(argv[0], path=child.env.get("PATH", os.environ["PATH"])):
                stderr.write(f"{argv[0]}: command not found\n".encode())
                return 127
            done = subprocess.run(
                argv, cwd=child.cwd, env=child.env, input=source.read(), capture_output=True, check=False
            )
            child.stdout.write(done.stdout)
            stderr.write(done.stderr)
            return done.returncode
        return drive(child)


def drive(process: NativeProcess) -> int:
    """Run a command to its end."""
    result = COMMANDS[process.argv[0]](process)
    if isinstance(result, int):
        return result
    while True:
        try:
            next(result)
        except StopIteration as stop:
            return int(stop.value)


@dataclass
class Outcome:
    stdout: bytes
    stderr: bytes
    status: int


def ours(
    argv: list[str], stdin: bytes = b"", cwd: Path | str = "/", env: dict[str, str] | None = None
) -> Outcome:
    out, err = BytesOutput(), BytesOutput()
    process = NativeProcess(argv, str(cwd), BytesInput(stdin), out, err, {**ENVIRONMENT, **(env or {})})
    status = drive(process)
    return Outcome(bytes(out.data), bytes(err.data), status)


def real(
    argv: list[str], stdin: bytes = b"", cwd: Path | str = "/", env: dict[str, str] | None = None
) -> Outcome:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not on this machine")
    done = subprocess.run(
        argv, input=stdin, cwd=cwd, env={**ENVIRONMENT, **(env or {})}, capture_output=True, check=False
    )
    return Outcome(done.stdout, done.stderr, done.returncode)


def same(
    argv: list[str],
    stdin: bytes = b"",
    cwd: Path | str = "/",
    env: dict[str, str] | None = None,
    stderr: bool = True,
) -> None:
    """Assert that a command that changes nothing does exactly what the real tool does."""
    expected = real(argv, stdin, cwd, env)
    got = ours(argv, stdin, cwd, env)
    if not stderr:
        got.stderr = expected.stderr = b""
    assert got == expected


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """Every name below a directory with its type, permissions, content or target."""
    found: dict[str, tuple[object, ...]] = {}
    for directory, subdirectories, files in os.walk(root):
        for name in subdirectories + files:
            path = Path(directory, name)
            relative = str(path.relative_to(root))
            if path.is_symlink():
                found[relative] = ("link", os.readlink(path))
            elif path.is_dir():
                found[relative] = ("directory", path.stat().st_mode & 0o7777)
            else:
                found[relative] = ("file", path.stat().st_mode & 0o7777, path.read_bytes())
    return found
