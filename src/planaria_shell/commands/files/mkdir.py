"""`mkdir`: create the DIRECTORY(ies), if they do not already exist."""

from __future__ import annotations

import errno
import os

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown


@command(
    "mkdir", short="m:pvZ", long="mode=m: parents=p verbose=v context::", usage="[OPTION]... DIRECTORY..."
)
def mkdir(call: Invocation) -> Status:
    """Create the DIRECTORY(ies), if they do not already exist."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    text = arguments.value("m")
    mode = 0o777 & ~call.umask
    if text is not None:
        parsed = parse_mode(text, 0o777, True, call.umask)
        if parsed is None:
            raise CommandError(f"invalid mode {quote(text)}")
        mode = parsed
    for name in call.operands:
        if arguments.has("p"):
            _make_parents(call, name, mode if text is not None else None)
            continue
        try:
            _make_directory(call, name, mode)
        except OSError as error:
            call.complain(f"cannot create directory {quote(name)}", error)
    return call.status


def _make_directory(call: Invocation, name: str, mode: int) -> None:
    path = call.path(name)
    os.mkdir(path, mode)
    if call.arguments.has("m"):
        os.chmod(path, mode)
    if call.arguments.has("v"):
        call.print(f"{call.name}: created directory {shown(name)}")


def _make_parents(call: Invocation, name: str, mode: int | None) -> None:
    at = ""
    parts = [part for part in name.split("/") if part]
    lead = "/" if name.startswith("/") else ""
    for index, part in enumerate(parts):
        at = f"{at}/{part}" if index else lead + part
        path = call.path(at)
        if os.path.isdir(path):
            continue
        last = index == len(parts) - 1
        try:
            if os.path.lexists(path):
                raise (
                    FileExistsError(errno.EEXIST, "File exists")
                    if last
                    else NotADirectoryError(errno.ENOTDIR, "Not a directory")
                )
            os.mkdir(path, 0o777 & ~call.umask)
            if last and mode is not None:
                os.chmod(path, mode)
        except OSError as error:
            call.complain(f"cannot create directory {quote(at)}", error)
            return
        if call.arguments.has("v"):
            call.print(f"{call.name}: created directory {shown(at)}")
