"""`free`: show memory."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command


@command(
    "free", short="bkmghtw", long="bytes=b kibi=k mebi=m gibi=g human=h total=t wide=w", usage="[OPTION]..."
)
def free(call: Invocation) -> Status:
    """Show memory; a sandbox has no memory statistics of its own."""
    raise CommandError("memory statistics are not available in the sandbox")
