"""`uptime`: tell how long the shell has been running."""

from __future__ import annotations

import time

from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, command

_STARTED = time.monotonic()


@command("uptime", short="ps", long="pretty=p since=s", usage="[OPTION]")
def uptime(call: Invocation) -> Status:
    """Tell how long the shell has been running."""
    seconds = int(time.monotonic() - _STARTED)
    now = time.time_ns()
    if call.arguments.has("s"):
        call.print(format_time(now - seconds * 10**9, "%Y-%m-%d %H:%M:%S", call.env))
        return 0
    hours, minutes = divmod(seconds // 60, 60)
    if call.arguments.has("p"):
        words = [f"{hours} hour{'s' * (hours != 1)}"] if hours else []
        call.print("up " + ", ".join([*words, f"{minutes} minute{'s' * (minutes != 1)}"]))
        return 0
    clock = format_time(now, "%H:%M:%S", call.env)
    lasted = f"{hours:2d}:{minutes:02d}" if hours else f"{minutes} min"
    call.print(f" {clock} up {lasted},  1 user,  load average: 0.00, 0.00, 0.00")
    return 0
