"""shred: overwrite a file, so that what it held is hard to get back, and remove it when asked."""

from __future__ import annotations

import os
from typing import BinaryIO

from planaria_shell.run.command import Status
from planaria_shell.toolkit.invocation import CommandError, Invocation, utility
from planaria_shell.toolkit.options import UsageError, choose
from planaria_shell.toolkit.quoting import quote, shell_quote
from planaria_shell.toolkit.sizes import parse_count, parse_size
from planaria_shell.toolkit.streams import BLOCK, reason

__all__: list[str] = []

_REMOVALS = ("unlink", "wipe", "wipesync")


@utility(
    "shred",
    short="fn:s:uvxz",
    long="force=f iterations=n: size=s: random-source: remove:: verbose=v exact=x zero=z",
    usage="[OPTION]... FILE...",
)
def shred(call: Invocation) -> Status:
    """Overwrite the specified FILE(s) repeatedly, to make it harder to recover the data."""
    arguments = call.arguments
    if not call.operands:
        raise UsageError("missing file operand")
    text = arguments.value("n")
    try:
        passes = 3 if text is None else parse_count(text)
    except ValueError:
        raise UsageError(f"invalid number of passes: {quote(text or '')}", hint=False) from None
    text = arguments.value("s")
    try:
        size = None if text is None else parse_size(text)
    except ValueError:
        raise UsageError(f"invalid file size: {quote(text or '')}", hint=False) from None
    removal = ""
    if arguments.has("u", "remove"):
        removal = choose(arguments.value("remove") or "wipesync", _REMOVALS, "--remove")
    source: BinaryIO | None = None
    if (name := arguments.value("random-source")) is not None:
        try:
            source = open(call.path(name), "rb")
        except OSError as error:
            raise CommandError(f"{shell_quote(name)}: {reason(error)}") from None
    for name in call.operands:
        if _overwrite(call, name, passes, size, source) and removal:
            _remove(call, name, wipe=removal != "unlink")
    if source is not None:
        source.close()
    return call.status


def _overwrite(call: Invocation, name: str, passes: int, size: int | None, source: BinaryIO | None) -> bool:
    arguments = call.arguments
    path = call.path(name)
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError as error:
        if not (arguments.has("f") and error.errno and os.path.exists(path)):
            call.complain(f"{shell_quote(name)}: failed to open for writing", error)
            return False
        os.chmod(path, 0o200)
        descriptor = os.open(path, os.O_WRONLY)
    kinds = ["random"] * passes + ["000000"] * arguments.has("z")
    try:
        found = os.fstat(descriptor)
        length = found.st_size if size is None else size
        if size is None and not arguments.has("x"):
            # The rest of the last block of the disk may hold old data too.
            block = found.st_blksize or 4096
            length = -(-length // block) * block
        for number, kind in enumerate(kinds, 1):
            if arguments.has("v"):
                call.error(f"{shell_quote(name)}: pass {number}/{len(kinds)} ({kind})...")
            os.lseek(descriptor, 0, os.SEEK_SET)
            left = length
            while left:
                count = min(left, BLOCK)
                data = bytes(count)
                if kind == "random":
                    data = os.urandom(count) if source is None else source.read(count)
                    if len(data) < count:
                        raise CommandError(f"{shell_quote(name)}: end of file of the random source")
                left -= os.write(descriptor, data)
            os.fsync(descriptor)
    except OSError as error:
        call.complain(f"{shell_quote(name)}: error writing", error)
        return False
    finally:
        os.close(descriptor)
    return True


def _remove(call: Invocation, name: str, *, wipe: bool) -> None:
    """Remove a file, after it had shorter and shorter names of zeros when `wipe`."""
    verbose = call.arguments.has("v")
    if verbose:
        call.error(f"{shell_quote(name)}: removing")
    directory, base = os.path.split(name)
    present = name
    try:
        os.truncate(call.path(name), 0)
        for length in range(len(os.fsencode(base)), 0, -1) if wipe else ():
            other = os.path.join(directory, "0" * length)
            if os.path.lexists(call.path(other)):
                continue
            os.rename(call.path(present), call.path(other))
            if verbose:
                call.error(f"{shell_quote(present)}: renamed to {shell_quote(other)}")
            present = other
        os.unlink(call.path(present))
    except OSError as error:
        call.complain(f"{shell_quote(present)}: failed to remove", error)
        return
    if verbose:
        call.error(f"{shell_quote(name)}: removed")
