"""`envsubst`: environment variables in text (GNU gettext)."""

from __future__ import annotations

import re
from collections.abc import Generator

from planaria_shell.run.command import Process
from planaria_shell.toolkit import usage

_VARIABLE = re.compile(rb"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


@usage.command("envsubst", version="envsubst (GNU gettext-runtime) 0.21")
def envsubst(process: Process) -> Generator[None, None, int]:
    """envsubst [-v] [SHELL-FORMAT]: only the variables that SHELL-FORMAT names, when it is given."""
    try:
        arguments = usage.parse(process.argv[1:], "hVv", {"variables": "v", "help": "h", "version": "V"})
    except usage.UsageError as error:
        usage.complain(process, str(error))
        return 1
    if len(arguments.operands) > 1:
        process.error("too many arguments")
        return 1
    layout = arguments.operands[0].encode("utf-8", "surrogateescape") if arguments.operands else None
    if arguments.has("v"):
        if layout is None:
            process.error("missing arguments")
            return 1
        for match in _VARIABLE.finditer(layout):
            process.stdout.write((match.group(1) or match.group(2)) + b"\n")
        return 0
    wanted = None
    if layout is not None:
        wanted = {match.group(1) or match.group(2) for match in _VARIABLE.finditer(layout)}

    def replace(match: re.Match[bytes]) -> bytes:
        name = match.group(1) or match.group(2)
        if wanted is not None and name not in wanted:
            return match.group()
        value = process.env.get(name.decode("ascii"), "")
        return value.encode("utf-8", "surrogateescape")

    for line in process.stdin:
        process.stdout.write(_VARIABLE.sub(replace, line))
        if process.stdout.full:
            yield
    return 0
