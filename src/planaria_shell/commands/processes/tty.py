"""`tty`: print the file name of the terminal connected to standard input."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("tty", short="s", long="silent=s quiet=s", usage="[OPTION]...", failure=2)
def tty(call: Invocation) -> Status:
    """Print the file name of the terminal connected to standard input: there is none."""
    if not call.arguments.has("s"):
        call.print("not a tty")
    return 1
