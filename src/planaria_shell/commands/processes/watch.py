"""`watch`: not here."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command


@command("watch", raw=True)
def watch(call: Invocation) -> Status:
    """Not here: it would never end."""
    raise CommandError("not available: it runs until it is interrupted; use a loop with sleep")
