"""`nproc`: print the number of processing units available."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


@command("nproc", long="all ignore:", usage="[OPTION]...")
def nproc(call: Invocation) -> Status:
    """Print the number of processing units available."""
    text = call.arguments.value("ignore") or "0"
    if not text.isdigit():
        raise UsageError(f"invalid number: {quote(text)}", hint=False)
    call.print("1")
    return 0
