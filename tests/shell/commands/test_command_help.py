"""What all commands do alike."""

from __future__ import annotations

import pytest
from harness import ours

from planaria_shell.state.command import COMMANDS

#: They have no options, as in POSIX, or are not there in a sandbox and say so.
_OTHERS = {
    ":", "true", "false", "apt", "apt-get", "git", "ssh", "su", "sudo", "nano", "vi", "vim", "top", "watch",
    "echo", "printf", "ps", "man", "less", "more", "most", "pg", "xxd", "sqlite3", "bash", "rbash", "sh", "dash",
    "sleep", "curl", "wget", "zstd", "unzstd", "zstdcat", "stty",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(name for name in COMMANDS if name not in _OTHERS))
def test_a_command_answers_help_on_standard_output(name: str) -> None:
    """`--help` prints how the command is used, says nothing on standard error and succeeds."""
    outcome = ours([name, "--help"])
    assert outcome.status == 0
    assert b"sage" in outcome.stdout or name.encode() in outcome.stdout
    assert not outcome.stderr
