"""`stdbuf`: run COMMAND; how its streams are buffered is up to the shell."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError


@command(
    "stdbuf",
    short="i:o:e:",
    long="input=i: output=o: error=e:",
    usage="OPTION... COMMAND",
    order="options first",
    failure=125,
)
def stdbuf(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND; how its streams are buffered is up to the shell."""
    if not call.operands:
        raise UsageError("missing operand")
    if not call.arguments.options:
        raise UsageError("you must specify a buffering mode option")
    return (yield from call.replace(call.operands))
