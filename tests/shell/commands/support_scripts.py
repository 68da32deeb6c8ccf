"""Lines of shell, run by this machine's bash with its own tools and by our shell with ours, to compare them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from planaria_shell.run.shell import Shell
from planaria_shell.run.streams import CapturedOutput, NullStream

ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "TZ": "UTC0", "HOME": "/root"}
_FILES = {
    "a": b"one\ntwo\nthree\nfour\nfive\n",
    "b": b"two\nfour\nsix",
    "f": b"a b c\n1 2 3\nx  y\tz\n",
    "t": b"foo 1 2.5\nbar 2 3.5\nfoo 3 1\n",
    "u": "héllo wörld\nnaïve café\n".encode(),
    "n": b"10\n9\n2\n1\n10\n",
    "bad": b"x\xff\xfey\n",
    "crlf": b"l1\r\nl2\r\n",
    "empty": b"",
    "csv": b'name,age,city\nbob,30,paris\nalice,25,"new york"\ncarol,,rome\n',
    "d/top.c": b"top\n",
    "d/e/deep.txt": b"deep\n",
}


class Outcome(NamedTuple):
    stdout: bytes
    stderr: bytes
    status: int


def _directory() -> Path:
    root = Path(tempfile.mkdtemp())
    for name, data in _FILES.items():
        path = root / "w" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1577934245, 1577934245))
    os.symlink("top.c", root / "w" / "d" / "link")
    return root


def _plain(data: bytes, root: Path) -> bytes:
    return data.replace(os.fsencode(root), b"ROOT")


def _real(script: str) -> Outcome:
    root = _directory()
    process = subprocess.Popen(
        ["bash", "-c", script],
        cwd=root / "w", env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return Outcome(_plain(out, root), _plain(err, root), process.returncode)


def _ours(script: str) -> Outcome:
    root = _directory()
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(
        env=dict(ENVIRONMENT), cwd=str(root / "w"), name="bash", stdin=NullStream(), stdout=out, stderr=err
    )
    try:
        shell.run(script)
        status = shell.finish()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return Outcome(_plain(out.getvalue(), root), _plain(err.getvalue(), root), status)


def same_as_bash(script: str, *, stderr: bool = True) -> None:
    """Assert that a script writes what it writes with the machine's tools; `stderr=False` leaves that out.

    The first word of each line must be a tool of this machine, or the test is skipped.
    """
    tool = script.split(None, 1)[0]
    if "=" not in tool and shutil.which(tool) is None and tool.isalnum():
        pytest.skip(f"{tool} is not on this machine")
    expected, got = _real(script), _ours(script)
    if not stderr:
        got, expected = got._replace(stderr=b""), expected._replace(stderr=b"")
    assert got == expected
