"""`man`: there are no manual pages here."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("man", raw=True, failure=16)
def man(call: Invocation) -> Status:
    """There are no manual pages here."""
    names = [word for word in call.operands if not word.startswith("-") and not word.isdigit()]
    if not names:
        call.warn("What manual page do you want?\nFor example, try 'man man'.")
        return 1
    for name in names:
        call.warn(f"No manual entry for {name} (try '{name} --help')")
    return 16
