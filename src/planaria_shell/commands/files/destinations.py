"""Where `cp`, `mv` and `install` put each of their operands."""

from __future__ import annotations

import errno
import os
import stat

from planaria_shell.commands.files.copying import base_name, into_directory
from planaria_shell.toolkit.invocation import CommandError, Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always as shown
from planaria_shell.toolkit.streams import reason

__all__ = ["no_directory", "places"]


def no_directory(call: Invocation, name: str) -> str | None:
    """Why files cannot be put into what an operand names; None for a directory."""
    try:
        found = os.stat(call.path(name) if name else "")
    except OSError as error:
        return reason(error)
    return None if stat.S_ISDIR(found.st_mode) else os.strerror(errno.ENOTDIR)


def places(call: Invocation, label: str = "target directory") -> tuple[list[str], list[str]]:
    """The sources of cp, mv or install and the name each is to get; `label` is for messages about `-t`."""
    arguments = call.arguments
    names = call.operands
    directory = arguments.value("t")
    if not names:
        raise UsageError("missing file operand")
    if arguments.has("strip-trailing-slashes"):
        names = [name.rstrip("/") or "/" for name in names]
    if directory is not None:
        if arguments.has("T"):
            raise UsageError(
                "cannot combine --target-directory (-t) and --no-target-directory (-T)", hint=False
            )
        if (fault := no_directory(call, directory)) is not None:
            raise CommandError(f"{label} {shown(directory)}: {fault}")
    elif len(names) < 2:
        raise UsageError(f"missing destination file operand after {shown(names[0])}")
    elif arguments.has("T"):
        if len(names) > 2:
            raise UsageError(f"extra operand {shown(names[2])}")
        return names[:1], names[1:]
    elif (fault := no_directory(call, names[-1])) is None:
        directory, names = names[-1], names[:-1]
    elif len(names) > 2:
        raise CommandError(f"target {shown(names[-1])}: {fault}")
    else:
        return names[:1], names[1:]
    return names, [into_directory(directory, base_name(name)) for name in names]
