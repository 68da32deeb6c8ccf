"""Generated commands of text tools, run by our shell and by real bash with GNU's programs."""

from __future__ import annotations

import random
import shutil

import pytest
from beside_bash import needs_bash, ours, theirs
from text_command_generator import SETUP, TextCommandGenerator

pytestmark = [
    pytest.mark.slow,
    needs_bash,
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in ("bc", "column", "hexdump", "xxd")),
        reason="the programs to compare with are not all there",
    ),
]

COMMANDS = 60


@pytest.mark.parametrize("seed", range(12))
def test_text_commands_do_what_the_programs_do(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What text tools write and complain of, and their statuses, are those of the real programs."""
    generator = TextCommandGenerator(random.Random(seed))
    commands = [generator.command() for _ in range(COMMANDS)]
    lines = [f"printf '\\035'; {{ {text}\n}} 2>&1; echo \"= $?\"" for text in commands]
    script = SETUP + "\n".join(lines)
    wanted = theirs(script)[0].split("\x1d")[1:]
    got = ours(script, monkeypatch, translated=False)[0].split("\x1d")[1:]
    for outcome in zip(commands, got, wanted, strict=True):
        assert outcome[1] == outcome[2], outcome[0]
