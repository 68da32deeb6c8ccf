"""Run a command of the shell natively, and the machine's own tool of the same name, to compare them."""

from __future__ import annotations

import atexit
import errno
import functools
import io
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planaria_shell.state.command import COMMANDS, Input, Output

ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], "TZ": "UTC0", "HOME": "/root"}


#: They need a shell that runs them, which a native process does not have: the machine's are run.
_SHELLS = ("bash", "sh", "dash")


class BytesInput:
    """Standard input from bytes, in chunks of `size`."""

    def __init__(self, data: bytes, size: int = 1 << 16) -> None:
        self._file = io.BytesIO(data)
        self._size = size

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)

    def readline(self) -> bytes:
        return self._file.readline()

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._file.read(self._size):
            yield chunk

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)


class BytesOutput:
    """Collects what is written. It is full from `limit` bytes on; without a limit after every other write, so
    that generators get to yield."""

    def __init__(self, limit: int | None = None) -> None:
        self.data = bytearray()
        self.limit = limit
        self.full = False

    def write(self, data: bytes) -> None:
        self.data += data
        self.full = not self.full if self.limit is None else len(self.data) >= self.limit

    def flush(self) -> None:
        pass

    def value(self) -> bytes:
        return bytes(self.data)


class NativeProcess:
    """A process on the machine's files: it runs our commands, and the machine's where there are none."""

    def __init__(
        self,
        argv: list[str],
        *,
        stdin: Input | bytes = b"",
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        chunk: int = 1 << 16,
        limit: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        self.argv = argv
        self.cwd = cwd
        self.env = {**ENVIRONMENT, **(env or {})}
        self.stdin: Input = BytesInput(stdin, chunk) if isinstance(stdin, bytes) else stdin
        self.stdout: Any = BytesOutput(limit) if stdout is None else stdout
        self.stderr: Any = BytesOutput() if stderr is None else stderr

    def path(self, name: str) -> str:
        return os.path.join(self.cwd, name)

    def error(self, message: str) -> None:
        self.stderr.write(f"{self.argv[0]}: {message}\n".encode("utf-8", "surrogateescape"))

    def _child(
        self,
        argv: list[str],
        stdin: Input | bytes | None,
        stdout: Output | None,
        stderr: Output | None,
        env: dict[str, str] | None,
        cwd: str | None,
    ) -> NativeProcess:
        child = NativeProcess(
            argv,
            stdin=self.stdin if stdin is None else stdin,
            cwd=cwd or self.cwd,
            stdout=stdout or self.stdout,
            stderr=stderr or self.stderr,
        )
        child.env = dict(self.env if env is None else env)
        return child

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
        child = self._child(argv, stdin, stdout, stderr, env, cwd)
        if argv[0] in COMMANDS and argv[0] not in _SHELLS:
            return child.execute()
        done = subprocess.run(
            argv, cwd=child.cwd, env=child.env, input=child.stdin.read(), capture_output=True, check=False
        )
        child.stdout.write(done.stdout)
        child.stderr.write(done.stderr)
        return done.returncode

    def stream(
        self, argv: list[str], env: dict[str, str] | None = None, cwd: str | None = None
    ) -> Generator[None, None, int]:
        """Run another command in this one's place, yielding as it does."""
        environment = self.env if env is None else env
        if argv[0] not in COMMANDS and not shutil.which(argv[0], path=environment.get("PATH", os.defpath)):
            there = "/" in argv[0] and os.path.exists(self.path(argv[0]))
            number = errno.EACCES if there else errno.ENOENT
            raise OSError(number, os.strerror(number), argv[0])
        return self._steps(argv, environment, cwd)

    def _steps(
        self, argv: list[str], environment: dict[str, str], cwd: str | None
    ) -> Generator[None, None, int]:
        if argv[0] not in COMMANDS or argv[0] in _SHELLS:
            return self.run(argv, env=environment, cwd=cwd)
        result = self._child(argv, None, None, None, environment, cwd).start()
        return result if isinstance(result, int) else (yield from result)

    def start(self) -> Any:
        """The command's generator, or its status."""
        return COMMANDS[self.argv[0]](self)  # type: ignore[arg-type]

    def execute(self) -> int:
        """Run the command to its end; a limit of the output ends it as a closed pipe does, with status 141."""
        result = self.start()
        if isinstance(result, int):
            return result
        while True:
            try:
                next(result)
            except StopIteration as stop:
                return int(stop.value)
            if self.stdout.full and getattr(self.stdout, "limit", None) is not None:
                result.close()
                return 141


class Outcome(NamedTuple):
    status: int
    stdout: bytes
    stderr: bytes


def ours(
    argv: list[str],
    stdin: bytes = b"",
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    chunk: int = 1 << 16,
) -> Outcome:
    """What our command does; `chunk` is the size in which its input comes."""
    process = NativeProcess(argv, stdin=stdin, cwd=str(cwd), env=env, chunk=chunk)
    status = process.execute()
    return Outcome(status, process.stdout.value(), process.stderr.value())


def real(
    argv: list[str], stdin: bytes = b"", cwd: Path | str = "/", env: Mapping[str, str] | None = None
) -> Outcome:
    """What the machine's command does; skips the test where it is not installed."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not on this machine")
    done = subprocess.run(
        argv,
        input=stdin,
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def same(
    argv: list[str],
    stdin: bytes = b"",
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    stderr: bool = True,
) -> None:
    """Assert that a command that changes nothing does exactly what the real tool does.

    Where the input is cut into chunks must not matter. `stderr=False` leaves standard error out.
    """
    expected = real(argv, stdin, cwd, env)
    got = ours(argv, stdin, cwd, env)
    if not stderr:
        got, expected = got._replace(stderr=b""), expected._replace(stderr=b"")
    assert got == expected
    if stdin:
        assert ours(argv, stdin, cwd, env, chunk=7)[:2] == got[:2]


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


@dataclass
class Case:
    """One command line to try."""

    line: str
    argv: list[str]
    stdin: bytes
    stderr: bool

    def __str__(self) -> str:
        return self.line


_CONTROL = re.compile(r"\\(n|t|r|0|\\|\"|x[0-9a-f]{2})")


def _input(text: str) -> bytes:
    """Escapes of standard input after `<<<`."""

    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x":
            return chr(int(code[1:], 16))
        return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(code, code)

    return _CONTROL.sub(replace, text).encode("latin-1")


def cases(text: str) -> list[Case]:
    """Command lines in the words of a shell, one a line.

    `<<< "text"` is standard input with the escapes of C; a leading `@` leaves standard error uncompared.
    """
    found: list[Case] = []
    for line in text.strip().splitlines():
        words = shlex.split(line)
        stdin = b""
        if "<<<" in words:
            at = words.index("<<<")
            stdin = _input(words[at + 1])
            words = words[:at]
        quiet = words[0] == "@"
        found.append(Case(line, words[quiet:], stdin, not quiet))
    return found


def make_tree(root: Path) -> None:
    """Some files of every kind with fixed contents, permissions and times."""
    root.mkdir()
    contents = {
        "a": b"one\ntwo\nthree\n",
        "b": b"two\nfour",
        "empty": b"",
        "num": b"10 x\n9 y\n-3 z\n2.5 w\n1e3 v\nabc\n\n  7 u\n10 a\n",
        "tabs": b"a\tb\tc\n\t\tx\nab  cd\te\n",
        "csv": b"n,a,c\nbob,3,x\namy,10,y\n,,\nzed\n",
        "dup": b"a\na\nb\nA\nc\nc\nc\n",
        "text": (
            "The quick brown fox jumps over the lazy dog.  It was\nnot amused.\n\n"
            "  Indented paragraph here that goes on and on and on, for a long time, until wrapped.\n"
            "  Second line.\nété 漢字\n"
        ).encode(),
        "bin": bytes(range(256)) * 3,
        "nums": b"".join(b"%d\n" % (number * 7919 % 1000) for number in range(300)),
        "blank": b"\n\n\na\n\n\n\nb\n\n",
        "x y": b"space\n",
        "run.sh": b"#!/bin/sh\n",
        "dir/f1": b"x",
        "dir/f2": b"yy" * 5000,
        "dir/sub/deep.txt": b"deep\n",
    }
    (root / "dir" / "sub").mkdir(parents=True)
    for name, data in contents.items():
        (root / name).write_bytes(data)
    for name, target in (("link", "a"), ("broken", "nowhere"), ("dlink", "dir")):
        (root / name).symlink_to(target)
    (root / "run.sh").chmod(0o755)
    for directory, subdirectories, files in os.walk(root, topdown=False):
        for day, name in enumerate(sorted(files + subdirectories)):
            moment = 1_700_000_000 + day * 86400
            os.utime(os.path.join(directory, name), (moment, moment + 0.25), follow_symlinks=False)
    os.utime(root, (1_700_000_000, 1_700_000_000))


@functools.cache
def example_tree() -> Path:
    """A tree of example files for commands that only read."""
    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    make_tree(place / "tree")
    return place / "tree"


def same_effect(argv: list[str], stdin: bytes, place: Path, stderr: bool = True) -> None:
    """Assert that a command does to the example files exactly what the real tool does."""
    outcomes = []
    for name, run in (("real", real), ("ours", ours)):
        root = place / name / "tree"
        (place / name).mkdir()
        make_tree(root)
        outcome = run(argv, stdin, root)
        if not stderr:
            outcome = outcome._replace(stderr=b"")
        outcomes.append((outcome, tree(root)))
    assert outcomes[1] == outcomes[0]


_ARCHIVES = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zip")


def same_sequence(line: str, place: Path) -> None:
    """Assert that commands separated by `;;` print and leave what the real ones do; archives may differ."""
    results = []
    for name, run in (("real", real), ("ours", ours)):
        root = place / name / "tree"
        (place / name).mkdir()
        make_tree(root)
        outcomes = []
        for command in line.split(";;"):
            words = shlex.split(command)
            runner = run
            if words[0] == "!":
                words, runner = words[1:], real
            outcomes.append((command, runner(words, b"", root)))
        left = {path: state for path, state in tree(root).items() if not path.endswith(_ARCHIVES)}
        results.append((outcomes, left))
    assert results[1] == results[0]
