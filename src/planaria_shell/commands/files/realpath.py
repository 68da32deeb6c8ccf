"""`realpath`: print the resolved absolute file name."""

from __future__ import annotations

import errno
import os

from planaria_shell.commands.files.path_resolution import resolve
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.streams import reason


@command(
    "realpath",
    short="eLmPqsz",
    long="canonicalize-existing=e canonicalize-missing=m relative-to: relative-base: quiet=q strip=s "
    "no-symlinks=s "
    "zero=z logical=L physical=P",
    usage="[OPTION]... FILE...",
)
def realpath(call: Invocation) -> Status:
    """Print the resolved absolute file name; all but the last component must exist."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing operand")
    kind = {"e": "nothing", "m": "anything"}.get(arguments.last(("e", "m")) or "", "last")
    logical = arguments.last(("L", "P", "s"))

    def canonical(name: str) -> str:
        if not name:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        path = call.path(name)
        if logical in ("L", "s"):
            path = resolve(path, kind, follow=False)
        return path if logical == "s" else resolve(path, kind)

    bases: list[str | None] = []
    for option in ("relative-to", "relative-base"):
        name = arguments.value(option)
        try:
            bases.append(None if name is None else canonical(name))
        except OSError as error:
            call.complain(shell_quote(name or ""), error)
            return 1
    relative_to, base = bases
    if base is not None and relative_to is not None and not _below(relative_to, base):
        relative_to = base = None
    elif base is not None and relative_to is None:
        relative_to = base
    for name in call.operands:
        try:
            text = canonical(name)
        except OSError as error:
            if not arguments.has("q"):
                call.error(f"{shell_quote(name)}: {reason(error)}")
            call.status = 1
            continue
        if relative_to is not None and (base is None or _below(text, base)):
            text = os.path.relpath(text, relative_to)
        call.print(text, "\0" if arguments.has("z") else "\n")
    return call.status


def _below(path: str, base: str) -> bool:
    return path == base or path.startswith(base.rstrip("/") + "/")
