"""`setsid`: run COMMAND in a new session (there are no sessions here: it just runs)."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError


@command(
    "setsid",
    short="cfw",
    long="ctty=c fork=f wait=w",
    usage="[OPTION]... COMMAND [ARG]...",
    order="options first",
)
def setsid(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND in a new session (there are no sessions here: it just runs)."""
    if not call.operands:
        raise UsageError("no command specified")
    return (yield from call.replace(call.operands, refusal="failed to execute {}", quote=str))
