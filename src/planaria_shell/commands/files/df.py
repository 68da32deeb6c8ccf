"""`df`: show information about the file system on which each FILE resides, or the root file system."""

from __future__ import annotations

import os

from planaria_shell.commands.files.size_units import Units
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, command
from planaria_shell.toolkit.quoting import shell_quote
from planaria_shell.toolkit.sizes import human_size


@command(
    "df",
    short="aB:hHiklPt:Tx:m",
    long="all=a block-size=B: human-readable=h si=H inodes=i local=l no-sync output:: portability=P "
    "print-type=T "
    "sync total type=t: exclude-type=x:",
)
def df(call: Invocation) -> Status:
    """Show information about the file system on which each FILE resides, or the root file system."""
    arguments = call.arguments
    if arguments.has("output"):
        raise CommandError("--output is not supported")
    units = Units(call)
    inodes = arguments.has("i")
    rows: list[list[str]] = []
    if units.human:
        title = "Size"
    elif arguments.has("P"):
        title = f"{units.block}-blocks"
    else:
        title = f"{human_size(units.block).replace('.0', '')}{'B' if units.block < 1024 else ''}-blocks"
    amounts = (
        ["Inodes", "IUsed", "IFree", "IUse%"]
        if inodes
        else [
            title,
            "Used",
            "Avail" if units.human else "Available",
            "Capacity" if arguments.has("P") else "Use%",
        ]
    )
    heading = ["Filesystem", *(["Type"] if arguments.has("T") else []), *amounts, "Mounted on"]
    for name in call.operands or ["/"]:
        path = call.path(name)
        try:
            os.stat(path)
            if not hasattr(os, "statvfs"):
                size = used = free = available = 0
            else:
                status = os.statvfs(path)
                if inodes:
                    size, free = status.f_files, status.f_ffree
                    used, available = size - free, free
                else:
                    size = status.f_blocks * status.f_frsize
                    used = size - status.f_bfree * status.f_frsize
                    available = status.f_bavail * status.f_frsize
        except OSError as error:
            call.complain(shell_quote(name), error)
            continue
        whole = used + available
        share = f"{-(-used * 100 // whole)}%" if whole else "-"
        numbers = [size, used, available]
        shown = [str(n) if inodes and not units.human else units.show(n) for n in numbers]
        rows.append(["planaria", *(["planaria"] if arguments.has("T") else []), *shown, share, "/"])
    if not rows:
        return call.status
    widths = [max(len(row[index]) for row in [heading, *rows]) for index in range(len(heading))]
    texts = 2 if arguments.has("T") else 1
    widths[0] = max(widths[0], 14)
    for row in [heading, *rows]:
        fields = [
            text.ljust(width) if index < texts else text.rjust(width)
            for index, (text, width) in enumerate(zip(row[:-1], widths[:-1], strict=True))
        ]
        call.print(" ".join([*fields, row[-1]]))
    return call.status
