"""`yes`: repeatedly output a line with all specified STRING(s), or 'y'."""

from __future__ import annotations

from collections.abc import Generator

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.streams import BLOCK


@command("yes", usage="[STRING]...", order="options first")
def yes(call: Invocation) -> Generator[None, None, Status]:
    """Repeatedly output a line with all specified STRING(s), or 'y'."""
    line = (" ".join(call.operands) if call.operands else "y").encode("utf-8", "surrogateescape") + b"\n"
    block = line * max(1, BLOCK // 4 // len(line))
    while True:
        call.stdout.write(block)
        call.stdout.pass_on()
        yield
