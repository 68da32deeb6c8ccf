"""`bash` and `sh` as commands: scripts in a shell of their own."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell import invocation
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("bash", "rbash", "sh", "dash", raw=True)
def bash(call: Invocation) -> Generator[None, None, Status]:
    """Run a script, a command line (`-c`) or standard input in a shell of its own."""
    return invocation.bash(call.process)
