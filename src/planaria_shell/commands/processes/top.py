"""`top`: not here."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command


@command("top", raw=True)
def top(call: Invocation) -> Status:
    """Not here: there is no terminal to draw on and one process only."""
    raise CommandError("there is no terminal to draw on; the shell is the only process (see ps)")
