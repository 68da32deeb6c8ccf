"""Scripts of our own, each section run by real bash and by the shell here, and compared."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from planaria_shell.builtins import BUILTINS
from planaria_shell.shell import Shell
from planaria_shell.state.command import COMMANDS
from planaria_shell.state.streams import CapturedOutput, NullStream
from planaria_shell.syntax.analysis import analyze

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parent / "scripts"
BASH = shutil.which("bash")
#: So often a section is run whose outcomes differ.
ATTEMPTS = 5
#: Where a message comes from is worded differently when there is no file; what it says is compared.
ORIGIN = re.compile(r"^(bash|environment): (-c: )?(line \d+: )?", re.MULTILINE)


def sections() -> list[pytest.param]:  # type: ignore[valid-type]
    """Every section of every script."""
    found = []
    for path in sorted(SCRIPTS.glob("*.sh")):
        pieces = re.split(r"^# ----\n", path.read_text(), flags=re.MULTILINE)[1:]
        found += [pytest.param(piece, id=f"{path.stem}-{number}") for number, piece in enumerate(pieces)]
    return found


def environment() -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/user", "USER": "user", "LC_ALL": "C.UTF-8"}


def missing(script: str) -> set[str]:
    """Commands the section names that are not there: they are other pieces' work."""
    COMMANDS.load()
    known = {*COMMANDS, *BUILTINS, "["}
    text = analyze(script)
    words = {name for name in text.commands if re.fullmatch(r"[a-z][a-z0-9]*", name)}
    if re.search(r"\bls\b", script):
        words.add("ls")
    return {name for name in words if name not in known and shutil.which(name)}


def in_bash(script: str, directory: Path) -> tuple[str, int, int]:
    """What real bash writes, its status, and the number of lines of its messages."""
    real = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )
    return outcome(real.stdout, real.returncode, real.stderr, directory)


def in_our_shell(script: str, directory: Path) -> tuple[str, int, int]:
    """The same of the shell here."""
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env=environment(), cwd=str(directory), stdin=NullStream(), stdout=out, stderr=err)
    shell.run(script, where="-c: ")
    status = shell.finish()
    return outcome(out.getvalue(), status, err.getvalue(), directory)


def outcome(output: bytes, status: int, errors: bytes, directory: Path) -> tuple[str, int, int]:
    written, said = (
        data.decode("utf-8", "replace").replace(str(directory), "DIR") for data in (output, errors)
    )
    return written, status, len(ORIGIN.sub("bash: ", said).splitlines())


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("script", sections())
def test_section_behaves_as_in_bash(script: str, tmp_path: Path) -> None:
    """A section writes the same, ends with the same status and reports the same errors as in real bash."""
    absent = missing(script)
    if absent:
        pytest.skip(f"commands that are not there: {', '.join(sorted(absent))}")
    # The order in which processes that run at once get a processor is not bash's to say: a few runs show what
    # it may do.
    theirs: list[tuple[str, int, int]] = []
    for attempt in range(ATTEMPTS):
        real, shell = tmp_path / f"theirs-{attempt}", tmp_path / f"ours-{attempt}"
        real.mkdir()
        shell.mkdir()
        theirs.append(in_bash(script, real))
        ours = in_our_shell(script, shell)
        if ours in theirs:
            return
    assert ours == theirs[-1]
