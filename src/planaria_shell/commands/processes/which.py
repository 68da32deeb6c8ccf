"""`which`: print where the commands with these names are."""

from __future__ import annotations

import os

from planaria_shell.state.command import COMMANDS, Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("which", short="as", long="all=a", usage="[-a] NAME...")
def which(call: Invocation) -> Status:
    """Print where the commands with these names are."""
    status = 0
    for name in call.operands:
        found: list[str] = []
        if "/" in name:
            if os.access(call.path(name), os.X_OK) and not os.path.isdir(call.path(name)):
                found = [name]
        else:
            for directory in call.env.get("PATH", "/usr/bin:/bin").split(":"):
                path = os.path.join(call.path(directory or "."), name)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    found.append(path)
            if not found and name in COMMANDS:
                found = [f"/usr/bin/{name}"]
        if not found:
            status = 1
        elif not call.arguments.has("s"):
            for path in found if call.arguments.has("a") else found[:1]:
                call.print(path)
    return status
