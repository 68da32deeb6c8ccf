"""`groups`: print group memberships for each USERNAME, or for the current user."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.quoting import quote
from planaria_shell.toolkit.users import (
    current_groups,
    current_user,
    group_name,
    user_number,
)


@command("groups", usage="[OPTION]... [USERNAME]...")
def groups_command(call: Invocation) -> Status:
    """Print group memberships for each USERNAME, or for the current user."""
    own = " ".join(group_name(number) or str(number) for number in current_groups())
    if not call.operands:
        call.print(own)
    for name in call.operands:
        if user_number(name) is None:
            call.complain(f"{quote(name)}: no such user")
        else:
            call.print(f"{name} : {own if user_number(name) == current_user() else name}")
    return call.status
