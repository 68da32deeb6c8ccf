"""`locale`: show what the locale is."""

from __future__ import annotations

from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("locale", short="ac:km", usage="[NAME]...")
def locale(call: Invocation) -> Status:
    """Show what the locale is: there is one, C.UTF-8."""
    if call.arguments.has("a"):
        for name in ("C", "C.utf8", "POSIX"):
            call.print(name)
    elif call.arguments.has("m") or call.operands == ["charmap"]:
        call.print("UTF-8")
    else:
        language = call.env.get("LANG", "C.UTF-8")
        everything = call.env.get("LC_ALL", "")
        call.print(f"LANG={language}\nLANGUAGE={call.env.get('LANGUAGE', '')}")
        for part in (
            "CTYPE",
            "NUMERIC",
            "TIME",
            "COLLATE",
            "MONETARY",
            "MESSAGES",
            "PAPER",
            "NAME",
            "ADDRESS",
            "TELEPHONE",
            "MEASUREMENT",
            "IDENTIFICATION",
        ):
            given = call.env.get(f"LC_{part}")
            call.print(
                f"LC_{part}={given}" if given and not everything else f'LC_{part}="{everything or language}"'
            )
        call.print(f"LC_ALL={everything}")
    return 0
