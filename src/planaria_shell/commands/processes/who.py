"""`who`, `users`: show who is logged on."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("who", short="abdHlmpqrstTuw", long="all=a heading=H count=q", usage="[OPTION]...")
def who(call: Invocation) -> Status:
    """Show who is logged on: no one is, since this is not a login session."""
    if call.arguments.has("q"):
        call.print("\n# users=0")
    elif call.arguments.has("H"):
        call.print("NAME     LINE         TIME             COMMENT")
    return 0


@command("users", usage="[OPTION]...")
def users(call: Invocation) -> Status:
    """Print the user names of users currently logged in: none."""
    return 0
