"""`pwd`: print the full filename of the current working directory."""

from __future__ import annotations

import os

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("pwd", short="LP", long="logical=L physical=P", usage="[OPTION]...")
def pwd(call: Invocation) -> Status:
    """Print the full filename of the current working directory."""
    if call.operands:
        call.error("ignoring non-option arguments")
    logical = call.arguments.last(("L", "P")) == "L"
    named = call.env.get("PWD", "")
    if logical and named.startswith("/") and os.path.realpath(named) == os.path.realpath(call.cwd):
        call.print(named)
    else:
        call.print(os.path.realpath(call.cwd))
    return 0
