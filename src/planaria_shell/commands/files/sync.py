"""`sync`: write what is cached to persistent storage."""

from __future__ import annotations

import os

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.quoting import shell_quote_always
from planaria_shell.toolkit.streams import reason


@command("sync", short="df", long="data=d file-system=f", usage="[OPTION] [FILE]...")
def sync(call: Invocation) -> Status:
    """Write what is cached to persistent storage; here every write is there at once."""
    for name in call.operands:
        try:
            os.stat(call.path(name))
        except OSError as error:
            call.complain(f"error opening {shell_quote_always(name)}: {reason(error)}")
    return call.status
