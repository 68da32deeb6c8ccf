"""`mkdir`: create the DIRECTORY(ies), if they do not already exist."""

from __future__ import annotations

import os

from planaria_shell.commands.files.chmod import parse_mode
from planaria_shell.commands.files.parents import make_directories
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
            existed = os.path.isdir(call.path(name))
            made = make_directories(call, name, 0o777 & ~call.umask, "created")
            if made and not existed and text is not None:
                os.chmod(call.path(name), mode)
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
