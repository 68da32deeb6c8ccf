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

SCRIPTS = Path(__file__).parent / "scripts"
BASH = shutil.which("bash")
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


@pytest.mark.skipif(BASH is None, reason="there is no bash to compare with")
@pytest.mark.parametrize("script", sections())
def test_section_behaves_as_in_bash(script: str, tmp_path: Path) -> None:
    """A section writes the same, ends with the same status and reports the same errors as in real bash."""
    absent = missing(script)
    if absent:
        pytest.skip(f"commands that are not there: {', '.join(sorted(absent))}")
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    real = subprocess.run(
        ["bash", "-c", script],
        cwd=theirs,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    out, err = CapturedOutput(), CapturedOutput()
    shell = Shell(env=environment(), cwd=str(ours), stdin=NullStream(), stdout=out, stderr=err)
    shell.run(script, where="-c: ")
    status = shell.finish()

    def text(data: bytes, place: Path) -> str:
        return data.decode("utf-8", "replace").replace(str(place), "DIR")

    assert text(out.getvalue(), ours) == text(real.stdout, theirs)
    assert status == real.returncode
    said, wanted = text(err.getvalue(), ours), text(real.stderr, theirs)
    assert len(ORIGIN.sub("bash: ", said).splitlines()) == len(ORIGIN.sub("bash: ", wanted).splitlines())
