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
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from planaria_shell.commands import load
from planaria_shell.run.command import COMMANDS, Input, Output

load()

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
            done = subprocess.run(
                argv, cwd=child.cwd, env=child.env, input=source.read(), capture_output=True, check=False
            )
            child.stdout.write(done.stdout)
            stderr.write(done.stderr)
            return done.returncode
        return drive(child)

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
        if argv[0] not in COMMANDS:
            return self.run(argv, env=environment, cwd=cwd)
        child = NativeProcess(argv, cwd or self.cwd, self.stdin, self.stdout, self.stderr, environment)
        result = COMMANDS[argv[0]](child)  # type: ignore[arg-type]
        return result if isinstance(result, int) else (yield from result)


def drive(process: NativeProcess) -> int:
    """Run a command to its end."""
    result = COMMANDS[process.argv[0]](process)  # type: ignore[arg-type]
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
            outcome.stderr = b""
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
