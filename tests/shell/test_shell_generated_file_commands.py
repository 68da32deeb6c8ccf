"""Generated commands about files, run by our shell and by real bash with GNU's programs."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from file_command_generator import FileCommandGenerator

from planaria_shell.shell import Shell
from planaria_shell.state.streams import CapturedOutput, NullStream

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in ("bash", "tree", "file")),
        reason="the programs to compare with are not all there",
    ),
]

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root"}
CASES = 60
#: What stands before a message of the shell, and the hint that only ours has behind it.
AROUND = re.compile(r"^(?:bash|environment): (?:line \d+: )?|(?: \(did you mean .*)$", re.MULTILINE)
#: What is there after a command: kinds, permissions, names of the same file, sizes and where links lead.
LISTING = "find . \\( -type f -printf '%P %m %n %s\\n' -o -type l -printf '%P -> %l\\n' -o -printf '%P %y %m\\n' \\) | sort"


def _script(cases: list[tuple[list[str], str]]) -> str:
    """All cases, each in a tree of its own, deep enough for links that lead up."""
    lines = ["shopt -s extglob; top=$PWD"]
    for number, (tree, command) in enumerate(cases):
        lines += [
            f"mkdir -p {number}/1/2/3/4/5; cd {number}/1/2/3/4/5",
            *tree,
            "unset OLDPWD",
            f"echo '@@{number}'",
        ]
        lines += [f"( {command}\n)", 'echo "= $?"', LISTING, 'cd "$top"']
    return "\n".join(lines) + "\n"


def _outcomes(output: bytes) -> list[list[str]]:
    """What each case wrote. Directories are read in any order, and so is what is reported about their files."""
    text = AROUND.sub("", output.decode(errors="replace"))
    return [sorted(part.split("\n")) for part in re.split(r"^@@", text, flags=re.MULTILINE)]


@pytest.mark.parametrize("seed", range(20))
def test_commands_about_files_do_what_the_programs_do(seed: int, tmp_path: Path) -> None:
    """Messages, statuses and what has become of the files are those of bash and GNU's programs."""
    generator = FileCommandGenerator(random.Random(seed))
    cases = [(generator.tree(), generator.command()) for _ in range(CASES)]
    script = _script(cases)
    outputs: list[bytes] = []
    for ours in (False, True):
        # The same names, so that both say the same of them.
        directory = tmp_path / "files"
        directory.mkdir()
        if ours:
            out = CapturedOutput()
            shell = Shell(env=ENVIRONMENT, cwd=str(directory), stdin=NullStream(), stdout=out, stderr=out)
            shell.run(script)
            shell.finish()
            outputs.append(out.getvalue())
        else:
            done = subprocess.run(
                ["bash", "-c", script], env=ENVIRONMENT, cwd=directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False,
            )  # fmt: skip
            outputs.append(done.stdout)
        os.rename(directory, tmp_path / f"done-{ours}")
    theirs, mine = map(_outcomes, outputs)
    assert len(theirs) == len(mine) == CASES + 1
    for case, wanted, got in zip(cases, theirs[1:], mine[1:], strict=True):
        assert got == wanted, case
