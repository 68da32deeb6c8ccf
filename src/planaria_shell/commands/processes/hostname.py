"""`hostname`, `hostid`: print the name of the host."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.state.special_variables import HOST
from planaria_shell.toolkit.invocation import CommandError, Invocation, command


@command("hostname", short="dfisIy", long="short=s fqdn=f long=f ip-address=i domain=d", usage="[OPTION]")
def hostname(call: Invocation) -> Status:
    """Print the name of the host."""
    if call.operands:
        raise CommandError("you must be root to change the host name")
    if call.arguments.has("d"):
        call.print("")
    else:
        call.print("127.0.0.1" if call.arguments.has("i", "I") else call.env.get("HOSTNAME") or HOST)
    return 0


@command("hostid", usage="[OPTION]")
def hostid(call: Invocation) -> Status:
    """Print the numeric identifier of the host in hexadecimal."""
    call.print("00000000")
    return 0
