"""flock: run a command while a file is locked."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.streams import reason

__all__: list[str] = []

_NO_INPUT, _BAD_USAGE, _UNAVAILABLE = 66, 64, 69


@utility(
    "flock",
    short="sexunw:oE:Fc:v",
    long="shared=s exclusive=x unlock=u nonblocking=n nonblock=n timeout=w: wait=w: close=o "
    "conflict-exit-code=E: no-fork=F command=c: verbose=v",
    usage="[OPTION]... FILE|DIRECTORY COMMAND [ARG]...\n  or:  flock [OPTION]... FILE|DIRECTORY -c COMMAND\n"
    "  or:  flock [OPTION]... NUMBER",
    order="options first",
    failure=_BAD_USAGE,
)
def flock(call: Invocation) -> Generator[None, None, Status]:
    """Run COMMAND holding a lock on FILE: nothing runs beside this shell, so the lock is there at once."""
    arguments = call.arguments
    for option in ("w", "E"):
        value = arguments.value(option)
        if value is not None and not re.fullmatch(r"\d+(\.\d*)?|\.\d+", value):
            what = "invalid timeout value" if option == "w" else "invalid exit code"
            raise CommandError(f"{what}: '{value}'", _BAD_USAGE)
    names = call.operands
    if not names:
        raise UsageError("not enough arguments")
    name, *command = names
    text = arguments.value("c")
    if command[:1] in (["-c"], ["--command"]):
        if len(command) != 2:
            raise CommandError(f"{command[0]} requires exactly one command argument", _BAD_USAGE)
        text = command[1]
    if text is not None:
        command = [call.env.get("SHELL") or "sh", "-c", text]
    if not command:
        if not name.isdigit():
            raise CommandError(f"bad file descriptor: '{name}'", _BAD_USAGE)
        if int(name) not in getattr(getattr(call.process, "shell", None), "fds", {int(name): None}):
            raise CommandError(f"{name}: {os.strerror(errno.EBADF)}", 65)
        return 0
    path = call.path(name)
    try:
        if not os.path.isdir(path):
            os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o666 & ~call.umask))
    except OSError as error:
        raise CommandError(f"cannot open lock file {name}: {reason(error)}", _NO_INPUT) from None
    return (yield from call.replace(command, refusal="failed to execute {}", quote=str, failure=_UNAVAILABLE))
