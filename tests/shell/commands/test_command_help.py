"""What all commands do alike."""

from __future__ import annotations

import pytest
from support_core import ours

import planaria_shell.commands as package
from planaria_shell.run.command import COMMANDS

package.load()

#: They have no options, as in POSIX, or are not there in a sandbox and say so.
_OTHERS = {
    ":", "true", "false", "apt", "apt-get", "git", "ssh", "su", "sudo", "nano", "vi", "vim", "top", "watch",
    "echo", "printf", "ps", "man", "less", "more", "most", "pg", "xxd", "sqlite3", "bash", "sh", "dash",
    "sleep", "curl", "wget", "zstd", "unzstd", "zstdcat", "stty",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(name for name in COMMANDS if name not in _OTHERS))
def test_a_command_answers_help_on_standard_output(name: str) -> None:
    """`--help` prints how the command is used, says nothing on standard error and succeeds."""
    outcome = ours([name, "--help"])
    assert outcome.status == 0
    assert b"sage" in outcome.stdout or name.encode() in outcome.stdout
    assert not outcome.stderr
