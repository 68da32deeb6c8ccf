"""`sleep`: pause for the sum of the NUMBERs."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.commands.processes.durations import duration, pause
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


@command("sleep", usage="NUMBER[SUFFIX]...")
def sleep(call: Invocation) -> Generator[None, None, Status]:
    """Pause for the sum of the NUMBERs: seconds, or with a suffix minutes (m), hours (h), days (d)."""
    if not call.operands:
        raise UsageError("missing operand")
    total = 0.0
    bad = False
    for text in call.operands:
        seconds = duration(text)
        if seconds is None:
            call.error(f"invalid time interval {quote(text)}")
            bad = True
        else:
            total += seconds
    if bad:
        call.warn(f"Try '{call.argv[0]} --help' for more information.")
        return 1
    yield from pause(call, total)
    return 0
