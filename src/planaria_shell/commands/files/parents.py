"""Creating a directory with those above it, for `mkdir -p` and `install`."""

from __future__ import annotations

import errno
import os

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown

__all__ = ["make_directories"]


def make_directories(call: Invocation, name: str, mode: int, verb: str) -> bool:
    """Create what is missing of a directory's path, and say so with -v; failures are reported."""
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
            try:
                os.mkdir(path, mode)
            except FileExistsError:
                if not last:
                    # A file is no directory, or a link leads in circles: that is the reason, then.
                    _look_into(path)
                raise
        except OSError as error:
            call.complain(f"cannot create directory {quote(name if last else at)}", error)
            return False
        if call.arguments.has("v"):
            call.print(f"{call.name}: {verb} directory {shown(at)}")
    return True


def _look_into(path: str) -> None:
    try:
        os.stat(path + "/")
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
