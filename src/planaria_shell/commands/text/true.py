"""`true`, `:`, `false`: exit with a status code indicating success."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("true", ":", raw=True)
def true(call: Invocation) -> Status:
    """Exit with a status code indicating success."""
    return 0


@command("false", raw=True)
def false(call: Invocation) -> Status:
    """Exit with a status code indicating failure."""
    return 1
