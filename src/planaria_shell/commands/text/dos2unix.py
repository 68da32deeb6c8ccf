"""dos2unix, unix2dos, mac2unix, unix2mac: how lines end."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility

__all__: list[str] = []


def _to_unix(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _to_dos(data: bytes) -> bytes:
    return re.sub(rb"(?<!\r)\n", b"\r\n", data)


def _from_mac(data: bytes) -> bytes:
    return re.sub(rb"\r(?!\n)", b"\n", data)


def _to_mac(data: bytes) -> bytes:
    return re.sub(rb"(?<!\r)\n", b"\r", data)


#: What each makes of the lines, and how it calls them in messages.
_KINDS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "dos2unix": (_to_unix, "Unix"),
    "unix2dos": (_to_dos, "DOS"),
    "mac2unix": (_from_mac, "Unix"),
    "unix2mac": (_to_mac, "Mac"),
}
#: Bytes that no text has.
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")


@utility(
    *_KINDS,
    short="fknoOqs",
    long="force=f keepdate=k newfile=n oldfile=o to-stdout=O quiet=q safe=s",
    usage="[OPTION]... [FILE]... [-n INFILE OUTFILE]...",
)
def convert(call: Invocation) -> Status:
    """Convert the ends of lines of each FILE in place, or of standard input to standard output."""
    change, form = _KINDS[call.name]
    arguments = call.arguments
    if not call.operands:
        call.stdout.write(change(call.stdin.read()))
        return 0
    pairs = [(name, name) for name in call.operands]
    if arguments.has("n"):
        if len(call.operands) % 2:
            raise CommandError("target of file " + call.operands[-1] + " not specified in new-file mode")
        pairs = list(zip(call.operands[::2], call.operands[1::2], strict=True))
    for source, goal in pairs:
        path = call.path(source)
        try:
            if not os.path.isfile(path):
                os.stat(path)
                call.error(f"Skipping {source}, not a regular file.")
                continue
            with open(path, "rb") as file:
                data = file.read()
                status = os.fstat(file.fileno())
            if arguments.has("O"):
                call.stdout.write(change(data))
                continue
            if _BINARY.search(data) and not arguments.has("f"):
                call.error(f"Skipping binary file {source}")
                continue
            if not arguments.has("q"):
                what = f"file {source} to" if goal == source else f"file {source} to file {goal} in"
                call.error(f"converting {what} {form} format...")
            with open(call.path(goal), "wb") as file:
                file.write(change(data))
            if arguments.has("k"):
                os.utime(call.path(goal), ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            call.complain(source, error)
    return call.status
