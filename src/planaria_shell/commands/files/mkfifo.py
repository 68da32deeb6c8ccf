"""`mkfifo`: create named pipes (FIFOs) with the given NAMEs."""

from __future__ import annotations

import errno
import os

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown


@command("mkfifo", short="m:", long="mode=m:", usage="[OPTION]... NAME...")
def mkfifo(call: Invocation) -> Status:
    """Create named pipes (FIFOs) with the given NAMEs."""
    if not call.operands:
        raise UsageError("missing operand")
    text = call.arguments.value("m")
    mode = parse_mode(text, 0o666, False, call.umask) if text is not None else 0o666 & ~call.umask
    if mode is None:
        raise CommandError(f"invalid mode {quote(text or '')}")
    for name in call.operands:
        try:
            if not hasattr(os, "mkfifo"):
                raise OSError(errno.ENOSYS, "Function not implemented")
            os.mkfifo(call.path(name), mode)
        except OSError as error:
            call.complain(f"cannot create fifo {shown(name)}", error)
    return call.status
