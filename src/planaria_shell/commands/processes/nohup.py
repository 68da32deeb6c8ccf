"""`nohup`: run COMMAND, ignoring hangup signals."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always


@command("nohup", usage="COMMAND [ARG]...", order="options first", failure=125)
def nohup(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND, ignoring hangup signals."""
    if not call.operands:
        raise UsageError("missing operand")
    return (yield from call.replace(call.operands, quote=shell_quote_always))
