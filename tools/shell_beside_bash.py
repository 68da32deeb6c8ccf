"""Count where the shell here and real bash differ: `python tools/shell_beside_bash.py FILE...`.

A file holds one script, or several cases: separated by lines `# ----` as in `tests/shell/scripts`, or
headed by lines `#### name` (what follows a line that begins with `## ` describes the case and is not run).
Each case runs in both shells in an empty directory of its own; standard output and the exit status are
compared. For each file the tool prints how many cases agree and which differ; with `-v` also what the two
wrote.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from planaria_shell.shell import Shell
from planaria_shell.state.command import COMMANDS
from planaria_shell.state.streams import CapturedOutput, NullStream

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/user",
    "USER": "user",
    "LC_ALL": "C.UTF-8",
}
#: Seconds that a case may take, and what stands for its output and status when it takes more.
_SECONDS = 20
_ENDLESS = (b"", -1)


def cases(path: Path) -> Iterator[tuple[str, str]]:
    """The cases of a file with their names."""
    text = path.read_text("utf-8", "surrogateescape")
    if re.search(r"^#### ", text, re.MULTILINE):
        for piece in re.split(r"^#### ", text, flags=re.MULTILINE)[1:]:
            name, _, body = piece.partition("\n")
            yield name.strip(), re.split(r"^## ", body, maxsplit=1, flags=re.MULTILINE)[0]
    elif re.search(r"^# ----$", text, re.MULTILINE):
        pieces = re.split(r"^# ----\n", text, flags=re.MULTILINE)[1:]
        yield from ((str(number), piece) for number, piece in enumerate(pieces))
    else:
        yield path.name, text


def in_bash(script: str) -> tuple[bytes, int, bytes]:
    """Standard output, status and standard error of real bash."""
    directory = tempfile.mkdtemp()
    try:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=directory,
            env=_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return (*_ENDLESS, b"")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return done.stdout.replace(directory.encode(), b"DIR"), done.returncode, done.stderr


def in_ours(script: str) -> tuple[bytes, int, bytes]:
    """Standard output, status and standard error of our shell, in a process of its own."""
    directory = tempfile.mkdtemp()
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(_SECONDS)
        out, err = CapturedOutput(), CapturedOutput()
        os.chdir(directory)
        try:
            shell = Shell(env=dict(_ENVIRONMENT), cwd=directory, stdin=NullStream(), stdout=out, stderr=err)
            shell.run(script, where="-c: ")
            status = shell.finish()
        except BaseException as error:
            err.write(f"{type(error).__name__}: {error}".encode())
            status = -1
        with os.fdopen(writing, "wb") as file:
            file.write(json.dumps([out.getvalue().hex(), status, err.getvalue().hex()]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(process, 0)
    shutil.rmtree(directory, ignore_errors=True)
    if not data:
        return (*_ENDLESS, b"the process ended")
    written, status, said = json.loads(data)
    return bytes.fromhex(written).replace(directory.encode(), b"DIR"), status, bytes.fromhex(said)


def _show(title: str, output: bytes, status: int, said: bytes) -> None:
    print(f"    {title} (status {status}):")
    for line in output.decode("utf-8", "backslashreplace").splitlines():
        print(f"      | {line}")
    for line in said.decode("utf-8", "backslashreplace").splitlines():
        print(f"      ! {line}")


def main() -> int:
    """Run the cases of the files; 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="show what the two wrote")
    parser.add_argument("-k", "--match", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    COMMANDS.load()
    agreeing = total = 0
    for path in options.files:
        chosen = [(name, script) for name, script in cases(path) if options.match in name]
        differing = []
        for name, script in chosen:
            theirs, ours = in_bash(script), in_ours(script)
            if theirs[:2] != ours[:2]:
                differing.append((name, script, theirs, ours))
        agreeing += len(chosen) - len(differing)
        total += len(chosen)
        print(f"{path}: {len(chosen) - len(differing)} of {len(chosen)}")
        for name, script, theirs, ours in differing:
            print(f"  {name}")
            if options.verbose:
                print("".join(f"    > {line}\n" for line in script.strip().splitlines()), end="")
                _show("bash", *theirs)
                _show("planaria", *ours)
    print(f"{agreeing} of {total} ({100 * agreeing / max(total, 1):.1f} %)")
    return agreeing != total


if __name__ == "__main__":
    sys.exit(main())
