"""`readlink`: print value of a symbolic link or canonical file name."""

from __future__ import annotations

import errno
import os

from planaria_shell.commands.files.path_resolution import resolve
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import reason


@command(
    "readlink",
    short="efmnqsvz",
    long="canonicalize=f canonicalize-existing=e canonicalize-missing=m no-newline=n quiet=q silent=s "
    "verbose=v zero=z",
    usage="[OPTION]... FILE...",
)
def readlink(call: Invocation) -> Status:
    """Print value of a symbolic link or canonical file name."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    how = arguments.last(("e", "f", "m"))
    end = "\0" if arguments.has("z") else "\n"
    if arguments.has("n"):
        if len(call.operands) > 1:
            call.error("ignoring --no-newline with multiple arguments")
        else:
            end = ""
    for name in call.operands:
        path = call.path(name)
        try:
            if not name:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            if how:
                text = resolve(path, {"e": "nothing", "f": "last", "m": "anything"}[how])
            else:
                text = os.readlink(path)
        except OSError as error:
            if arguments.last(("v", "q", "s")) == "v":
                call.error(f"{shell_quote(name)}: {reason(error)}")
            call.status = 1
            continue
        call.print(text, end)
    return call.status
