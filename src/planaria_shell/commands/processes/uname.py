"""`uname`, `arch`: print certain system information."""

from __future__ import annotations

import platform

from planaria_shell.state.command import Status
from planaria_shell.state.special_variables import HOST
from planaria_shell.toolkit.invocation import Invocation, command
from planaria_shell.toolkit.options import UsageError
from planaria_shell.toolkit.quoting import quote


@command(
    "uname",
    short="asnrvmpio",
    long="all=a kernel-name=s nodename=n kernel-release=r kernel-version=v machine=m processor=p "
    "hardware-platform=i operating-system=o sysname=s release=r",
    usage="[OPTION]...",
)
def uname(call: Invocation) -> Status:
    """Print certain system information; with no OPTION, same as -s."""
    if call.operands:
        raise UsageError(f"extra operand {quote(call.operands[0])}")
    parts = {
        "s": "Linux",
        "n": call.env.get("HOSTNAME") or HOST,
        "r": "6.1.0-planaria",
        "v": "#1 SMP",
        "m": _machine(),
        "p": "unknown",
        "i": "unknown",
        "o": "GNU/Linux",
    }
    chosen = {key for key, _ in call.arguments}
    if "a" in chosen:
        chosen = set("snrvmo")
    call.print(" ".join(text for key, text in parts.items() if key in (chosen or {"s"})))
    return 0


def _machine() -> str:
    return platform.machine() or "wasm32"


@command("arch", usage="[OPTION]...")
def arch(call: Invocation) -> Status:
    """Print machine architecture."""
    call.print(_machine())
    return 0
