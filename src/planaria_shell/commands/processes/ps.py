"""`ps`: show processes."""

from __future__ import annotations

import re
import time

from planaria_shell.state.command import Status
from planaria_shell.toolkit.file_times import format_time
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.users import (
    current_user,
    user_name,
)


@command("ps", usage="[OPTION]...", raw=True)
def ps(call: Invocation) -> Status:
    """Show processes: the shell is the only one."""
    words = "".join(word.lstrip("-") for word in call.operands if not re.match(r"--|\d", word))
    if "u" in words and "-u" not in call.operands:
        call.print("USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND")
        start = format_time(time.time_ns(), "%H:%M", call.env)
        call.print(
            f"{user_name(current_user()) or 'user':<9} {1:>6}  0.0  0.0      0     0 ?        R    "
            f"{start}   0:00 bash"
        )
    elif "f" in words:
        call.print("UID          PID    PPID  C STIME TTY          TIME CMD")
        start = format_time(time.time_ns(), "%H:%M", call.env)
        call.print(
            f"{user_name(current_user()) or 'user':<10} {1:>5} {0:>7}  0 {start} ?        00:00:00 bash"
        )
    else:
        call.print("    PID TTY          TIME CMD\n      1 ?        00:00:00 bash")
    return 0
