"""`dirname`: output each NAME with its last non-slash component and trailing slashes removed."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError


@command("dirname", short="z", long="zero=z", usage="[OPTION] NAME...")
def dirname(call: Invocation) -> Status:
    """Output each NAME with its last non-slash component and trailing slashes removed."""
    if not call.operands:
        raise UsageError("missing operand")
    for name in call.operands:
        stripped = name.rstrip("/")
        directory, slash, _ = stripped.rpartition("/")
        if not stripped:
            directory = "/" if name else "."
        elif not slash:
            directory = "."
        else:
            directory = directory.rstrip("/") or "/"
        call.print(directory, "\0" if call.arguments.has("z") else "\n")
    return 0
