"""`rmdir`: remove the DIRECTORY(ies), if they are empty."""

from __future__ import annotations

import errno
import os

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason


@command(
    "rmdir", short="pv", long="ignore-fail-on-non-empty parents=p verbose=v", usage="[OPTION]... DIRECTORY..."
)
def rmdir(call: Invocation) -> Status:
    """Remove the DIRECTORY(ies), if they are empty."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    for operand in call.operands:
        name = operand
        while name and name != "/":
            if arguments.has("v"):
                call.print(f"rmdir: removing directory, {shown(name)}")
            try:
                path = call.path(name)
                if os.path.islink(path.rstrip("/")) and name.endswith("/"):
                    call.complain(f"failed to remove {shown(name)}: Symbolic link not followed")
                    break
                os.rmdir(path)
            except OSError as error:
                if arguments.has("ignore-fail-on-non-empty") and error.errno in (
                    errno.ENOTEMPTY,
                    errno.EEXIST,
                ):
                    break
                what = "failed to remove" if name == operand else "failed to remove directory"
                call.complain(f"{what} {shown(name)}: {reason(error)}")
                break
            if not arguments.has("p"):
                break
            name = name.rstrip("/").rpartition("/")[0].rstrip("/")
    return call.status
