"""`echo`: echo the STRING(s) to standard output."""

from __future__ import annotations

import re

from planaria_shell.commands.text.backslash_escapes import Stop, escaped
from planaria_shell.state.command import Status
from planaria_shell.toolkit.invocation import Invocation, command


@command("echo", usage="[SHORT-OPTION]... [STRING]...", raw=True)
def echo(call: Invocation) -> Status:
    """Echo the STRING(s) to standard output."""
    words = call.operands
    newline, escapes = b"\n", False
    at = 0
    while at < len(words) and re.fullmatch(r"-[neE]+", words[at]):
        for letter in words[at][1:]:
            if letter == "n":
                newline = b""
            else:
                escapes = letter == "e"
        at += 1
    text = " ".join(words[at:])
    if not escapes:
        call.stdout.write(text.encode("utf-8", "surrogateescape") + newline)
        return 0
    out = bytearray()
    try:
        escaped(text, True, out)
        out += newline
    except Stop:
        pass
    call.stdout.write(bytes(out))
    return 0
