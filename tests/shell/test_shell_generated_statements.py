"""Single generated commands, run by closures, translated to Python, and by real bash."""

from __future__ import annotations

import random

import pytest
from beside_bash import needs_bash, ours, theirs
from script_generator import FINISH, SETUP
from statement_generator import StatementGenerator

pytestmark = [pytest.mark.slow, needs_bash]

FUNCTIONS = 'f() { echo "f$#"; }; g() { return 2; }; h() { echo h; }\n'
#: So many scripts are run, each of some commands.
SCRIPTS, COMMANDS = 80, 5


@pytest.mark.parametrize("seed", range(SCRIPTS))
def test_commands_do_what_bash_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few commands of any kinds leave, write, complain of and end as in bash, translated or not."""
    generator = StatementGenerator(random.Random(seed))
    commands = [generator.statement() for _ in range(COMMANDS)]
    script = SETUP + FUNCTIONS + "\n".join(commands) + "\n" + FINISH
    wanted = theirs(script)
    assert ours(script, monkeypatch, translated=False) == wanted
    assert ours(script, monkeypatch, translated=True) == wanted
