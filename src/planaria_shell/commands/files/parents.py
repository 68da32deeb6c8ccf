"""Creating a directory with those above it, for `mkdir -p` and `install`."""

from __future__ import annotations

import errno
import os
import re

from planaria_shell.toolkit.invocation import Invocation
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.quoting import shell_quote_always as shown

__all__ = ["make_directories"]


def make_directories(call: Invocation, name: str, mode: int, verb: str) -> bool:
    """Create what is missing of a directory's path, and say so with -v; failures are reported."""
    ends = [match.end() for match in re.finditer("[^/]+", name)]
    for end in ends:
        last = end == ends[-1]
        at = name if last else name[:end]
        path = call.path(name[:end])
        if os.path.isdir(path):
            continue
        try:
            try:
                os.mkdir(path, mode)
            except FileExistsError:
                if not last:
                    # A file is not a directory, or a link leads in circles: that is the reason, then.
                    _look_into(path)
                raise
        except OSError as error:
            call.complain(f"cannot create directory {quote(at)}", error)
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
