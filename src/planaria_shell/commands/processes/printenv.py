"""`printenv`: print the values of the specified environment VARIABLE(s), or of all."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command(
    "printenv", short="0", long="null=0", usage="[OPTION]... [VARIABLE]...", order="options first", failure=2
)
def printenv(call: Invocation) -> Status:
    """Print the values of the specified environment VARIABLE(s), or of all."""
    end = "\0" if call.arguments.has("0") else "\n"
    if not call.operands:
        for name, value in call.env.items():
            call.print(f"{name}={value}", end)
        return 0
    status = 0
    for name in call.operands:
        if name in call.env and "=" not in name:
            call.print(call.env[name], end)
        else:
            status = 1
    return status
