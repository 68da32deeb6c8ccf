"""`less`, `more`, `most`, `pg`: write each FILE to standard output."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("less", "more", "most", "pg", raw=True, usage="[FILE]...")
def less(call: Invocation) -> Generator[None, None, Status]:
    """Write each FILE to standard output: there is no terminal to page on."""
    names = [word for word in call.operands if not (word.startswith(("-", "+")) and len(word) > 1)]
    for source in call.inputs(names):
        for chunk in source.chunks():
            call.stdout.write(chunk)
            if call.stdout.full:
                yield
    return call.status
