"""`clear`, `reset`: clear the screen."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("clear", "reset", short="T:Vx", usage="[OPTION]")
def clear(call: Invocation) -> Status:
    """Clear the screen."""
    if call.env.get("TERM", "dumb") != "dumb":
        call.print("\x1b[H\x1b[2J\x1b[3J", "")
    return 0
