"""Where `cp`, `mv` and `install` put each of their operands."""

from __future__ import annotations

import os

from planaria_shell.commands.files.copying import base_name, into_directory
from planaria_shell.toolkit.invocation import CommandError, Invocation
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import shell_quote_always as shown

__all__ = ["places"]


def places(call: Invocation, missing: str = "missing file operand") -> tuple[list[str], list[str]]:
    """The sources of cp, mv or install and the name each is to get."""
    arguments = call.arguments
    names = call.operands
    directory = arguments.value("t")
    if not names:
        raise UsageError(missing)
    if directory is not None:
        if arguments.has("T"):
            raise UsageError(
                "cannot combine --target-directory (-t) and --no-target-directory (-T)", hint=False
            )
        if not os.path.isdir(call.path(directory)):
            call_reason = (
                "No such file or directory" if not os.path.exists(call.path(directory)) else "Not a directory"
            )
            raise CommandError(f"target directory {shown(directory)}: {call_reason}")
    elif len(names) < 2:
        raise UsageError(f"missing destination file operand after {shown(names[0])}")
    elif arguments.has("T"):
        if len(names) > 2:
            raise UsageError(f"extra operand {shown(names[2])}")
        return names[:1], names[1:]
    elif os.path.isdir(call.path(names[-1])):
        directory, names = names[-1], names[:-1]
    elif len(names) > 2 or names[-1].endswith("/"):
        target = names[-1]
        if len(names) == 2 and not os.path.lexists(call.path(target).rstrip("/")):
            # cp and mv of a directory may name the new one with a slash.
            return names[:1], names[1:]
        exists = os.path.exists(call.path(target))
        if len(names) == 2:
            return names[:1], names[1:]
        raise CommandError(
            f"target {shown(target)}{': Not a directory' if exists else ': No such file or directory'}"
        )
    else:
        return names[:1], names[1:]
    sources = (
        [name.rstrip("/") or "/" for name in names] if arguments.has("strip-trailing-slashes") else names
    )
    return sources, [into_directory(directory, base_name(name)) for name in sources]
