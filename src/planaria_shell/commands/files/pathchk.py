"""`pathchk`: diagnose invalid or unportable file names."""

from __future__ import annotations

import errno
import os

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote, shell_quote, shell_quote_always
from planaria_shell.toolkit.streams import reason


@command("pathchk", short="pP", long="portability", usage="[OPTION]... NAME...")
def pathchk(call: Invocation) -> Status:
    """Diagnose invalid or unportable file names."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    portable = arguments.has("p", "portability")
    extra = arguments.has("P", "portability")
    for name in call.operands:
        problem = _path_problem(call, name, portable, extra)
        if problem:
            call.complain(problem)
    return call.status


def _path_problem(call: Invocation, name: str, portable: bool, extra: bool) -> str | None:
    parts = name.split("/")
    if extra:
        for part in parts:
            if part.startswith("-"):
                return f"leading '-' in a component of file name {shell_quote_always(name)}"
    if (portable or extra) and not name:
        return "empty file name"
    if portable:
        for c in name:
            if not (c.isascii() and (c.isalnum() or c in "._-/")):
                return f"nonportable character {quote(c)} in file name {shell_quote_always(name)}"
    longest, part_longest = (256, 14) if portable else (4096, 255)
    if not portable:
        try:
            os.lstat(call.path(name) if name else "")
        except FileNotFoundError:
            if not name:
                return f"{shell_quote_always(name)}: No such file or directory"
        except OSError as error:
            if error.errno not in (errno.ENAMETOOLONG,):
                return f"{shell_quote(name)}: {reason(error)}"
    if len(os.fsencode(name)) >= longest:
        size = len(os.fsencode(name))
        return f"limit {longest - 1} exceeded by length {size} of file name {shell_quote_always(name)}"
    for part in parts:
        size = len(os.fsencode(part))
        if size > part_longest:
            return f"limit {part_longest} exceeded by length {size} of file name component {quote(part)}"
    return None
